"""p-values of a shelf by hand, and what they promise where there is nothing to find."""

from __future__ import annotations

import numpy as np
import pytest

from auditlib.evidence import power_of_works, shelf_ps, smallest_p
from auditlib.evidence.shelf import means_of_works, turns_of
from benchmarks.simulate_books import ALIKE, INDEPENDENT, RATES, Pool, any_supported, rates


def test_p_and_its_correction_by_hand() -> None:
    known = [0.0, 1.0, 2.0, 3.0]  # four works of one snippet
    found = shelf_ps([[4.0, 4.0], [1.5, 1.5], [], [-1.0, -1.0]], known)
    assert found.p[[0, 1, 3]].tolist() == [1 / 5, 3 / 5, 1.0]
    assert np.isnan(found.p[2])
    assert found.corrected[[0, 1, 3]] == pytest.approx([3 / 5, 9 / 10, 1.0])  # three books have a p
    assert np.isnan(found.corrected[2])
    assert found.means[0] == 4.0
    by = shelf_ps([[4.0, 4.0], [1.5, 1.5], [], [-1.0, -1.0]], known, correction="by")
    assert by.corrected[0] == pytest.approx(min(1.0, 3 / 5 * (1 + 1 / 2 + 1 / 3)))


def test_works_are_counted_and_not_their_snippets() -> None:
    scores, works = np.arange(100.0), np.repeat(np.arange(5), 20)
    found = shelf_ps([np.full(20, 1000.0)], scores, works)
    assert found.n_works == 5
    assert found.p[0] == 1 / 6


def test_a_short_book_is_compared_with_as_few_snippets_of_each_work() -> None:
    works = np.repeat(np.arange(30), 50)
    turns = turns_of(works, seed=3)
    for work in range(30):
        assert sorted(turns[works == work]) == list(range(50))
    scores = np.random.default_rng(0).normal(size=len(works))
    few, many = means_of_works(scores, works, turns, 2), means_of_works(scores, works, turns, 50)
    assert many == pytest.approx(scores.reshape(30, 50).mean(axis=1))
    assert few.std() > 3 * many.std()  # 1/sqrt(2) against 1/sqrt(50)


def test_smallest_p() -> None:
    assert smallest_p(40, 4) == (1 / 41, 1 / 41)
    p, after = smallest_p(40, 4, "by")
    assert after == pytest.approx(p * (1 + 1 / 2 + 1 / 3 + 1 / 4))


def test_power_is_the_share_of_known_members_that_would_have_been_seen() -> None:
    others = np.arange(19.0)
    assert power_of_works([100.0, 100.0, 0.5, 100.0], None, others, None, 0.05) == 0.75


def test_with_nothing_to_find_few_shelves_have_a_supported_book() -> None:
    assert any_supported(ALIKE, 50, np.full(100, 30), 60) <= 0.05
    # So many works that a single book can reach the smallest p: 5% of shelves, give or take chance (3 of its errors).
    assert any_supported(ALIKE, 400, np.tile([30, 5], 10), 120) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 120)


@pytest.mark.parametrize("pool", [INDEPENDENT, ALIKE])
def test_corrected_rates_lie_within_their_intervals_and_raw_ones_are_biased(pool: Pool) -> None:
    found = rates(pool, 20, 60)
    assert [row.truth for row in found] == list(RATES)
    for row in found:
        assert row.covered >= 0.87, row  # 93% of many, less two errors of 60 draws
        assert row.none <= 0.05
    assert found[0].mean_raw > 0.12
    assert found[-1].mean_raw < 0.9
    assert abs(found[2].mean_corrected - 0.3) < abs(found[2].mean_raw - 0.3)
