"""Texts as counts of words, letter sequences and a few numbers, for the blind baseline.

Counting happens once; what is fitted (which words count, and how much) is fitted anew on each training fold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from auditlib.evidence.arrays import FloatArray, IntArray

LETTERS = 3  # length of letter sequences
MOST_WORDS = 20_000
MOST_SEQUENCES = 10_000
RECENT_YEAR = 2023  # texts that name this year or a later one are newer than most models

NUMBERS = (
    "number of words",
    "letters per word",
    "share of capitals",
    "share of digits",
    "share of punctuation",
    "line breaks per word",
    "share of words that are years",
    "a year is named",
    "latest year",
    f"a year from {RECENT_YEAR} on is named",
)

_WORD = re.compile(r"\w+")
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_CAPITAL = re.compile(r"[A-Z]")
_DIGIT = re.compile(r"\d")
_PUNCTUATION = re.compile(r"[^\w\s]")


@dataclass(frozen=True)
class Features:
    """Raw counts of n texts; columns that only one text has are left out, as no fold could use them."""

    words: sparse.csr_matrix  # (n, words), counts
    word_names: list[str]
    sequences: sparse.csr_matrix  # (n, sequences), counts
    numbers: FloatArray  # (n, len(NUMBERS))


def count_features(texts: Sequence[str]) -> Features:
    """Counts words (in lower case), sequences of three characters within a space-separated piece, and NUMBERS.

    Each distinct piece is taken apart once, so that the time goes with the vocabulary and not with the length.
    """
    vocabulary: dict[str, int] = {}
    rows, columns, counts = [], [], []
    for row, text in enumerate(texts):
        for piece, count in Counter(text.split()).items():
            rows.append(row)
            columns.append(vocabulary.setdefault(piece, len(vocabulary)))
            counts.append(count)
    shape = (len(texts), len(vocabulary))
    pieces = sparse.csr_matrix((np.array(counts, dtype=np.float32), (rows, columns)), shape=shape)
    of_words, word_names = _parts([_WORD.findall(piece.lower()) for piece in vocabulary])
    of_sequences, _ = _parts([_sequences(piece) for piece in vocabulary])
    words, kept = _in_two_texts(pieces @ of_words)
    sequences, _ = _in_two_texts(pieces @ of_sequences)
    return Features(words, [word_names[place] for place in kept], sequences, _numbers(texts))


class Vectoriser:
    """Turns counts into the matrix that a classifier sees, with all that is learned learned on `train` (places).

    Words and sequences: those in two or more training texts, at most MOST_WORDS and MOST_SEQUENCES of the commonest;
    1 + log count, times the inverse document frequency, each text's length made 1. Numbers: standardised, and
    scaled so that all together weigh about as much as the words.
    """

    def __init__(self, features: Features, train: IntArray) -> None:
        self._features = features
        self._blocks = [
            _Weighted(features.words, train, MOST_WORDS),
            _Weighted(features.sequences, train, MOST_SEQUENCES),
        ]
        numbers = features.numbers[train]
        self._mean = numbers.mean(axis=0)
        spread = numbers.std(axis=0)
        self._scale = np.where(spread > 1e-9, 1 / np.maximum(spread, 1e-9), 0.0) / np.sqrt(len(NUMBERS))

    def matrix(self, places: IntArray) -> sparse.csr_matrix:
        """The texts at `places` as (places, features)."""
        numbers = (self._features.numbers[places] - self._mean) * self._scale
        # A text unlike all that was learned on (ten times as long) must not carry a weight without bound.
        numbers = np.clip(numbers, -3 / np.sqrt(len(NUMBERS)), 3 / np.sqrt(len(NUMBERS)))
        parts = [block.matrix(places) for block in self._blocks]
        return sparse.hstack([*parts, sparse.csr_matrix(numbers)], format="csr")

    def names(self) -> list[str | None]:
        """What each column is, in words; None for letter sequences."""
        words: list[str | None] = [f"the word “{self._features.word_names[place]}”" for place in self._blocks[0].kept]
        return [*words, *([None] * len(self._blocks[1].kept)), *NUMBERS]


class _Weighted:
    """TF-IDF of one kind of count, with columns and frequencies from the training texts."""

    def __init__(self, counts: sparse.csr_matrix, train: IntArray, most: int) -> None:
        frequency = np.bincount(counts[train].indices, minlength=counts.shape[1])
        kept = np.flatnonzero(frequency >= 2)
        if len(kept) > most:
            kept = np.sort(kept[np.argsort(-frequency[kept], kind="stable")[:most]])
        self.kept = kept
        self._counts = counts
        self._weight = np.log((1 + len(train)) / (1 + frequency[kept])) + 1

    def matrix(self, places: IntArray) -> sparse.csr_matrix:
        chosen = self._counts[places][:, self.kept].astype(np.float64)
        chosen.data = 1 + np.log(chosen.data)
        chosen = chosen @ sparse.diags(self._weight)
        norms = np.sqrt(np.asarray(chosen.multiply(chosen).sum(axis=1)).ravel())
        return sparse.csr_matrix(sparse.diags(1 / np.maximum(norms, 1e-12)) @ chosen)


def _parts(parts_of_pieces: list[list[str]]) -> tuple[sparse.csr_matrix, list[str]]:
    """What each distinct piece consists of, as counts (pieces, parts), and the parts' names."""
    vocabulary: dict[str, int] = {}
    rows = [row for row, parts in enumerate(parts_of_pieces) for _ in parts]
    columns = [vocabulary.setdefault(part, len(vocabulary)) for parts in parts_of_pieces for part in parts]
    shape = (len(parts_of_pieces), len(vocabulary))
    return sparse.csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=shape), list(vocabulary)


def _sequences(piece: str) -> list[str]:
    padded = f" {piece} "
    return [padded[start : start + LETTERS] for start in range(len(padded) - LETTERS + 1)]


def _in_two_texts(counts: sparse.csr_matrix) -> tuple[sparse.csr_matrix, IntArray]:
    """The columns that at least two texts have, and their places."""
    kept = np.flatnonzero(np.bincount(counts.indices, minlength=counts.shape[1]) >= 2)
    return sparse.csr_matrix(counts[:, kept]), kept


def _numbers(texts: Sequence[str]) -> FloatArray:
    rows = np.zeros((len(texts), len(NUMBERS)))
    for row, text in enumerate(texts):
        n_words = max(1, len(text.split()))
        n_characters = max(1, len(text))
        years = [int(year) for year in _YEAR.findall(text)]
        rows[row] = (
            np.log(n_words),
            n_characters / n_words,
            len(_CAPITAL.findall(text)) / n_characters,
            len(_DIGIT.findall(text)) / n_characters,
            len(_PUNCTUATION.findall(text)) / n_characters,
            text.count("\n") / n_words,
            len(years) / n_words,
            float(bool(years)),
            max(years, default=0),
            float(any(year >= RECENT_YEAR for year in years)),
        )
    latest = rows[:, NUMBERS.index("latest year")]
    # Texts without a year sit at the middle of those with one: whether there is a year is a number of its own.
    latest[latest == 0] = np.median(latest[latest > 0]) if np.any(latest > 0) else 0.0
    return rows
