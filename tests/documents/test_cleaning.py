"""Cleaning takes out what is no text, leaves what is, and can always show what it did."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditlib.core import Document
from auditlib.documents import STEPS, clean_again, pieces, removed_words
from auditlib.documents.cleaning import clean_text, default_steps, document_from
from auditlib.documents.cleaning.changes import Change, add_changes, apply
from auditlib.documents.reading import Reading
from tests.documents.builders import prose

# Made of what the steps look for, so that they have something to do.
FRAGMENTS = st.sampled_from(
    [
        *("\n", "\n\n", "\f", " ", "\t", "- ", "-\n", "word", "Word", "e\u0301", "\u00ad", "\u200b", "\x00"),
        *(
            "\u2028",
            "Contents\n",
            "Chapter 1\n",
            "Chapter 2 .... 9\n",
            "Index\n",
            "apples, 3\n",
            "12\n",
            "Page 3\n",
        ),
        *("THE HEAD\n", "Copyright 2020\n", "\n*** START OF THE PROJECT GUTENBERG EBOOK X ***\n"),
        "\n*** END OF THE PROJECT GUTENBERG EBOOK\n",
    ]
)
TEXTS = st.one_of(st.text(max_size=80), st.lists(FRAGMENTS, max_size=60).map("".join))


def book(text: str, media_type: str = "text/plain") -> Document:
    return document_from(Reading(text, "A book", media_type), "a.txt")


def paged(*pages: str) -> str:
    return book("\f".join(pages), "application/pdf").text


@given(TEXTS)
@settings(max_examples=400, deadline=None)
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once, _ = clean_text(text, STEPS)
    assert clean_text(once, STEPS) == (once, ())


@given(TEXTS)
@settings(max_examples=400, deadline=None)
def test_the_edits_turn_the_original_into_the_text(text: str) -> None:
    document = book(text, "application/pdf")
    assert apply(document.original, document.edits) == document.text
    shown = list(pieces(document))
    assert "".join(piece.original for piece in shown) == document.original
    assert "".join(piece.text_now for piece in shown) == document.text


@given(st.text("abc", max_size=30), st.data())
@settings(max_examples=300, deadline=None)
def test_edits_of_several_steps_add_up(text: str, data: st.DataObject) -> None:
    edits, now = [], text
    for step in ("one", "two", "three"):
        cuts = sorted(data.draw(st.sets(st.integers(0, len(now)), max_size=8)))
        replacements = st.text("xyz", max_size=3)
        changes = [Change(a, b, data.draw(replacements)) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
        edits = add_changes(edits, now, changes, step)
        now = apply(now, changes)
        assert apply(text, edits) == now
        assert all(a.end <= b.start for a, b in pairwise(edits))


def test_every_step_is_recorded_and_can_be_switched_off() -> None:
    original = f"wait-\ned   {prose(20)}"
    document = book(original)
    assert document.steps == default_steps("text/plain")
    assert document.text.startswith("waited ")
    again = clean_again(document, without=["hyphens"])
    assert "hyphens" not in again.steps
    assert again.text.startswith("wait-\ned ")
    assert again.id != document.id
    assert clean_again(again) == document


def test_a_text_that_needs_no_cleaning_keeps_no_second_copy() -> None:
    document = book("All is well.")
    assert document.raw is None
    assert document.original == "All is well."


def test_accents_join_their_letters() -> None:
    assert book("cafe\u0301").text == "café"
    assert unicodedata.is_normalized("NFC", book("e\u0301" * 100 + "\u1100\u1161").text)


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("an inter-\nesting tale", "an interesting tale"),
        ("an inter\u00ad\nesting ta\u00adle", "an interesting tale"),
        ("well-known, well-\nknown", "well-known, well-known"),
        ("He said -\nand left", "He said -\nand left"),
        ("Anglo-\nSaxon", "Anglo-\nSaxon"),
        ("a dash--\nthen more", "a dash--\nthen more"),
    ],
)
def test_words_divided_at_line_ends_are_joined(text: str, joined: str) -> None:
    assert book(text).text == joined


def test_white_space_is_made_even() -> None:
    assert book("\ufeff  a\u00a0 b \t\n c\n\n\n\n d\x00e\u200b  \n").text == "a b\nc\n\nd" + "e"


def test_running_heads_and_page_numbers_go() -> None:
    pages = [prose(60, seed) for seed in range(6)]
    with_heads = [f"THE HOLLOW ORCHARD\n{page}\n{number}" for number, page in enumerate(pages, start=17)]
    assert paged(*with_heads).split() == " ".join(pages).split()


def test_heads_that_differ_left_and_right_go_with_the_numbers_in_them() -> None:
    pages = [prose(60, seed) for seed in range(8)]
    heads = [f"{n} A Made-Up Author" if n % 2 else f"The Title {n}" for n in range(8)]
    assert paged(*(f"{head}\n{page}" for head, page in zip(heads, pages, strict=True))).split() == (
        " ".join(pages).split()
    )


def test_roman_page_numbers_go() -> None:
    pages = [prose(60, seed) for seed in range(4)]
    numbered = [f"{page}\n{number}" for page, number in zip(pages, ("ii", "iii", "iv", "v"), strict=True)]
    assert paged(*numbered).split() == " ".join(pages).split()


def test_a_year_at_the_foot_of_a_page_stays() -> None:
    pages = [prose(60, seed) for seed in range(4)]
    pages[2] += "\n1984"
    assert "1984" in paged(*pages).split()


def test_pages_that_are_all_alike_stay() -> None:
    assert len(paged(*[prose(60)] * 5).split()) == 300


def test_a_word_divided_between_two_pages_is_joined() -> None:
    assert "interesting" in paged(
        f"HEAD\n{prose(40)}\nan inter-\n1", f"HEAD\nesting {prose(40, 1)}\n2", f"HEAD\n{prose(40)}\n3"
    )


LICENCE = "The Project Gutenberg EBook of A Book, by Nobody\n\nThis eBook is for the use of anyone anywhere.\n\n"


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (
            "*** START OF THE PROJECT GUTENBERG EBOOK A BOOK ***",
            "*** END OF THE PROJECT GUTENBERG EBOOK A BOOK ***",
        ),
        (
            "***START OF THIS PROJECT GUTENBERG EBOOK A BOOK***",
            "End of Project Gutenberg's A Book, by Nobody",
        ),
        (
            "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*",
            "End of the Project Gutenberg Etext",
        ),
    ],
)
def test_the_gutenberg_licence_is_stripped(start: str, end: str) -> None:
    body = prose(200)
    document = book(f"{LICENCE}{start}\n\nProduced by Somebody\nand others\n\n{body}\n\n{end}\n\nThe full licence.")
    assert document.text == body
    assert set(removed_words(document)) == {"gutenberg"}


def test_a_novel_that_speaks_of_the_project_is_left_alone() -> None:
    text = f"She read the Project Gutenberg licence aloud.\n\n{prose(50)}"
    assert book(text).text == text


def test_a_table_of_contents_goes_and_the_first_chapter_stays() -> None:
    entries = "\n".join(f"Chapter {n}. The {word} .... {n * 10}" for n, word in enumerate(("Gate", "River", "End"), 1))
    body = "\n\n".join(
        f"Chapter {n}. The {word}\n\n{prose(80, n)}" for n, word in enumerate(("Gate", "River", "End"), 1)
    )
    assert book(f"A Title\n\nContents\n\n{entries}\n\n{body}").text == f"A Title\n\n{body}"


def test_a_heading_that_is_not_among_the_contents_stays() -> None:
    document = book(f"CONTENTS\n\nThe Gate 1\nThe River 20\nThe End 40\n\nPrologue to All\n\n{prose(100)}")
    assert document.text == f"Prologue to All\n\n{prose(100)}"


def test_the_word_contents_in_a_story_takes_nothing_away() -> None:
    text = f"Contents\n\n{prose(60)}\n\nThe contents were gone.\n\n{prose(30)}"
    assert book(text).text == text


def test_the_copyright_page_goes() -> None:
    page = "Copyright © 2020 Nobody\nAll rights reserved.\nISBN 978-0-00-000000-2\n\nFirst published in 2020"
    document = book(f"A Title\n\n{page}\n\n{prose(150)}")
    assert document.text == f"A Title\n\n{prose(150)}"
    assert removed_words(document) == {"copyright_page": len(page.split())}


def test_an_index_at_the_end_goes() -> None:
    index = "Index\n\napples, 3, 17\nbarley, 4–6\ncider, 12\n  sweet, 13\ndamsons, see apples\n"
    assert book(f"{prose(300)}\n\n{index}").text == prose(300)


def test_a_document_emptied_by_cleaning_says_so() -> None:
    document = book("*** START OF THE PROJECT GUTENBERG EBOOK X ***\n*** END OF THE PROJECT GUTENBERG EBOOK X ***\n")
    assert document.text == ""
    assert "removed every word" in document.warnings[0]
