"""Forgetting as statistics: can a score still tell the forgotten works from works that the model never saw?

Before unlearning it can (the AUC is high); a model that never saw them could not. So the AUC must fall, must come to
where a never-trained model's is, and not below; and what was to be kept must not have moved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from auditlib.audits.unlearning.chunks import Chunk, Role
from auditlib.audits.unlearning.screening import Numbers
from auditlib.core import AuditError
from auditlib.evidence import (
    Difference,
    Equivalence,
    Interval,
    auc_difference,
    auc_interval,
    equivalence,
    mean_of_groups,
)

MARGIN = 0.1  # of an AUC: what the auditor says would still not matter
# Nats a token that unlearning may cost texts that it has nothing to do with; 0.5 makes them 1.6 times as perplexing.
MOST_DAMAGE = 0.5
# A model whose loss comes so near to that of equal chances for all tokens reads no text at all any more.
GUESSING_SHARE = 0.9
SAME = 1e-4  # as far as one model's numbers of a text may differ between two readings
FEWEST_WORKS = 5  # of each set, from which on works and not chunks are what varies


@dataclass(frozen=True)
class Separation:
    """Works of one role against works never seen, by one score.

    unit           "works" or "chunks": what intervals vary over
    fall           AUC under the original less AUC under the unlearned model
    unchanged      whether that fall is within the margin either way
    reference      AUC under a model that never saw the works; None where none was given
    like_reference whether the unlearned model's AUC is within the margin of it
    like_chance    likewise of 0.5, for where there is no such model
    missing        why none of this could be computed; everything else is None then
    """

    role: Role
    n_chunks: int
    n_held_out: int
    unit: str
    original: Interval | None
    unlearned: Interval | None
    fall: Difference | None
    unchanged: Equivalence | None
    reference: Interval | None
    over_reference: Difference | None
    like_reference: Equivalence | None
    like_chance: Equivalence | None
    missing: str = ""


@dataclass(frozen=True)
class Rise:
    """How much worse the unlearned model reads chunks of a role than the original does, nats a token."""

    role: Role
    n_chunks: int
    original: float
    unlearned: float
    rise: Difference | None


@dataclass(frozen=True)
class Forgetting:
    """Forgotten and kept works, what unlearning cost, and why it is called over-forgetting where it is."""

    margin: float
    alpha: float
    forgotten: Separation
    kept: Separation | None
    rises: tuple[Rise, ...]
    over_forgetting: tuple[str, ...]
    same_numbers: bool  # of all forgotten chunks, under both models
    same_tokens: bool  # whether both models cut texts alike


def forgetting(
    chunks: Sequence[Chunk],
    original: Numbers,
    unlearned: Numbers,
    reference: Numbers | None,
    vocabulary: int,
    same_tokens: bool,
    margin: float = MARGIN,
    alpha: float = 0.05,
    seed: int = 0,
) -> Forgetting:
    """Numbers are of the chunks (n,), in their order. `vocabulary` is of the unlearned model."""
    if not (math.isfinite(margin) and 0 < margin < 0.5):
        raise AuditError(f"The margin is a difference of AUCs between 0 and 0.5, not {margin:g}.", "0.1 is usual.")
    scores = (original.scores, unlearned.scores, None if reference is None else reference.scores)
    forgotten = _separation(chunks, Role.FORGET, scores, margin, alpha, seed)
    has_kept = any(chunk.role is Role.KEEP for chunk in chunks)
    rises = tuple(
        _rise(chunks, role, original, unlearned) for role in Role if any(chunk.role is role for chunk in chunks)
    )
    is_forgotten = np.array([chunk.role is Role.FORGET for chunk in chunks])
    return Forgetting(
        margin,
        alpha,
        forgotten,
        _separation(chunks, Role.KEEP, scores, margin, alpha, seed) if has_kept else None,
        rises,
        tuple(_too_much(forgotten, rises, vocabulary)),
        bool(np.allclose(original.scores[is_forgotten], unlearned.scores[is_forgotten], rtol=0, atol=SAME)),
        same_tokens,
    )


def _separation(
    chunks: Sequence[Chunk],
    role: Role,
    scores: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None],
    margin: float,
    alpha: float,
    seed: int,
) -> Separation:
    used = np.array([chunk.role in (role, Role.HELD_OUT) for chunk in chunks])
    own = [chunk for chunk in chunks if chunk.role in (role, Role.HELD_OUT)]
    labels = np.array([chunk.role is role for chunk in own], dtype=np.bool_)
    n_own, n_others = int(labels.sum()), int((~labels).sum())
    works = [len({chunk.work for chunk in own if (chunk.role is role) is side}) for side in (True, False)]
    unit = "works" if min(works) >= FEWEST_WORKS else "chunks"
    groups = [chunk.work for chunk in own] if unit == "works" else None
    before, after = scores[0][used], scores[1][used]
    nothing = Separation(role, n_own, n_others, unit, None, None, None, None, None, None, None, None)
    if n_others == 0:
        return _without(nothing, "No works that neither model ever saw were given to compare with.")
    try:
        first = auc_interval(labels, before, groups, seed=seed)
        second = auc_interval(labels, after, groups, seed=seed)
        fall = auc_difference(labels, before, after, groups, seed=seed)
        third = over = like = None
        if scores[2] is not None:
            third = auc_interval(labels, scores[2][used], groups, seed=seed)
            over = auc_difference(labels, after, scores[2][used], groups, seed=seed)
            like = equivalence(over, margin, alpha)
    except AuditError as error:
        return _without(nothing, f"{error.wrong} {error.remedy}")
    from_chance = Difference(
        second.estimate - 0.5, second.low - 0.5, second.high - 0.5, float("nan"), second.level, second.method
    )
    return Separation(
        role,
        n_own,
        n_others,
        unit,
        first,
        second,
        fall,
        equivalence(fall, margin, alpha),
        third,
        over,
        like,
        equivalence(from_chance, margin, alpha),
    )


def _without(separation: Separation, why: str) -> Separation:
    return Separation(
        separation.role,
        separation.n_chunks,
        separation.n_held_out,
        separation.unit,
        *(None,) * 8,
        missing=why,
    )


def _rise(chunks: Sequence[Chunk], role: Role, original: Numbers, unlearned: Numbers) -> Rise:
    own = np.array([chunk.role is role for chunk in chunks])
    risen = unlearned.losses[own] - original.losses[own]
    try:
        rise = mean_of_groups(risen)
    except AuditError:
        rise = None
    return Rise(role, int(own.sum()), float(original.losses[own].mean()), float(unlearned.losses[own].mean()), rise)


def _too_much(forgotten: Separation, rises: Sequence[Rise], vocabulary: int) -> list[str]:
    """Sentences that say in what the model has forgotten more than it was to."""
    said = []
    if forgotten.unlearned is not None and forgotten.unlearned.high < 0.5:
        said.append(
            f"The unlearned model finds the forgotten works stranger than works it never saw (AUC "
            f"{forgotten.unlearned.estimate:.2f}, interval up to {forgotten.unlearned.high:.2f}): that, too, tells "
            "them apart."
        )
    for rise in rises:
        low = rise.rise.low if rise.rise is not None else rise.unlearned - rise.original
        if rise.role is not Role.FORGET and low > MOST_DAMAGE:
            said.append(
                f"Works {rise.role.value} read worse by {rise.unlearned - rise.original:.2f} nats a token (at least "
                f"{low:.2f}), more than the {MOST_DAMAGE:g} that unlearning may cost them: the model was damaged."
            )
    guessing = GUESSING_SHARE * math.log(max(2, vocabulary))
    worst = max(rise.unlearned for rise in rises)
    if worst >= guessing and all(rise.original < guessing for rise in rises):
        said.append(
            f"The unlearned model reads texts about as badly as one that guesses ({worst:.1f} nats a token; "
            f"{math.log(max(2, vocabulary)):.1f} would be equal chances for every token)."
        )
    return said
