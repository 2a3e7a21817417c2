"""Which tokens the model sees together: windows over long texts, and batches of windows of like length.

Pure arithmetic on lengths; no tokens and no model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """Tokens begin..end of one text (its prefix not counted); those from `first_scored` on are scored here."""

    text: int
    begin: int
    end: int
    first_scored: int


def windows_of(
    n_tokens: int, first_scorable: int, window_tokens: int, overlap: float = 0.5, text: int = 0
) -> list[Window]:
    """Windows of at most `window_tokens` whose starts lie (1 - overlap) of a window apart.

    `first_scorable` is 0 where something (a BOS) stands before the text and 1 where the first token is
    context only. Each token is scored in the earliest window that holds it, which is the one that gives it
    the most left context.
    """
    if not 0 <= overlap < 1:
        raise ValueError(f"overlap must be in [0, 1), not {overlap}")
    if window_tokens < 2:
        raise ValueError(f"a window needs 2 tokens or more, not {window_tokens}")
    # A window whose first token nothing precedes cannot score it, so at least one token must be shared.
    stride = min(window_tokens - int(window_tokens * overlap), window_tokens - 1)
    windows = []
    begin, scored = 0, first_scorable
    while scored < n_tokens:
        end = min(begin + window_tokens, n_tokens)
        windows.append(Window(text, begin, end, scored))
        begin, scored = begin + stride, end
    return windows


def batches_of(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Indices of `lengths` in batches, longest first; padded to its longest, a batch has at most `budget` tokens.

    One that is longer than the budget goes alone.
    """
    batches: list[list[int]] = []
    longest = 0
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if not batches or (len(batches[-1]) + 1) * longest > budget:
            batches.append([])
            longest = lengths[index]
        batches[-1].append(index)
    return batches
