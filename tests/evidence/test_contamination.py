"""The corrected rate by hand, and how often its interval holds the truth."""

from __future__ import annotations

import numpy as np
import pytest

from auditlib.core import AuditError
from auditlib.evidence import clopper_pearson, corrected_rate


def flags(hits: int, n: int) -> np.ndarray:
    return np.arange(n) < hits


def test_rogan_gladen_by_hand() -> None:
    # 46 of 100 called; TPR 0.8, FPR 0.1: (0.46 - 0.1)/(0.8 - 0.1).
    found = corrected_rate(flags(46, 100), flags(160, 200), flags(20, 200))
    assert found.corrected is not None
    assert found.corrected.estimate == pytest.approx(0.36 / 0.7)
    assert found.corrected.low < 0.36 / 0.7 < found.corrected.high
    assert found.raw == clopper_pearson(46, 100)


def test_with_calibration_known_the_interval_is_the_raw_ones_stretched() -> None:
    found = corrected_rate(flags(460, 1000), flags(160_000, 200_000), flags(20_000, 200_000), draws=500)
    assert found.corrected is not None
    width = 2 * 1.96 * np.sqrt(0.46 * 0.54 / 1000) / 0.7
    assert found.corrected.high - found.corrected.low == pytest.approx(width, rel=0.1)


def test_rates_beyond_the_detectors_errors_are_clipped() -> None:
    nothing = corrected_rate(flags(5, 100), flags(160, 200), flags(20, 200)).corrected
    everything = corrected_rate(flags(95, 100), flags(160, 200), flags(20, 200)).corrected
    assert nothing is not None
    assert everything is not None
    assert (nothing.estimate, nothing.low) == (0.0, 0.0)
    assert (everything.estimate, everything.high) == (1.0, 1.0)


def test_a_detector_that_cannot_tell_has_no_corrected_rate_and_the_reason_is_given() -> None:
    found = corrected_rate(flags(30, 100), flags(12, 40), flags(10, 40))
    assert found.corrected is None
    assert found.raw.estimate == 0.3
    assert "could be nothing" in found.reason
    assert corrected_rate(flags(30, 100), flags(4, 40), flags(10, 40)).corrected is None


def test_calibration_of_few_books_widens_the_interval() -> None:
    members, non_members = np.tile(flags(8, 10), 20), np.tile(flags(1, 10), 20)
    books = np.repeat(np.arange(5), 40)
    uneven = np.concatenate([np.ones(120), np.tile(flags(5, 10), 8)]).astype(bool)  # same TPR, all in some books
    alone = corrected_rate(flags(46, 100), uneven, non_members).corrected
    grouped = corrected_rate(flags(46, 100), uneven, non_members, None, books, books).corrected
    assert alone is not None
    assert grouped is not None
    assert grouped.high - grouped.low > 1.3 * (alone.high - alone.low)
    assert members.mean() == uneven.mean()


def test_an_audited_book_is_drawn_by_its_snippets() -> None:
    one_book = corrected_rate(flags(46, 100), flags(160, 200), flags(20, 200), ["Emma"] * 100)
    assert one_book == corrected_rate(flags(46, 100), flags(160, 200), flags(20, 200))


@pytest.mark.parametrize("truth", [0.0, 0.4])
def test_interval_covers_in_about_95_percent(truth: float) -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for seed in range(300):
        chance = truth * 0.7 + (1 - truth) * 0.1
        found = corrected_rate(
            rng.random(100) < chance, rng.random(100) < 0.7, rng.random(100) < 0.1, draws=200, seed=seed
        ).corrected
        assert found is not None
        covered += found.low <= truth <= found.high
    assert 0.915 <= covered / 300 <= 0.995


def test_no_snippets_are_refused_by_name() -> None:
    with pytest.raises(AuditError, match="no known non-members"):
        corrected_rate(flags(3, 10), flags(8, 10), [])


def test_calibration_of_one_book_is_refused() -> None:
    with pytest.raises(AuditError, match="All known members belong to one group"):
        corrected_rate(flags(3, 10), flags(8, 10), flags(1, 10), None, ["Emma"] * 10, None)
