"""Shelves: one work is one work, whatever its files are called."""

from __future__ import annotations

import random

import pytest

from auditlib.audits.books import Shelf, arrange, refuse_unusable
from auditlib.core import AuditError
from auditlib.documents.cutting import Cutting
from tests.audits.books.made import CUTTING, book, document, shelved, shelves


def edited(text: str, share: float = 0.02, seed: int = 1) -> str:
    """The text with a share of its words changed, as another edition or a scan has it."""
    rng = random.Random(seed)
    return " ".join("changed" if rng.random() < share else word for word in text.split())


def test_works_stand_in_the_order_of_their_shelves_with_their_snippets() -> None:
    arranged = shelves(*shelved(3, 2, 2))
    assert [work.shelf for work in arranged.works] == [Shelf.MEMBERS] * 3 + [Shelf.NON_MEMBERS] * 2 + [
        Shelf.AUDITED
    ] * 2
    assert all(work.n_snippets == 6 for work in arranged.works)
    assert arranged.work_of.tolist() == [work for work in range(7) for _ in range(6)]
    assert {s.document_id for s, w in zip(arranged.snippets, arranged.work_of, strict=True) if w == 0} == set(
        arranged.works[0].documents
    )
    assert arranged.notes == ()


def test_order_of_files_does_not_matter() -> None:
    made = shelved(4, 4, 3)
    assert arrange(made, CUTTING).digest == arrange(made[::-1], CUTTING).digest


def test_an_audited_book_on_the_reference_shelf_is_found_by_its_content() -> None:
    made = shelved(4, 4, 1)
    twin = made[0][1]
    same = document("Under quite another name", edited(twin.text))
    arranged = shelves(*made, (Shelf.AUDITED, same))
    assert twin.title not in [work.title for work in arranged.works]
    assert "Under quite another name" in [arranged.works[place].title for place in arranged.on(Shelf.AUDITED)]
    (note,) = arranged.notes
    assert twin.title in note
    assert "compared with itself" in note


def test_a_work_called_member_and_non_member_is_left_out_of_both() -> None:
    made = shelved(4, 4, 1)
    arranged = shelves(*made, (Shelf.NON_MEMBERS, document("Again", edited(made[0][1].text))))
    assert len(arranged.on(Shelf.MEMBERS)) == 3
    assert len(arranged.on(Shelf.NON_MEMBERS)) == 4
    assert "nobody can say which is right" in arranged.notes[0]


@pytest.mark.parametrize("shelf", list(Shelf))
def test_two_editions_on_one_shelf_are_one_work_and_the_longest_is_read(shelf: Shelf) -> None:
    made = shelved(4, 4, 2)
    longest = document("Second edition", edited(book("First edition").text) + " with an afterword of some words")
    arranged = shelves(*made, (shelf, book("First edition")), (shelf, longest))
    (work,) = [work for work in arranged.works if "edition" in work.title]
    assert work.title == "Second edition"
    assert work.editions == ("First edition",)
    assert work.documents == (longest.id,)
    assert "editions of one work" in arranged.notes[0]


def test_the_same_file_twice_counts_once() -> None:
    made = shelved(3, 3, 2)
    arranged = shelves(*made, made[0])
    assert len(arranged.on(Shelf.MEMBERS)) == 3
    assert "brought 2 times" in arranged.notes[0]


def test_parts_of_one_work_are_one_work_with_snippets_of_all_parts() -> None:
    made = shelved(3, 3, 0)
    one, two = (book(f"part {number}") for number in (1, 2))
    parts = [document("Three volumes", part.text) for part in (one, two)]
    arranged = shelves(*made, *((Shelf.AUDITED, part) for part in parts))
    (place,) = arranged.on(Shelf.AUDITED)
    work = arranged.works[place]
    assert set(work.documents) == {part.id for part in parts}
    assert work.n_snippets == CUTTING.count
    own = {s.document_id for s, w in zip(arranged.snippets, arranged.work_of, strict=True) if w == place}
    assert own == set(work.documents)


def test_a_known_work_shorter_than_a_snippet_is_left_out_and_an_audited_one_stays_without_snippets() -> None:
    made = shelved(3, 3, 1)
    arranged = shelves(*made, (Shelf.MEMBERS, book("Short", 39)), (Shelf.AUDITED, book("Short too", 39)))
    assert "Short" not in [work.title for work in arranged.works]
    (short,) = [work for work in arranged.works if work.title == "Short too"]
    assert short.n_snippets == 0
    assert "fewer than one snippet of 40" in arranged.notes[0]


def test_an_empty_book_does_no_harm() -> None:
    arranged = shelves(*shelved(3, 3, 1), (Shelf.AUDITED, document("Empty", "  \n ")))
    (empty,) = [work for work in arranged.works if work.title == "Empty"]
    assert (empty.n_words, empty.n_snippets) == (0, 0)
    refuse_unusable(arranged)


@pytest.mark.parametrize(("members", "non_members", "named"), [(1, 5, "known members"), (5, 1, "known non-members")])
def test_a_reference_shelf_of_one_work_is_refused(members: int, non_members: int, named: str) -> None:
    arranged = shelves(*shelved(members, non_members, 2))
    with pytest.raises(AuditError, match=f"{named} has one work"):
        refuse_unusable(arranged)


def test_a_shelf_of_which_copies_leave_nothing_is_refused_with_the_reason() -> None:
    made = shelved(2, 3, 1)
    arranged = shelves(*made, (Shelf.AUDITED, document("Copy", made[0][1].text)))
    with pytest.raises(AuditError, match="compared with itself"):
        refuse_unusable(arranged)


def test_nothing_to_audit_is_refused() -> None:
    with pytest.raises(AuditError, match="no book to audit"):
        refuse_unusable(shelves(*shelved(3, 3, 0)))
    with pytest.raises(AuditError, match="No audited book has 40 words"):
        refuse_unusable(shelves(*shelved(3, 3, 0), (Shelf.AUDITED, book("Short", 20))))


def test_whole_texts_can_be_audited() -> None:
    arranged = shelves(*shelved(3, 3, 1, words=60), cutting=Cutting("whole"))
    assert [work.n_snippets for work in arranged.works] == [1] * 7
