"""One book opened: where along it the model knows it, which snippets stand out, and what could be had word for word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from auditlib.audits.books.reading import ReadBooks
from auditlib.audits.books.shelves import Shelf
from auditlib.evidence import ExtractionSummary, extraction_of_pieces

STEP_TOKENS = 10  # between two windows, as in evidence/extraction.py
OUTSTANDING = 3


@dataclass(frozen=True)
class ExtractionMap:
    """Extraction windows (w,) of one work, in their order.

    word    where each begins, in words of its document, interpolated within its snippet
    log_p   log-probability of its suffix given all before it in the snippet, nats
    """

    part: NDArray[np.int64]
    word: NDArray[np.float64]
    log_p: NDArray[np.float64]


@dataclass(frozen=True)
class Extractions:
    """What could be had word for word: each work (in the order of the works), and each shelf as a whole."""

    by_work: tuple[ExtractionSummary, ...]
    by_shelf: dict[str, ExtractionSummary]


@dataclass(frozen=True)
class Profile:
    """A work's snippets (s,) in order: where they begin and what they score.

    most, least   places (0..s-1) of the most and least member-like ones, the extreme first
    """

    part: NDArray[np.int64]
    first_word: NDArray[np.int64]
    word_count: NDArray[np.int64]
    scores: NDArray[np.float64]
    most: tuple[int, ...]
    least: tuple[int, ...]


def extractions(read: ReadBooks) -> Extractions:
    """Summaries of all works and shelves."""
    by_work = tuple(_summary(read, read.placed.snippets_of(work)) for work in range(len(read.placed.works)))
    by_shelf = {shelf.value: _summary(read, read.placed.snippets_on(shelf)) for shelf in Shelf if read.placed.on(shelf)}
    return Extractions(by_work, by_shelf)


def extraction_map(read: ReadBooks, work: int) -> ExtractionMap:
    """The windows along one work."""
    parts, words, log_p = [], [], []
    for place in read.placed.snippets_of(work):
        own = read.numbers.windows_of(int(place)).astype(np.float64)
        token = STEP_TOKENS * np.arange(len(own))
        share = token / max(1, int(read.numbers.n_tokens[place]))
        words.append(read.placed.first_word[place] + share * read.placed.word_count[place])
        parts.append(np.full(len(own), read.placed.part[place]))
        log_p.append(own)
    return ExtractionMap(
        np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64), _joined(words), _joined(log_p)
    )


def shelf_windows(read: ReadBooks, shelf: Shelf) -> NDArray[np.float64]:
    """Log-probabilities (nats) of the windows of all works on a shelf."""
    return _joined([read.numbers.windows_of(int(p)).astype(np.float64) for p in read.placed.snippets_on(shelf)])


def profile(read: ReadBooks, work: int, score: str, k: float, outstanding: int = OUTSTANDING) -> Profile:
    """Scores along one work, and the snippets that stand out."""
    places = read.placed.snippets_of(work)
    scores = read.numbers.scores(score, k, places=places)
    order = np.argsort(-scores, kind="stable")
    return Profile(
        read.placed.part[places],
        read.placed.first_word[places],
        read.placed.word_count[places],
        scores,
        tuple(int(place) for place in order[:outstanding]),
        tuple(int(place) for place in order[::-1][: min(outstanding, max(0, len(order) - outstanding))]),
    )


def _summary(read: ReadBooks, places: NDArray[np.int64]) -> ExtractionSummary:
    return extraction_of_pieces([read.numbers.windows_of(int(place)) for place in places])


def _joined(rows: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.concatenate(rows) if rows else np.zeros(0)
