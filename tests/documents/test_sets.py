"""Two sets side by side, and the passages that stand in more than one text."""

from __future__ import annotations

import numpy as np
import pytest

from auditlib.core import Label, Snippet
from auditlib.documents.sets import count_sets, length_histogram, shared_passages, without_shared
from tests.documents.builders import prose


def snippet(text: str, label: Label = Label.MEMBER, group: str = "g") -> Snippet:
    return Snippet(text[:20], "d", group, text, 0, 0, len(text.split()), label)


def words(count: int, start: int) -> str:
    """Words that no other text has."""
    return " ".join(f"w{number}" for number in range(start, start + count))


def test_counts_are_by_label() -> None:
    counts = count_sets([snippet("a b"), snippet("c", group="h"), snippet("d e f", Label.NON_MEMBER)])
    members, others, unknown = (counts[label] for label in Label)
    assert (members.snippets, members.groups, members.words) == (2, 2, 3)
    assert (others.snippets, others.groups, others.words) == (1, 1, 3)
    assert (unknown.snippets, unknown.words) == (0, 0)


def test_lengths_share_their_bins() -> None:
    texts = [snippet(words(n, 0)) for n in (10, 20, 30)] + [snippet(words(50, 0), Label.NON_MEMBER)]
    histogram = length_histogram(texts, bins=4)
    assert histogram.edges.tolist() == [10, 20, 30, 40, 50]
    assert histogram.counts[Label.MEMBER].tolist() == [1, 1, 1, 0]
    assert histogram.counts[Label.NON_MEMBER].tolist() == [0, 0, 0, 1]


def test_no_snippets_have_an_empty_histogram() -> None:
    assert sum(int(counts.sum()) for counts in length_histogram([]).counts.values()) == 0
    assert shared_passages([]) == []


def test_the_same_words_are_exact_whatever_their_case_and_punctuation() -> None:
    (pair,) = shared_passages([snippet("The end, at last!"), snippet("the END\nat last", Label.NON_MEMBER)])
    assert (pair.first, pair.second, pair.exact, pair.across) == (0, 1, True, True)
    assert (pair.shared_words, pair.share) == (4, 1.0)


def test_a_passage_shared_by_two_sets_is_found_and_measured() -> None:
    shared = words(60, 0)
    texts = [
        snippet(f"{words(200, 1000)} {shared} {words(200, 2000)}"),
        snippet(f"{words(100, 3000)} {shared} {words(300, 4000)}", Label.NON_MEMBER),
        snippet(words(500, 5000), Label.NON_MEMBER),
    ]
    (pair,) = shared_passages(texts)
    assert (pair.first, pair.second, pair.exact, pair.across) == (0, 1, False, True)
    assert pair.shared_words == 60
    assert pair.share == pytest.approx(60 / 460)


def test_a_common_phrase_is_no_shared_passage() -> None:
    phrase = words(20, 0)
    assert shared_passages([snippet(f"{phrase} {words(400, n * 1000)}") for n in (1, 2)]) == []


def test_a_short_text_inside_a_long_one_is_found() -> None:
    (pair,) = shared_passages([snippet(words(400, 0)), snippet(words(20, 100))])
    assert (pair.exact, pair.across, pair.share) == (False, False, 1.0)


def test_pairs_across_the_sets_come_first() -> None:
    texts = [snippet(words(100, 0)), snippet(words(100, 0)), snippet(words(60, 0), Label.NON_MEMBER)]
    assert [pair.across for pair in shared_passages(texts)] == [True, True, False]


def test_pairs_with_an_unknown_label_are_not_across() -> None:
    (pair,) = shared_passages([snippet("a b c", Label.UNKNOWN), snippet("a b c")])
    assert not pair.across


def test_what_is_in_both_sets_is_dropped_from_both_and_repeats_but_once() -> None:
    texts = [
        snippet("in both sets"),
        snippet("in both sets", Label.NON_MEMBER),
        snippet("twice a member"),
        snippet("twice a member"),
        snippet("alone"),
    ]
    assert without_shared(texts, shared_passages(texts)) == [texts[2], texts[4]]


def test_many_copies_of_one_text_are_linked_without_a_pair_for_each_two() -> None:
    texts = [snippet(prose(30)) for _ in range(500)]
    pairs = shared_passages(texts)
    assert len(pairs) == 499
    assert without_shared(texts, pairs) == [texts[0]]


def test_texts_without_letters_share_nothing() -> None:
    assert shared_passages([snippet("*** ***"), snippet("*** ***")]) == []


def test_the_pairs_agree_with_counting_by_hand() -> None:
    """Against sets of 8-word tuples, text by text."""
    generator = np.random.default_rng(5)
    vocabulary = [f"v{n}" for n in range(3)]
    texts = [" ".join(generator.choice(vocabulary, 40)) for _ in range(12)]
    runs = [{tuple(text.split()[i : i + 8]) for i in range(33)} for text in texts]
    expected = {
        (a, b)
        for a in range(12)
        for b in range(a + 1, 12)
        if (common := len(runs[a] & runs[b])) and min(40, common + 7) >= 20
    }
    assert {(pair.first, pair.second) for pair in shared_passages([snippet(text) for text in texts])} == expected
