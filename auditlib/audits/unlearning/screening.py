"""Screening: where the unlearned model still reads a work about as the original does (Shi et al. 2024, section 7.2.1).

The ratio of two scores says nothing about which of them knows a text: a text that neither ever saw has a ratio near 1
too. Among works that the original was taught, a ratio near 1 is where unlearning may have failed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from auditlib.audits.unlearning.chunks import Chunk, Role
from auditlib.core import AuditError, Progress, TargetModel
from auditlib.evidence import Interval, share_interval
from auditlib.scoring import DEFAULT_K, SCORES, read_texts

FACTOR = 1.15


@dataclass(frozen=True)
class Numbers:
    """What one model makes of texts: a score each, and the loss (n,), nats a token."""

    scores: NDArray[np.float64]
    losses: NDArray[np.float64]


@dataclass(frozen=True)
class ChunkLine:
    """One chunk under both models. `ratio` is unlearned over original; NaN where signs differ or one is 0.

    `perplexity_ratio` is the same of exp(loss); each is suspicious where its ratio lies strictly within the window.
    """

    id: str
    document_id: str
    work: str
    role: Role
    first_word: int
    n_words: int
    original: float
    unlearned: float
    ratio: float
    suspicious: bool
    loss_original: float
    loss_unlearned: float
    perplexity_ratio: float
    suspicious_by_perplexity: bool


@dataclass(frozen=True)
class RoleCount:
    """How many chunks of a role are suspicious; the share has an interval over chunks."""

    role: Role
    n_chunks: int
    n_suspicious: int
    share: Interval
    n_by_perplexity: int


@dataclass(frozen=True)
class Screening:
    """All chunks with their ratios; suspicious are those with a ratio in (1/factor, factor)."""

    score: str
    k: float
    factor: float
    lines: tuple[ChunkLine, ...]
    counts: tuple[RoleCount, ...]

    def count(self, role: Role) -> RoleCount | None:
        """The count of one role; None where it has no chunks."""
        return next((count for count in self.counts if count.role is role), None)


def checked_factor(factor: float) -> float:
    """`factor`, or `AuditError` where it makes no window."""
    if not (math.isfinite(factor) and factor > 1):
        raise AuditError(f"The window's factor must be above 1, not {factor:g}.", "The paper takes 1.15.")
    return factor


def read_numbers(
    model: TargetModel,
    texts: Sequence[str],
    names: Sequence[str],
    score: str,
    k: float = DEFAULT_K,
    progress: Progress | None = None,
) -> Numbers:
    """Texts through one model. Raises `AuditError` where one of them cannot have the score."""
    chosen = SCORES[score]
    scores, losses = np.full(len(texts), np.nan), np.full(len(texts), np.nan)
    for index, reading in read_texts(
        model, texts, k, lowercase=chosen.reads_lowercased, progress=progress, names=names
    ):
        if reason := chosen.unavailable_because(reading, model.capabilities):
            raise AuditError(f"{chosen.label} cannot be had for {names[index]}. {reason}", "Choose another score.")
        scores[index] = chosen.compute(reading)
        losses[index] = -float(np.mean(reading.stats.logprob, dtype=np.float64))
    return Numbers(scores, losses)


def ratios(original: NDArray[np.float64], unlearned: NDArray[np.float64]) -> NDArray[np.float64]:
    """unlearned/original (n,); 1 where both are the same, NaN where signs differ or only one is 0."""
    usable = (original * unlearned > 0) & np.isfinite(original) & np.isfinite(unlearned)
    found = np.full(len(original), np.nan)
    found[usable] = unlearned[usable] / original[usable]
    found[original == unlearned] = 1.0
    return found


def within(ratio: NDArray[np.float64], factor: float) -> NDArray[np.bool_]:
    """Which ratios (n,) lie strictly between 1/factor and factor."""
    return np.asarray((ratio > 1 / factor) & (ratio < factor))


def screen(
    chunks: Sequence[Chunk], original: Numbers, unlearned: Numbers, score: str, k: float, factor: float = FACTOR
) -> Screening:
    """The screening of chunks (n,) by numbers in the same order."""
    ratio = ratios(original.scores, unlearned.scores)
    by_perplexity = np.exp(np.clip(unlearned.losses - original.losses, -700, 700))
    lines = tuple(
        ChunkLine(
            id=chunk.id,
            document_id=chunk.document_id,
            work=chunk.work,
            role=chunk.role,
            first_word=chunk.first_word,
            n_words=chunk.n_words,
            original=float(original.scores[place]),
            unlearned=float(unlearned.scores[place]),
            ratio=float(ratio[place]),
            suspicious=False,
            loss_original=float(original.losses[place]),
            loss_unlearned=float(unlearned.losses[place]),
            perplexity_ratio=float(by_perplexity[place]),
            suspicious_by_perplexity=False,
        )
        for place, chunk in enumerate(chunks)
    )
    return screened_again(Screening(score, k, factor, lines, ()), factor)


def screened_again(screening: Screening, factor: float) -> Screening:
    """The same numbers with another window: asks no model."""
    checked_factor(factor)
    by_score = within(np.array([line.ratio for line in screening.lines]), factor)
    by_perplexity = within(np.array([line.perplexity_ratio for line in screening.lines]), factor)
    lines = tuple(
        replace(line, suspicious=bool(one), suspicious_by_perplexity=bool(other))
        for line, one, other in zip(screening.lines, by_score, by_perplexity, strict=True)
    )
    counts = []
    for role in Role:
        own = [line for line in lines if line.role is role]
        if own:
            found = [line.suspicious for line in own]
            n_by_perplexity = sum(line.suspicious_by_perplexity for line in own)
            counts.append(RoleCount(role, len(own), sum(found), share_interval(found), n_by_perplexity))
    return replace(screening, factor=factor, lines=lines, counts=tuple(counts))
