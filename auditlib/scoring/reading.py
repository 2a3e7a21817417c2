"""Texts through a model, and every score of each: the one road that the page and the command line share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from auditlib.core import AuditError, Capability, Progress, TargetModel, TokenStats
from auditlib.scoring.base import DEFAULT_K, SCORES, Reading


def read_texts(
    model: TargetModel,
    texts: Sequence[str],
    k: float = DEFAULT_K,
    top: int = 0,
    lowercase: bool = True,
    progress: Progress | None = None,
    names: Sequence[str] | None = None,
) -> Iterator[tuple[int, Reading]]:
    """Each text's index with its reading, as soon as all that belongs to it has been read.

    `top` likeliest alternatives are kept for each position. With `lowercase` each text is read a second time
    in lower case, in the same batches. Raises `AuditError` where a text cannot be scored, naming it by `names`.
    """
    n = len(texts)
    both = [*texts, *(text.lower() for text in texts)] if lowercase else list(texts)
    both_names = [*names, *(f"{name} in lower case" for name in names)] if names and lowercase else names
    waiting: dict[int, TokenStats] = {}
    for index, stats in model.token_stats(both, top=top, progress=progress, names=both_names):
        if not lowercase:
            yield index, Reading(texts[index], stats, k)
            continue
        other = (index + n) % (2 * n)
        if other not in waiting:
            waiting[index] = stats
            continue
        own, lowercased = (stats, waiting.pop(other)) if index < n else (waiting.pop(other), stats)
        yield index % n, Reading(texts[index % n], own, k, lowercased)


def all_scores(reading: Reading, capabilities: frozenset[Capability]) -> dict[str, float | None]:
    """Each registered score by name; None where a model of these capabilities, or this reading, cannot give it."""
    return {
        name: None if score.unavailable_because(reading, capabilities) else score.compute(reading)
        for name, score in SCORES.items()
    }


def checked_k(k: float) -> float:
    """`k` in percent, or `AuditError` where it is none."""
    if not 0 < k <= 100:
        raise AuditError(f"k is a percentage above 0 and up to 100, not {k:g}.", "The papers use 20.")
    return k
