"""A shelf of books against works that the model has not seen: the statistic is a work's mean score.

Snippets of one work are not independent of each other, works are. So a book's mean is compared with means of works,
and what a p-value counts is works.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from auditlib.evidence.arrays import FloatArray, Groups, IntArray, checked_scores, group_codes
from auditlib.evidence.p_values import benjamini_hochberg, benjamini_yekutieli, set_p

Correction = Literal["bh", "by"]


@dataclass(frozen=True)
class ShelfPs:
    """p-values of books (b,), in their order.

    means      of each book's scores; NaN for a book without snippets
    p          chance of a mean at least so high, if the book is exchangeable with the known non-member works; NaN
               for a book without snippets
    corrected  for all books that have a p
    n_works    known non-member works that they were compared with
    """

    means: FloatArray
    p: FloatArray
    corrected: FloatArray
    n_works: int


def shelf_ps(
    books: Sequence[ArrayLike],
    non_member_scores: ArrayLike,
    non_member_works: Groups = None,
    correction: Correction = "bh",
    seed: int = 0,
) -> ShelfPs:
    """p of each book's mean score among the means of known non-member works.

    A mean of few snippets scatters more than one of many. So a work with more snippets than the book lends as many
    as the book has, drawn by `seed`. Where a work has fewer, its mean scatters more than the book's would: then p is
    too large rather than too small.
    """
    known = checked_scores(non_member_scores)
    codes = group_codes(non_member_works, len(known))
    turns = turns_of(codes, seed)
    means, ps = np.full(len(books), np.nan), np.full(len(books), np.nan)
    by_size: dict[int, FloatArray] = {}
    for place, scores in enumerate(books):
        own = checked_scores(scores)
        if len(own) == 0:
            continue
        if len(own) not in by_size:
            by_size[len(own)] = means_of_works(known, codes, turns, len(own))
        means[place] = own.mean()
        ps[place] = set_p(means[place], by_size[len(own)])
    corrected = np.full(len(books), np.nan)
    judged = np.flatnonzero(~np.isnan(ps))
    if len(judged):
        correct = benjamini_hochberg if correction == "bh" else benjamini_yekutieli
        corrected[judged] = correct(ps[judged])
    return ShelfPs(means, ps, corrected, int(codes.max()) + 1)


def power_of_works(
    member_scores: ArrayLike,
    member_works: Groups,
    non_member_scores: ArrayLike,
    non_member_works: Groups,
    alpha: float,
    seed: int = 0,
) -> float:
    """Share of the known member works that would have reached `alpha` as audited books, uncorrected."""
    known = checked_scores(member_scores)
    codes = group_codes(member_works, len(known))
    works = np.split(known[np.argsort(codes, kind="stable")], np.cumsum(np.bincount(codes))[:-1])
    return float(np.mean(shelf_ps(works, non_member_scores, non_member_works, "bh", seed).p <= alpha))


def smallest_p(n_works: int, n_books: int, correction: Correction = "bh") -> tuple[float, float]:
    """The smallest p that a book can have, and what the correction makes of it where all books have that one.

    1/(n_works + 1); Benjamini-Hochberg leaves it as it is then, Benjamini-Yekutieli multiplies it by
    1 + 1/2 + ... + 1/n_books.
    """
    p = 1 / (n_works + 1)
    return p, p if correction == "bh" else min(1.0, p * float(np.sum(1 / np.arange(1, max(1, n_books) + 1))))


def turns_of(codes: IntArray, seed: int) -> IntArray:
    """The turn (n,) at which each snippet is drawn from its work: 0, 1, 2 ... in an order dealt by `seed`."""
    dealt = np.random.default_rng(seed).permutation(len(codes))
    order = dealt[np.argsort(codes[dealt], kind="stable")]  # by work, within a work as dealt
    sizes = np.bincount(codes)
    turns = np.empty(len(codes), dtype=np.int64)
    turns[order] = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return turns


def means_of_works(scores: FloatArray, codes: IntArray, turns: IntArray, most: int) -> FloatArray:
    """Mean score of each work (works,) over the snippets whose turn comes before `most`."""
    drawn = turns < most
    own = codes[drawn]
    return np.asarray(np.bincount(own, weights=scores[drawn]) / np.bincount(own))
