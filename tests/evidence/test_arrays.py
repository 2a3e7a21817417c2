"""What a person can do wrong with sets, labels and groups is refused with a name and a remedy."""

from __future__ import annotations

import numpy as np
import pytest

from auditlib.core import AuditError
from auditlib.evidence import auc, auc_interval, delong, split_in_halves

LABELS = np.array([True, True, False, False])
SCORES = np.array([3.0, 2.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([True, True, True, True], "non-member set is empty"),
        ([False, False, False, False], "The member set is empty"),
        ([True, False, False, False], "member set has only one text"),
    ],
)
def test_a_set_too_small_is_refused_by_name(labels: list[bool], words: str) -> None:
    with pytest.raises(AuditError, match=words):
        delong(np.array(labels), SCORES)


def test_no_texts_at_all_are_refused() -> None:
    with pytest.raises(AuditError, match="no texts"):
        auc(np.zeros(0, dtype=bool), np.zeros(0))


def test_scores_that_are_no_numbers_are_counted_and_the_first_is_placed() -> None:
    with pytest.raises(AuditError, match="2 of 4 scores are not a number; the first is number 2"):
        auc(LABELS, np.array([1.0, np.nan, 2.0, np.inf]))


def test_a_group_with_both_labels_is_named() -> None:
    with pytest.raises(AuditError, match="“Emma” holds members and non-members"):
        auc_interval(LABELS, SCORES, ["Ulysses", "Emma", "Emma", "Lanark"])


def test_a_set_of_one_group_is_refused() -> None:
    with pytest.raises(AuditError, match="All 2 members belong to one group"):
        split_in_halves(LABELS, ["Emma", "Emma", "Ulysses", "Lanark"])


def test_arrays_that_do_not_fit_are_a_programmers_mistake() -> None:
    with pytest.raises(ValueError, match="4 scores need 4 labels"):
        auc(LABELS[:3], SCORES)
    with pytest.raises(ValueError, match="must be of bool"):
        auc(LABELS.astype(int), SCORES)
    with pytest.raises(ValueError, match="4 texts need 4 groups"):
        auc_interval(LABELS, SCORES, [1, 2])
