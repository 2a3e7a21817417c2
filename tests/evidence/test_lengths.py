"""Lengths fail a comparison when they differ by what matters, not by what can be measured."""

from __future__ import annotations

import numpy as np
import pytest

from auditlib.evidence import compare_lengths, length_dependence


def check(members: np.ndarray, non_members: np.ndarray) -> bool:
    labels = np.arange(len(members) + len(non_members)) < len(members)
    return compare_lengths(np.concatenate([members, non_members]), labels).comparable


def test_a_trivial_difference_that_ten_thousand_texts_make_significant_passes() -> None:
    rng = np.random.default_rng(1)
    assert check(rng.normal(504, 50, 5000), rng.normal(500, 50, 5000))


def test_one_word_more_in_every_member_passes() -> None:
    assert check(np.full(100, 512.0), np.full(100, 511.0))


def test_a_plain_difference_between_few_texts_fails() -> None:
    assert not check(np.array([300.0, 350, 400, 500, 320]), np.array([100.0, 150, 120, 200, 310]))


def test_a_difference_that_matters_fails_with_many() -> None:
    rng = np.random.default_rng(2)
    assert not check(rng.normal(500, 80, 200), rng.normal(440, 80, 200))


def test_sets_of_one_pool_pass_nearly_always() -> None:
    rng = np.random.default_rng(3)
    assert np.mean([check(rng.normal(300, 90, 50), rng.normal(300, 90, 50)) for _ in range(100)]) > 0.93


def test_the_reason_names_both_medians_and_the_auc() -> None:
    labels = np.arange(40) < 20
    found = compare_lengths(np.where(labels, 200.0, 100.0), labels)
    assert found.reason == (
        "The lengths are not comparable: members have a median length of 200 and non-members of 100, and length alone "
        "separates the sets with an AUC of 1.00."
    )
    assert found.member_quartiles == (200.0, 200.0, 200.0)


def test_length_dependence_is_spearmans() -> None:
    assert length_dependence([1.0, 2.0, 3.0, 4.0], [10, 20, 40, 30]).rho == pytest.approx(0.8)  # 1 - 6*2/(4*15)
    assert length_dependence([1.0, 1.0, 1.0], [1, 2, 3]) == length_dependence([1.0, 2.0, 3.0], [5, 5, 5])
