"""p-values by counting, their corrections against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from auditlib.core import AuditError
from auditlib.evidence import (
    benjamini_hochberg,
    benjamini_yekutieli,
    conformal_p,
    conformal_ps,
    holm,
    set_p,
)


def test_conformal_p_by_hand() -> None:
    found = conformal_p(2.0, 100, [3.0, 2.0, 1.0, 0.0], [100, 100, 100, 100], smallest_bin=4)
    assert found.p == pytest.approx((1 + 2) / 5)
    assert found.note == "Compared with 4 non-members of length 100 to 100."


def test_only_the_length_bin_is_compared_when_it_holds_enough() -> None:
    scores = np.concatenate([np.zeros(30), np.full(30, 9.0)])
    lengths = np.concatenate([np.full(30, 100), np.full(30, 1000)])
    short, long = conformal_ps([5.0, 5.0], [100, 1000], scores, lengths)
    assert (short.p, long.p) == (1 / 31, 1.0)
    assert (short.length_high, long.length_low) == (100, 1000)


def test_nearest_bins_are_merged_until_there_are_twenty() -> None:
    lengths = np.concatenate([np.full(8, 100), np.full(15, 140), np.full(50, 3000)])
    found = conformal_p(0.0, 100, np.zeros(73), lengths)
    assert (found.n_compared, found.length_low, found.length_high) == (23, 100, 140)


def test_with_fewer_than_twenty_in_all_every_one_is_used_and_the_note_says_so() -> None:
    found = conformal_p(1.0, 100, np.zeros(6), [50, 100, 200, 400, 800, 1600])
    assert found.n_compared == 6
    assert "all there are" in found.note


def test_a_length_beyond_the_calibration_is_noted() -> None:
    found = conformal_p(1.0, 5000, np.zeros(40), np.full(40, 300))
    assert not found.in_range
    assert "No non-member is as short or as long" in found.note


def test_conformal_p_is_uniform_where_nothing_is_to_find_also_for_a_score_that_follows_length() -> None:
    rng = np.random.default_rng(1)
    ps = []
    for _ in range(400):
        lengths = rng.integers(60, 600, 201)
        scores = 2 * np.log(lengths) + rng.normal(size=201)
        ps.append(conformal_ps(scores[:1], lengths[:1], scores[1:], lengths[1:])[0].p)
    assert stats.kstest(ps, "uniform").pvalue > 0.01


def test_no_non_members_are_refused() -> None:
    with pytest.raises(AuditError, match="no non-members"):
        conformal_p(1.0, 100, [], [])
    with pytest.raises(AuditError, match="no non-member books"):
        set_p(1.0, [])


def test_the_smallest_p_of_a_book_is_one_over_the_books_and_one() -> None:
    assert set_p(9.0, np.arange(9.0)) == pytest.approx(0.1)
    assert set_p(8.0, np.arange(9.0)) == pytest.approx(0.2)  # equal counts against


@pytest.mark.parametrize(
    ("ours", "theirs"), [(benjamini_hochberg, "fdr_bh"), (benjamini_yekutieli, "fdr_by"), (holm, "holm")]
)
def test_corrections_are_those_of_statsmodels(ours: object, theirs: str) -> None:
    p = np.random.default_rng(2).random(40) ** 3
    p[5] = p[6]
    assert callable(ours)
    np.testing.assert_allclose(ours(p), multipletests(p, method=theirs)[1])


def test_p_values_out_of_range_are_a_programmers_mistake() -> None:
    for p in ([0.5, np.nan], [1.2], [-0.1]):
        with pytest.raises(ValueError, match="from 0 to 1"):
            holm(p)
