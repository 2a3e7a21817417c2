"""Snippets: always the same, always inside, never overlapping, always of the length that was asked for."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditlib.core import Document, Label
from auditlib.documents.snippets import Cut, sample, tile, truncate, whole
from tests.documents.builders import prose

TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(["a", "bb", " ", "\n", "\u2003", "é"]), max_size=200).map("".join),
)
COUNTS = st.integers(1, 12)
WORDS = st.integers(1, 9)
SEEDS = st.integers(0, 5)


def document(text: str) -> Document:
    digest = sha256(text.encode("utf-8", "replace")).hexdigest()
    return Document(digest, "A book", text, "text/plain", "a.txt", group="A book", label=Label.MEMBER)


def check_inside(cut: Cut, source: Document, words: int) -> None:
    all_words = source.text.split()
    for snippet in cut.snippets:
        assert source.text[snippet.start : snippet.start + len(snippet.text)] == snippet.text
        assert snippet.text.split() == all_words[snippet.first_word : snippet.first_word + words]
        assert snippet.word_count == words == len(snippet.text.split())
        assert snippet.text == snippet.text.strip()
    ends = [snippet.first_word + words for snippet in cut.snippets]
    assert all(end <= later.first_word for end, later in zip(ends, cut.snippets[1:], strict=False))


@given(TEXTS, COUNTS, WORDS, SEEDS)
@settings(max_examples=400, deadline=None)
def test_samples_are_inside_apart_exact_and_repeatable(text: str, count: int, words: int, seed: int) -> None:
    source = document(text)
    cut = sample(source, count, words, seed)
    check_inside(cut, source, words)
    assert len(cut.snippets) == min(count, len(text.split()) // words)
    assert cut == sample(document(text), count, words, seed)


@given(TEXTS, WORDS)
@settings(max_examples=200, deadline=None)
def test_tiles_follow_each_other_from_the_first_word(text: str, words: int) -> None:
    source = document(text)
    cut = tile(source, words)
    check_inside(cut, source, words)
    assert [snippet.first_word for snippet in cut.snippets] == [n * words for n in range(len(text.split()) // words)]


def test_the_draw_is_the_same_on_every_machine() -> None:
    """Fixed on the day it was written: SHA-256 and integers leave nothing to a platform or a version."""
    cut = sample(document(prose(1000)), count=4, words=50, seed=7)
    assert [snippet.first_word for snippet in cut.snippets] == [324, 702, 773, 832]


def test_every_placement_is_equally_likely() -> None:
    """2 snippets of 2 words among 6: 6 placements; 3,000 draws give each about 500, within 5 sigma."""
    source = document("a b c d e f")
    seen: dict[tuple[int, ...], int] = {}
    for seed in range(3000):
        places = tuple(snippet.first_word for snippet in sample(source, 2, 2, seed).snippets)
        seen[places] = seen.get(places, 0) + 1
    assert set(seen) == {(0, 2), (0, 3), (0, 4), (1, 3), (1, 4), (2, 4)}
    assert all(abs(count - 500) < 5 * 20.4 for count in seen.values())


def test_other_seeds_and_other_books_give_other_places() -> None:
    first, second = document(prose(5000)), document(prose(5000, seed=1))

    def places(cut: Cut) -> list[int]:
        return [snippet.first_word for snippet in cut.snippets]

    assert places(sample(first, 10, 50, seed=1)) != places(sample(first, 10, 50, seed=2))
    assert places(sample(first, 10, 50, seed=1)) != places(sample(second, 10, 50, seed=1))


def test_a_book_too_short_says_how_many_it_gives() -> None:
    cut = sample(document(prose(1100)))
    assert len(cut.snippets) == 2
    assert cut.note == "“A book” has 1,100 words: it gives 2 snippets of 512 words, not 100."
    assert (cut.method, cut.words, cut.seed) == ("sample", 512, 0)


def test_a_long_book_gives_the_papers_hundred_and_says_nothing() -> None:
    cut = sample(document(prose(60_000)))
    assert (len(cut.snippets), cut.note) == (100, "")


def test_tiles_say_what_is_left_over() -> None:
    assert tile(document(prose(25)), 10).note == "The last 5 words of “A book” fill no snippet and are not used."


def test_truncation_takes_the_first_words_or_says_why_not() -> None:
    (snippet,) = truncate(document("one  two\nthree four"), 3).snippets
    assert (snippet.text, snippet.start) == ("one  two\nthree", 0)
    short = truncate(document("one two"), 3)
    assert (short.snippets, short.note) == ((), "“A book” has 2 words, fewer than 3: it gives no snippet.")


def test_the_whole_is_one_snippet_of_all_words() -> None:
    (snippet,) = whole(document("  one two\n")).snippets
    assert (snippet.text, snippet.start, snippet.word_count) == ("one two", 2, 2)
    assert whole(document(" \n")).snippets == ()


def test_a_snippet_carries_its_documents_group_and_label() -> None:
    source = document("one two")
    (snippet,) = whole(source).snippets
    assert (snippet.document_id, snippet.group, snippet.label) == (source.id, "A book", Label.MEMBER)


def test_a_length_of_no_words_is_refused() -> None:
    with pytest.raises(ValueError, match="words must be 1 or more, not 0"):
        tile(document("one"), 0)
