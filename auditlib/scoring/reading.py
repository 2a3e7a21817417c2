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

    `top` likeliest alternatives are kept for each position. With `lowercase` each text is read a second time in
    lower case, in the same batches, unless it is too short then. Raises `AuditError` where a text cannot be scored,
    naming it by `names`.
    """
    n = len(texts)
    names = names or [f"Text {i + 1} of {n}" if n > 1 else "The text" for i in range(n)]
    again = [i for i, text in enumerate(texts) if lowercase and _is_scorable(model, text.lower())]
    both = [*texts, *(texts[i].lower() for i in again)]
    both_names = [*names, *(f"{names[i]} in lower case" for i in again)]
    waiting: dict[int, TokenStats] = {}
    lowercased: dict[int, TokenStats] = {}
    for index, stats in model.token_stats(both, top=top, progress=progress, names=both_names):
        own = index if index < n else again[index - n]
        (waiting if index < n else lowercased)[own] = stats
        if own in waiting and (own in lowercased or own not in again):
            yield own, Reading(texts[own], waiting.pop(own), k, lowercased.pop(own, None))


def _is_scorable(model: TargetModel, text: str) -> bool:
    """A text may have enough tokens as it stands and too few in lower case ("INTERNATIONALIZATION")."""
    try:
        model.tokens_to_read(text)
    except AuditError:
        return False
    return True


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
