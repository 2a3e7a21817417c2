"""Pieces of a document to be scored: sampled at random, tiled, cut to one length, or whole.

Words are whitespace-separated. A snippet's text is an exact slice of its document's text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from auditlib.core import Document, Snippet

# The paper draws 100 snippets of 512 words from each book (Shi et al. 2024, section 5).
SNIPPETS = 100
WORDS = 512

_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Cut:
    """The snippets of one document and how they were made, for results to carry.

    words  words in each; None for `whole`
    seed   of the random choice; None where there is none
    note   for the person: why there are fewer than asked for, or what is left over; empty where nothing is
    """

    snippets: tuple[Snippet, ...]
    method: str
    words: int | None
    seed: int | None = None
    note: str = ""


def sample(document: Document, count: int = SNIPPETS, words: int = WORDS, seed: int = 0) -> Cut:
    """`count` random snippets of `words` words that do not overlap, in the order of the text.

    Every way to place them is equally likely. A text too short gives as many as fit side by side and
    says so. The same text and seed give the same snippets on every machine: the draws are SHA-256 digests.
    """
    _check(count=count, words=words)
    spans = _word_spans(document.text)
    fitting = min(count, len(spans) // words)
    # Placing k snippets of W words among n is choosing k of the n - kW single words and k snippets in a row.
    places = _choose(len(spans) - fitting * words + fitting, fitting, f"{seed}:{document.id}")
    starts = [place + number * (words - 1) for number, place in enumerate(places)]
    note = ""
    if fitting < count:
        note = (
            f"“{document.title}” has {len(spans):,} words: "
            f"it gives {_snippets(fitting)} of {words:,} words, not {count:,}."
        )
    return Cut(_cut(document, spans, starts, words), "sample", words, seed, note)


def tile(document: Document, words: int = WORDS) -> Cut:
    """Consecutive snippets of `words` words from the first word on; what is left at the end is not used."""
    _check(words=words)
    spans = _word_spans(document.text)
    rest = len(spans) % words
    note = f"The last {rest:,} words of “{document.title}” fill no snippet and are not used." if rest else ""
    return Cut(_cut(document, spans, range(0, len(spans) - rest, words), words), "tile", words, note=note)


def truncate(document: Document, words: int = WORDS) -> Cut:
    """The first `words` words. A shorter text gives no snippet: it would be compared with longer ones."""
    _check(words=words)
    spans = _word_spans(document.text)
    if len(spans) < words:
        note = f"“{document.title}” has {len(spans):,} words, fewer than {words:,}: it gives no snippet."
        return Cut((), "truncate", words, note=note)
    return Cut(_cut(document, spans, [0], words), "truncate", words)


def whole(document: Document) -> Cut:
    """All words as one snippet; none where there are no words."""
    spans = _word_spans(document.text)
    return Cut(_cut(document, spans, [0] if len(spans) else [], len(spans)), "whole", None)


def excerpt(document: Document, first_word: int, words: int) -> Snippet:
    """`words` words from word `first_word` (from 0) on, or as many as there are from there to the end.

    Raises ValueError where `first_word` is not a word of the document.
    """
    (piece,) = excerpts(document, [(first_word, words)])
    if piece is None:
        raise ValueError(f"there is no word {first_word} in the document")
    return piece


def excerpts(document: Document, places: Sequence[tuple[int, int]]) -> list[Snippet | None]:
    """For each first word and number of words what `excerpt` gives; None where there is no such word."""
    spans = _word_spans(document.text)
    pieces: list[Snippet | None] = []
    for first_word, words in places:
        _check(words=words)
        there = 0 <= first_word < len(spans)
        pieces += _cut(document, spans, [first_word], min(words, len(spans) - first_word)) if there else [None]
    return pieces


def _word_spans(text: str) -> NDArray[np.int64]:
    """Where each word starts and ends, in characters. (n, 2)"""
    return np.array([word.span() for word in _WORD.finditer(text)], dtype=np.int64).reshape(-1, 2)


def _cut(document: Document, spans: NDArray[np.int64], starts: list[int] | range, words: int) -> tuple[Snippet, ...]:
    snippets = []
    for first in starts:
        start, end = int(spans[first, 0]), int(spans[first + words - 1, 1])
        snippets.append(
            Snippet(
                id=sha256(f"{document.id}:{first}:{words}".encode()).hexdigest(),
                document_id=document.id,
                group=document.group or document.title,
                text=document.text[start:end],
                start=start,
                first_word=first,
                word_count=words,
                label=document.label,
            )
        )
    return tuple(snippets)


def _choose(n: int, k: int, key: str) -> list[int]:
    """k different numbers below n in ascending order, every set of them equally likely (Floyd's method).

    Bentley and Floyd, "A sample of brilliance", CACM 1987. 128-bit draws make the bias of the remainder less
    than 1e-30.
    """
    chosen: set[int] = set()
    for limit in range(n - k, n):
        digest = sha256(f"{key}:{limit}".encode()).digest()
        draw = int.from_bytes(digest[:16], "big") % (limit + 1)
        chosen.add(limit if draw in chosen else draw)
    return sorted(chosen)


def _snippets(count: int) -> str:
    return "1 snippet" if count == 1 else f"{count:,} snippets"


def _check(**counts: int) -> None:
    for name, value in counts.items():
        if value < 1:
            raise ValueError(f"{name} must be 1 or more, not {value}")
