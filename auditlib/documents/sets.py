"""A member set and a non-member set: how large they are, how long their texts, and what they share.

A passage that stands in both sets poisons a calibration, because it is called member and non-member at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from auditlib.core import Label, Snippet
from auditlib.documents.clusters import first_of_cluster

SHINGLE_WORDS = 8
# Two texts share a passage if they share 50 words (Lee et al. 2022, "Deduplicating training data", use 50
# tokens) or, where one is short, half of it.
PASSAGE_WORDS = 50
PASSAGE_SHARE = 0.5

# A phrase in more texts than this is a formula ("all rights reserved"): its texts are linked in a chain, not
# each with each, or ten thousand texts would make fifty million pairs.
_MOST_ALL_PAIRS = 32
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, odd (Knuth, TAOCP 3, 6.4)
_NOT_LETTERS = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class SetCount:
    """How much text carries one label."""

    label: Label
    snippets: int
    groups: int
    words: int


@dataclass(frozen=True)
class LengthHistogram:
    """Snippets by length in words; `edges[i]` up to `edges[i + 1]`, the last bin with its upper edge."""

    edges: NDArray[np.float64]  # (bins + 1,)
    counts: dict[Label, NDArray[np.int64]]  # (bins,) each


@dataclass(frozen=True)
class SharedPassage:
    """Two snippets, by their places in the list given, that say the same in part or whole.

    exact         their words are the same, whatever their case, punctuation and spacing
    shared_words  about how many words of the shorter one stand in the other too
    share         the same as a part of the shorter one, 0 to 1
    across        one is a member and the other a non-member
    """

    first: int
    second: int
    exact: bool
    shared_words: int
    share: float
    across: bool


def count_sets(snippets: Sequence[Snippet]) -> dict[Label, SetCount]:
    """Snippets, groups and words under each label; labels that none has are there with zeros."""
    counts = {}
    for label in Label:
        own = [snippet for snippet in snippets if snippet.label is label]
        words = sum(snippet.word_count for snippet in own)
        counts[label] = SetCount(label, len(own), len({snippet.group for snippet in own}), words)
    return counts


def length_histogram(snippets: Sequence[Snippet], bins: int = 20) -> LengthHistogram:
    """Lengths in words of all labels in the same bins, so that they can stand side by side."""
    lengths = np.array([snippet.word_count for snippet in snippets], dtype=np.float64)
    edges = np.histogram_bin_edges(lengths, bins) if len(lengths) else np.linspace(0.0, 1.0, bins + 1)
    counts = {}
    for label in Label:
        own = [snippet.word_count for snippet in snippets if snippet.label is label]
        counts[label] = np.histogram(own, edges)[0].astype(np.int64)
    return LengthHistogram(edges, counts)


def shared_passages(snippets: Sequence[Snippet]) -> list[SharedPassage]:
    """Pairs of snippets, within and across the sets, that share a passage or all; those across come first.

    Every run of 8 words (letters and figures only, in lower case) is hashed the same way on every machine,
    and pairs are counted by the runs they have in common. Exact for passages in up to 32 texts; one that
    is in more links its texts in a chain.
    """
    vocabulary: dict[str, int] = {}
    hashed = [word_hashes(snippet.text, vocabulary) for snippet in snippets]
    runs = [np.unique(run_hashes(words)) for words in hashed]
    common = common_runs(runs)
    found = []
    for (first, second), n_common in common.items():
        exact = bool(np.array_equal(hashed[first], hashed[second]))
        shorter = min(len(hashed[first]), len(hashed[second]))
        # A passage of m words has m - 7 runs; short texts are one run, shared or not.
        shared = shorter if exact else min(shorter, n_common + SHINGLE_WORDS - 1)
        if exact or shared >= min(PASSAGE_WORDS, PASSAGE_SHARE * shorter):
            labels = {snippets[first].label, snippets[second].label}
            across = labels == {Label.MEMBER, Label.NON_MEMBER}
            found.append(SharedPassage(first, second, exact, shared, shared / shorter, across))
    return sorted(found, key=lambda pair: (not pair.across, -pair.share, pair.first, pair.second))


def without_shared(snippets: Sequence[Snippet], pairs: Sequence[SharedPassage]) -> list[Snippet]:
    """The snippets less those that share a passage, in their order.

    Pairs that touch make a cluster. One that reaches across the sets goes as a whole, as nobody can say which
    label is right; of any other the first snippet stays.
    """
    first_of = first_of_cluster(len(snippets), ((pair.first, pair.second) for pair in pairs))
    poisoned = {first_of[pair.first] for pair in pairs if pair.across}
    return [snippet for place, snippet in enumerate(snippets) if first_of[place] == place and place not in poisoned]


def word_hashes(text: str, vocabulary: dict[str, int]) -> NDArray[np.uint64]:
    """One hash a word, of its letters and figures; words with none are left out. (words,)"""
    hashes = []
    for word in text.split():
        known = vocabulary.get(word)
        if known is None:
            letters = _NOT_LETTERS.sub("", word.casefold())
            digest = blake2b(letters.encode("utf-8", "replace"), digest_size=8).digest()
            # 0 stands for "no letters": a digest that is 0 itself becomes 1.
            known = max(1, int.from_bytes(digest, "big")) if letters else 0
            vocabulary[word] = known
        if known:
            hashes.append(known)
    return np.array(hashes, dtype=np.uint64)


def run_hashes(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One hash for each run of 8 words, or one for a shorter text. (max(1, words - 7),); (0,) for no words"""
    if len(words) == 0:
        return words
    length = min(SHINGLE_WORDS, len(words))
    n_runs = len(words) - length + 1
    total = np.zeros(n_runs, dtype=np.uint64)
    for place in range(length):  # arithmetic modulo 2^64 is meant
        total = (total * _MULTIPLIER) ^ words[place : place + n_runs]
        total ^= total >> np.uint64(29)
    return total


def common_runs(runs: Sequence[NDArray[np.uint64]]) -> dict[tuple[int, int], int]:
    """How many runs each pair of texts has in common; pairs that have none are left out."""
    if not runs:
        return {}
    hashes = np.concatenate(runs)
    owners = np.repeat(np.arange(len(runs)), [len(own) for own in runs])
    order = np.argsort(hashes, kind="stable")  # stable: the owners of one hash stay in ascending order
    hashes, owners = hashes[order], owners[order]
    begins = np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1]]))
    ends = np.append(begins[1:], len(hashes))
    pairs: list[NDArray[np.int64]] = []
    for size in np.unique(ends - begins):
        if size < 2:
            continue
        starts = begins[(ends - begins) == size]
        together = owners[starts[:, None] + np.arange(size)]  # (runs of this size, size)
        if size <= _MOST_ALL_PAIRS:
            left, right = np.triu_indices(int(size), 1)
        else:
            left, right = np.arange(size - 1), np.arange(1, size)
        pairs.append(np.stack([together[:, left].ravel(), together[:, right].ravel()], axis=1))
    if not pairs:
        return {}
    unique, counts = np.unique(np.concatenate(pairs), axis=0, return_counts=True)
    return {(int(a), int(b)): int(n) for (a, b), n in zip(unique, counts, strict=True)}
