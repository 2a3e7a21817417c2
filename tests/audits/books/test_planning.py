"""What is said before a model spends hours."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from auditlib.audits.books import BookSettings, Shelf, plan_books
from auditlib.audits.calibration import calibrate, examine_words
from auditlib.audits.saved_calibration import keep
from auditlib.core import AuditError
from tests.audits.books.made import book, shelved, shelves
from tests.audits.made import made_reading, made_sets


def warned(*args: object, **more: object) -> str:
    return " ".join(plan_books(*args, **more).warnings)  # type: ignore[arg-type]


def test_too_few_non_member_works_for_any_verdict_are_said_with_how_many_would_do() -> None:
    planned = plan_books(shelves(*shelved(10, 10, 3)), BookSettings())
    assert not planned.can_support
    assert "p cannot be below 0.0909" in " ".join(planned.warnings)
    assert "19 known non-member works could do it" in " ".join(planned.warnings)
    assert plan_books(shelves(*shelved(10, 19, 1)), BookSettings()).can_support


def test_how_many_books_must_stand_out_together_is_said() -> None:
    planned = plan_books(shelves(*shelved(10, 40, 4)), BookSettings())
    assert planned.can_support
    assert "at least 2 of them" in " ".join(planned.warnings)
    assert "79 known non-member works" in " ".join(planned.warnings)
    alone = plan_books(shelves(*shelved(10, 40, 1)), BookSettings())
    assert "must all be above" not in " ".join(alone.warnings)


def test_the_harder_correction_needs_more_works() -> None:
    arranged = shelves(*shelved(10, 40, 4))
    assert not plan_books(arranged, BookSettings(correction="by")).can_support


def test_an_fpr_that_cannot_be_resolved_is_said() -> None:
    arranged = shelves(*shelved(10, 10, 1, words=60))  # one snippet a work
    assert "A false-positive rate of 0.01 cannot be resolved" in warned(arranged, BookSettings(rule=0.01))
    assert "cannot be resolved" not in warned(arranged, BookSettings(rule=0.2))


def test_years_that_separate_the_shelves_are_said() -> None:
    old = [(Shelf.MEMBERS, book(f"old {n}", year=1900 + n)) for n in range(10)]
    new = [(Shelf.NON_MEMBERS, book(f"new {n}", year=2020 + n % 5)) for n in range(10)]
    said = warned(shelves(*old, *new, *shelved(0, 0, 1)), BookSettings())
    assert "Years alone separate the known shelves: members are earlier (middle years 1904 and 2022, AUC 1.00)" in said


def test_years_that_do_not_separate_are_not_said() -> None:
    assert "ears" not in warned(shelves(*shelved(20, 20, 1, years=True)), BookSettings())


def test_shelves_without_authors_and_years_are_no_error_and_that_years_were_not_checked_is_said() -> None:
    said = warned(shelves(*shelved(10, 20, 1)), BookSettings())
    assert "The years of 30 of the known works are not given" in said


def test_books_that_give_no_snippet_are_named() -> None:
    arranged = shelves(*shelved(5, 5, 1), (Shelf.AUDITED, book("Leaflet", 30)))
    said = warned(arranged, BookSettings())
    assert "“Leaflet”: shorter than one snippet of 40 words" in said


def test_what_was_left_out_or_counted_together_comes_first() -> None:
    made = shelved(5, 5, 1)
    planned = plan_books(shelves(*made, made[0]), BookSettings())
    assert "brought 2 times" in planned.warnings[0]


def test_tokens_and_time_are_estimated() -> None:
    arranged = shelves(*shelved(5, 5, 2))
    planned = plan_books(arranged, BookSettings(), tokens_per_second=100.0)
    words = 40 * 6 * (2 * 10 + 2)  # known works are read in lower case too
    assert planned.n_tokens == pytest.approx(1.4 * words, abs=1)
    assert planned.seconds == pytest.approx(1.4 * words / 100, abs=0.1)
    assert plan_books(arranged, BookSettings(score="lowercase")).n_tokens > planned.n_tokens
    assert plan_books(arranged, BookSettings()).seconds is None


def test_a_saved_calibration_is_planned_with_its_works_and_refused_where_it_does_not_fit() -> None:
    sets = made_sets(12, 12, 40)
    readings = made_reading(sets, 2.0)
    found = calibrate(readings, examine_words(sets), names=["min_k"])
    saved = keep(readings, found, "min_k", "Saved", datetime(2026, 5, 1, tzinfo=UTC))
    arranged = shelves(*shelved(0, 0, 2))
    assert "With 12 known non-member works" in warned(arranged, BookSettings(), saved)
    with pytest.raises(AuditError, match="Choose the calibration's score"):
        plan_books(arranged, BookSettings(score="loss"), saved)


def test_settings_that_make_no_sense_are_refused() -> None:
    arranged = shelves(*shelved(2, 2, 1))
    for settings, named in (
        (BookSettings(score="magic"), "no score"),
        (BookSettings(k=0.0), "percentage"),
        (BookSettings(alpha=1.0), "Alpha"),
        (BookSettings(rule=1.5), "threshold"),
        (BookSettings(correction="none"), "no correction"),  # type: ignore[arg-type]
    ):
        with pytest.raises(AuditError, match=named):
            plan_books(arranged, settings)
