"""Groups make intervals wider by as much as they must, and p-values honest."""

from __future__ import annotations

import numpy as np
import pytest

from auditlib.evidence import auc, auc_difference, auc_interval, auc_p, clopper_pearson, delong, share_interval
from auditlib.evidence.grouped import _auc_draws, group_draws
from tests.evidence.made_up import made_up


def test_each_text_its_own_group_is_delong() -> None:
    labels, scores, group = made_up(np.random.default_rng(1), 30, auc=0.7)
    assert auc_interval(labels, scores, group) == delong(labels, scores) == auc_interval(labels, scores)


def test_ten_copies_of_each_text_say_no_more_than_one() -> None:
    labels, scores, group = made_up(np.random.default_rng(2), 60, auc=0.75)
    once = delong(labels, scores)
    copied = auc_interval(np.repeat(labels, 10), np.repeat(scores, 10), np.repeat(group, 10))
    assert copied.estimate == pytest.approx(once.estimate)
    assert copied.high - copied.low == pytest.approx(once.high - once.low, rel=0.1)


def test_groups_may_be_named_and_in_any_order() -> None:
    labels, scores, group = made_up(np.random.default_rng(3), 10, 5, 0.5, 0.8)
    order = np.random.default_rng(4).permutation(100)
    names = np.array([f"book {g:02}" for g in group])
    assert auc_interval(labels, scores, group) == auc_interval(labels, scores, names)
    shuffled = auc_interval(labels[order], scores[order], names[order])
    assert shuffled.low == pytest.approx(auc_interval(labels, scores, group).low)


def test_the_same_seed_gives_the_same_interval_and_another_another() -> None:
    labels, scores, group = made_up(np.random.default_rng(5), 10, 5, 0.5, 0.8)
    assert auc_interval(labels, scores, group, seed=1) == auc_interval(labels, scores, group, seed=1)
    assert auc_interval(labels, scores, group, seed=1) != auc_interval(labels, scores, group, seed=2)


@pytest.mark.parametrize("truth", [0.7, 0.95])
def test_grouped_interval_covers_in_about_95_percent(truth: float) -> None:
    rng = np.random.default_rng(6)
    covered = 0
    for seed in range(300):
        interval = auc_interval(*made_up(rng, 20, 10, 0.4, truth), draws=300, seed=seed)
        covered += interval.low <= truth <= interval.high
    assert 0.92 <= covered / 300 <= 0.985


def test_delong_would_not_cover_with_groups() -> None:
    """What the bootstrap is for: as if independent, these intervals hold the truth in some 60%."""
    rng = np.random.default_rng(7)
    intervals = [delong(*made_up(rng, 20, 10, 0.4, 0.7)[:2]) for _ in range(200)]
    assert np.mean([i.low <= 0.7 <= i.high for i in intervals]) < 0.8


def test_grouped_difference_covers_zero_and_finds_a_gap() -> None:
    rng = np.random.default_rng(8)
    covered = 0
    for seed in range(200):
        labels, first, group = made_up(rng, 20, 5, 0.4, 0.7)
        second = made_up(rng, 20, 5, 0.4, 0.7)[1]
        covered += auc_difference(labels, first, second, group, draws=300, seed=seed).p > 0.05
    assert 0.91 <= covered / 200 <= 0.99
    labels, first, group = made_up(rng, 20, 5, 0.2, 0.9)
    found = auc_difference(labels, first, rng.normal(size=200), group)
    assert found.low > 0
    assert found.p < 0.01


def test_perfect_separation_by_groups_counts_groups_not_texts() -> None:
    labels, _, group = made_up(np.random.default_rng(9), 10, 50)
    assert auc_interval(labels, labels.astype(float), group).low == pytest.approx(0.025 ** (1 / 10))


def test_p_is_uniform_where_nothing_is_to_find() -> None:
    rng = np.random.default_rng(10)
    ps = np.array([auc_p(*made_up(rng, 8, 20, 0.5), draws=300, seed=seed) for seed in range(400)])
    assert 0.02 <= np.mean(ps <= 0.05) <= 0.09
    assert 0.42 <= ps.mean() <= 0.58


def test_p_holds_where_groups_of_one_label_are_far_larger() -> None:
    rng = np.random.default_rng(11)
    below = 0
    for seed in range(300):
        sizes = np.array([40] * 8 + [2] * 24)
        group = np.repeat(np.arange(32), sizes)
        scores = 0.6 * rng.normal(size=32)[group] + 0.8 * rng.normal(size=len(group))
        below += auc_p(group < 8, scores, group, draws=300, seed=seed) <= 0.05
    assert below / 300 <= 0.09


def test_p_is_small_where_members_score_higher_and_large_where_lower() -> None:
    labels, scores, group = made_up(np.random.default_rng(12), 20, 10, 0.3, 0.9)
    assert auc_p(labels, scores, group) == pytest.approx(1 / 2001)
    assert auc_p(labels, -scores, group) > 0.99
    assert auc_p(labels, scores) < 1e-10
    assert auc_p(labels, np.zeros(400)) == 1.0


def test_three_groups_a_side_cannot_give_a_small_p() -> None:
    labels, _, group = made_up(np.random.default_rng(13), 3, 30)
    assert auc_p(labels, labels + np.arange(180) / 1e4, group) >= 0.03  # 1 of 20 ways to deal


def test_share_of_independent_texts_is_clopper_pearson() -> None:
    hits = np.arange(40) < 9
    assert share_interval(hits) == clopper_pearson(9, 40)


def test_share_of_books_that_are_all_or_nothing_counts_books() -> None:
    group = np.repeat(np.arange(30), 20)
    interval = share_interval(group < 12, group)
    exact = clopper_pearson(12, 30)
    assert (interval.low, interval.high) == pytest.approx((exact.low, exact.high), abs=0.03)
    assert share_interval(group < 0, group).high == pytest.approx(clopper_pearson(0, 30).high)


def test_draws_have_one_group_fewer_than_there_are() -> None:
    counts = group_draws(6, 1000, np.random.default_rng(0))
    assert set(counts.sum(axis=1)) == {5.0}
    assert counts.mean() == pytest.approx(5 / 6)


def test_a_draw_is_the_auc_of_the_texts_it_holds() -> None:
    """Drawing groups and counting again, text by text, gives what the table of wins between groups gives."""
    rng = np.random.default_rng(14)
    labels = np.arange(60) < 30
    group = np.concatenate([np.sort(rng.integers(0, 5, 30)), np.sort(rng.integers(5, 11, 30))])
    scores = rng.integers(0, 9, 60).astype(float)
    drawn = _auc_draws(labels, scores[None, :], group, 7, seed=3)[0]
    again = np.random.default_rng(3)
    members, others = group_draws(5, 7, again), group_draws(6, 7, again)
    for place in range(7):
        times = np.concatenate([members[place], others[place]]).astype(int)[group]
        assert drawn[place] == pytest.approx(auc(np.repeat(labels, times), np.repeat(scores, times)))
