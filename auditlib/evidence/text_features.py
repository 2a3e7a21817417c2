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
    """What n texts consist of; columns that only one text has are left out, as no fold could use them.

    counts   (n, words + sequences) how often; words come first
    names    of the words
    numbers  (n, len(NUMBERS))
    """

    counts: sparse.csr_matrix
    names: list[str]
    numbers: FloatArray


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
    counts = sparse.hstack([words, sequences], format="csr")
    return Features(counts, [word_names[place] for place in kept], _numbers(texts))


class Vectoriser:
    """Turns counts into the matrix that a classifier sees, with all that is learned learned on the training texts.

    Words and sequences: those in two or more training texts, at most MOST_WORDS and MOST_SEQUENCES of the commonest;
    1 + log count, times the inverse document frequency, each text's words made of length 1, and its sequences too.
    Others weigh nothing. Numbers: standardised, and scaled so that all together weigh about as much as the words.
    """

    def __init__(self, features: Features) -> None:
        n, n_columns = features.counts.shape
        self._numbers = features.numbers
        self._n_words = len(features.names)
        matrix = sparse.hstack([features.counts, sparse.csr_matrix(np.ones_like(features.numbers))], format="csr")
        matrix.sort_indices()
        # Only the values differ from fold to fold: what stands where is worked out once.
        self._indices, self._indptr, self._shape = matrix.indices, matrix.indptr, matrix.shape
        self._rows = np.repeat(np.arange(n), np.diff(matrix.indptr))
        self._is_word = matrix.indices < self._n_words
        self._is_number = matrix.indices >= n_columns
        self._logs = 1 + np.log(matrix.data.astype(np.float64))

    def weights(self, train: IntArray) -> FloatArray:
        """Inverse document frequency of each word and sequence in the training texts; 0 for those left out."""
        is_train = np.zeros(self._shape[0], dtype=np.bool_)
        is_train[train] = True
        used = is_train[self._rows] & ~self._is_number
        frequency = np.bincount(self._indices[used], minlength=self._shape[1] - len(NUMBERS))
        kept = frequency >= 2
        for block, most in ((slice(0, self._n_words), MOST_WORDS), (slice(self._n_words, None), MOST_SEQUENCES)):
            ordered = np.argsort(-frequency[block], kind="stable")
            kept[block][ordered[most:]] = False
        return np.where(kept, np.log((1 + len(train)) / (1 + frequency)) + 1, 0.0)

    def matrix(self, train: IntArray) -> sparse.csr_matrix:
        """All texts as (n, words + sequences + numbers), by what the texts at the places `train` teach."""
        weights = np.concatenate([self.weights(train), np.zeros(len(NUMBERS))])
        data = self._logs * weights[self._indices]
        for block in (self._is_word, ~self._is_word & ~self._is_number):
            squares = np.bincount(self._rows[block], weights=data[block] ** 2, minlength=self._shape[0])
            data[block] /= np.sqrt(np.maximum(squares, 1e-24))[self._rows[block]]
        numbers, learned = self._numbers, self._numbers[train]
        spread = learned.std(axis=0)
        numbers = np.where(spread > 1e-9, (numbers - learned.mean(axis=0)) / np.maximum(spread, 1e-9), 0.0)
        # A text unlike all that was learned on (ten times as long) must not carry a weight without bound.
        data[self._is_number] = (np.clip(numbers, -3, 3) / np.sqrt(len(NUMBERS))).ravel()
        matrix = sparse.csr_matrix((data, self._indices.copy(), self._indptr.copy()), shape=self._shape)
        matrix.eliminate_zeros()
        return matrix


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
