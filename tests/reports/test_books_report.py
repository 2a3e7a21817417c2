"""The report on a book audit stands on its first page, says what it must and nothing that it must not."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from lxml import html as parser

from auditlib.audits.books import BookSettings, Shelf, audit_books
from auditlib.evidence import LIMITS
from auditlib.reports.blocks import Figure, PageBreak, Table, VerdictBlock, headings
from auditlib.reports.books import books_report
from auditlib.reports.books_facts import BooksFacts
from auditlib.reports.books_package import books_evidence
from auditlib.reports.html import to_html
from auditlib.reports.package import package_files
from tests.audits.books.made import book, document, read, shelved, shelves

NEVER = r"\b(proofs?|proves?|proven|stolen|steal\w*|theft|guilt\w*|copied|plagiar\w*|AI-detected)\b"


@pytest.fixture(scope="module")
def facts() -> BooksFacts:
    """30 + 60 known works; of 24 books 12 were seen, one of them with a hostile title, and one is too short."""
    hostile = document("<script>alert(1)</script> & “quotes”", book("hostile").text)
    made = [*shelved(30, 60, 22), (Shelf.AUDITED, hostile), (Shelf.AUDITED, book("Leaflet", 10))]
    readings = read(shelves(*made), seen=(1.0, 0.0), shift=2.5, tokens_a_word=3.0)
    found = audit_books(readings, BookSettings())
    return BooksFacts(
        "Spring list",
        readings,
        found,
        (("unicode", "hyphens"),),
        "files",
        datetime(2026, 5, 1, 12, tzinfo=UTC),
        "A. Auditor",
        "python -m auditlib rerun PACKAGE.zip --texts TEXTS",
    )


def words_of(facts: BooksFacts) -> str:
    tree = parser.document_fromstring(to_html(books_report(facts)))
    for script in tree.xpath("//script | //style"):
        script.drop_tree()
    return " ".join(tree.text_content().split())


def first_page(facts: BooksFacts) -> list[object]:
    blocks = list(books_report(facts).blocks)
    return list(blocks[: next(place for place, block in enumerate(blocks) if isinstance(block, PageBreak))])


def test_sections_stand_in_the_order_in_which_they_are_looked_for(facts: BooksFacts) -> None:
    assert [heading.text for heading in headings(books_report(facts).blocks)] == [
        "Summary",
        "What was examined",
        "How it was examined",
        "Results",
        "Quotations",
        "Limits",
        "Reproduction",
        "Glossary",
        "Sign-off",
    ]


def test_the_first_page_has_the_verdict_its_reasons_its_limits_and_the_books(facts: BooksFacts) -> None:
    page = first_page(facts)
    (verdict,) = [block for block in page if isinstance(block, VerdictBlock)]
    assert verdict.word == "supported"
    assert verdict.limits == LIMITS
    assert len(verdict.reasons) >= 5
    (table,) = [block for block in page if isinstance(block, Table)]
    assert len(table.rows) == 8
    assert all(row[1] == "supported" for row in table.rows)


def test_without_a_supported_book_the_first_page_says_so() -> None:
    readings = read(shelves(*shelved(30, 60, 3)), seen=(0.0,), shift=2.5)
    nothing = audit_books(readings, BookSettings())
    made = datetime(2026, 5, 1, tzinfo=UTC)
    quiet = BooksFacts("Quiet", readings, nothing, ((),), "files", made, "", "")
    (verdict,) = [block for block in first_page(quiet) if isinstance(block, VerdictBlock)]
    assert verdict.word != "supported"
    assert "no evidence in this test" in verdict.sentence or "could not tell" in verdict.sentence


def test_the_twenty_with_the_smallest_p_stand_in_the_table_and_the_rest_is_named(facts: BooksFacts) -> None:
    tables = [block for block in books_report(facts).blocks if isinstance(block, Table)]
    (top,) = [table for table in tables if "smallest p" in table.caption and len(table.columns) == 7]
    assert len(top.rows) == 20
    assert top.note.startswith("4 more")


def test_every_chart_has_its_words(facts: BooksFacts) -> None:
    figures = [block for block in books_report(facts).blocks if isinstance(block, Figure)]
    assert len(figures) >= 8
    assert all(figure.alternative and figure.caption for figure in figures)
    shown = " ".join(figure.caption for figure in figures)
    for wanted in ("How many books have which rate", "ROC", "along", "Verdicts under other settings"):
        assert wanted in shown or wanted == "ROC"
    assert any("every threshold" in figure.caption for figure in figures)


def test_nothing_is_said_that_a_score_cannot_say(facts: BooksFacts) -> None:
    said = words_of(facts).replace(LIMITS, "")
    assert not re.search(NEVER, said, re.IGNORECASE)
    assert "Leaflet" in said


def test_a_hostile_title_is_text_and_nothing_else(facts: BooksFacts) -> None:
    assert "<script>alert(1)" not in to_html(books_report(facts))


def test_tables_of_the_package_have_every_book_snippet_and_reason(facts: BooksFacts) -> None:
    n = len(facts.read.placed.work_of)
    evidence = books_evidence(facts, ["0" * 64] * n)
    assert len(evidence.tables["books"]) == 24
    assert len(evidence.tables["scores"]) == n == len(evidence.inputs)
    assert set(evidence.tables["reasons"]["title"]) == set(evidence.tables["books"]["title"])
    assert {"score", "k", "words", "rule"} == set(evidence.tables["sensitivity"]["axis"])
    files = package_files(evidence)
    assert {"books.csv", "scores.parquet", "report.html", "run.json"} <= set(files)
    assert evidence.numbers["min_k.auc"] == facts.found.methods["min_k"].findings.auc.estimate


def test_a_report_without_rates_says_why(facts: BooksFacts) -> None:
    judged = replace(
        facts.found.judged,
        threshold=None,
        errors=None,
        no_threshold="It cannot be resolved.",
        books=tuple(replace(one, rate=None, no_rate="It cannot be resolved.") for one in facts.found.judged.books),
    )
    assert "There are no rates. It cannot be resolved." in words_of(
        replace(facts, found=replace(facts.found, judged=judged))
    )
