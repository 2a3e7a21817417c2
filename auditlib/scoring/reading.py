"""Texts through a model, and every score of each: the one road that the page and the command line share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from auditlib.core import AuditError, Capability, Progress, TargetModel, TokenStats, text_names
from auditlib.scoring.base import DEFAULT_K, SCORES, Reading


def read_texts(
    model: TargetModel,
    texts: Sequence[str],
    k: float = DEFAULT_K,
    top: int = 0,
    lowercase: bool | Sequence[bool] = True,
    progress: Progress | None = None,
    names: Sequence[str] | None = None,
) -> Iterator[tuple[int, Reading]]:
    """Each text's index with its reading, as soon as all that belongs to it has been read.

    `top` likeliest alternatives are kept for each position. With `lowercase`, for all or said of each, a text is read
    a second time in lower case, in the same batches, unless it is too short then. Raises `AuditError` where a text
    cannot be scored, naming it by `names`.
    """
    n = len(texts)
    names = names or text_names(n)
    wanted = [lowercase] * n if isinstance(lowercase, bool) else lowercase
    # Side by side, so that a model that answers in order leaves one text waiting for its other half, and not all.
    both: list[str] = []
    both_names: list[str] = []
    owners: list[tuple[int, bool]] = []  # of which text each is, and whether in lower case
    again = set()
    for i, text in enumerate(texts):
        both.append(text)
        both_names.append(names[i])
        owners.append((i, False))
        if wanted[i] and is_scorable(model, text.lower()):
            again.add(i)
            both.append(text.lower())
            both_names.append(f"{names[i]} in lower case")
            owners.append((i, True))
    waiting: dict[int, TokenStats] = {}
    lowercased: dict[int, TokenStats] = {}
    for index, stats in model.token_stats(both, top=top, progress=progress, names=both_names):
        own, in_lower_case = owners[index]
        (lowercased if in_lower_case else waiting)[own] = stats
        if own in waiting and (own in lowercased or own not in again):
            yield own, Reading(texts[own], waiting.pop(own), k, lowercased.pop(own, None))


def is_scorable(model: TargetModel, text: str) -> bool:
    """Whether a model can score a text.

    A text may have enough tokens as it stands and too few in lower case ("INTERNATIONALIZATION"), or for another model.
    """
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
