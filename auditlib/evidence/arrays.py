"""What every statistic asks of its arrays, checked in one place: labels, scores and groups that fit each other.

A *group* is what was drawn from the world as one: a book with its snippets, an article with its cuts. Texts of
one group are not independent of each other, groups are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auditlib.core import AuditError

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Groups = Sequence[str] | Sequence[int] | NDArray[Any] | None


def checked_scores(scores: ArrayLike, name: str = "score") -> FloatArray:
    """Scores as float64 (n,). Raises `AuditError` where one is NaN or infinite: how many, and the first place."""
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"scores must have one dimension, not {values.ndim}")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise AuditError(
            f"{len(bad)} of {len(values)} {name}s {'is' if len(bad) == 1 else 'are'} not a number; "
            f"the first is number {bad[0] + 1}.",
            "Leave these texts out, or choose a score that can be computed for all of them.",
        )
    return values


def checked_labels(is_member: ArrayLike, n: int) -> BoolArray:
    """Labels as bool (n,), True = member."""
    labels = np.asarray(is_member)
    if labels.shape != (n,):
        raise ValueError(f"{n} scores need {n} labels, not {labels.shape}")
    if labels.dtype != np.bool_:
        raise ValueError(f"is_member must be of bool, not {labels.dtype}")
    return labels


def group_codes(groups: Groups, n: int) -> IntArray:
    """Groups as numbers 0..G-1 (n,); None makes each text its own group."""
    if groups is None:
        return np.arange(n, dtype=np.int64)
    names = np.asarray(groups)
    if names.shape != (n,):
        raise ValueError(f"{n} texts need {n} groups, not {names.shape}")
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def each_its_own(codes: IntArray) -> bool:
    """Whether no two texts share a group."""
    return len(codes) == 0 or int(codes.max()) + 1 == len(codes)


def checked_sets(is_member: BoolArray, codes: IntArray, groups: Groups = None) -> None:
    """Raises `AuditError` unless each set has at least 2 groups and no group has both labels."""
    if len(codes) == 0:
        raise AuditError("There are no texts.", "Choose a member set and a non-member set.")
    labels_of_group = np.zeros((int(codes.max()) + 1, 2), dtype=np.bool_)
    labels_of_group[codes, is_member.astype(np.int64)] = True
    both = np.flatnonzero(labels_of_group.all(axis=1))
    if len(both):
        place = int(np.flatnonzero(codes == both[0])[0])
        name = place if groups is None else np.asarray(groups)[place]
        raise AuditError(
            f"The group “{name}” holds members and non-members.",
            "Give each group one label, or move its texts into two groups.",
        )
    for label, column in (("member", 1), ("non-member", 0)):
        n_groups = int(labels_of_group[:, column].sum())
        n_texts = int(np.count_nonzero(is_member == bool(column)))
        if n_texts == 0:
            raise AuditError(f"The {label} set is empty.", f"Add at least two {label}s; a hundred is a good start.")
        if n_texts == 1:
            raise AuditError(
                f"The {label} set has only one text, so nothing can be said about chance.",
                f"Add at least one more {label}; a hundred is a good start.",
            )
        if n_groups == 1:
            raise AuditError(
                f"All {n_texts} {label}s belong to one group, so nothing can be said about chance.",
                f"Add {label}s from at least one more group; twenty groups are a good start.",
            )


def checked(is_member: ArrayLike, scores: ArrayLike, groups: Groups = None) -> tuple[BoolArray, FloatArray, IntArray]:
    """Labels (n,), scores (n,) and group numbers (n,), checked against each other."""
    values = checked_scores(scores)
    labels = checked_labels(is_member, len(values))
    codes = group_codes(groups, len(values))
    checked_sets(labels, codes, groups)
    return labels, values, codes
