"""The report on a calibration says what a compliance reader looks for, in that order, and nothing it must not say."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from lxml import html as parser

from auditlib.evidence import LIMITS
from auditlib.reports.blocks import Figure, PageBreak, Quotation, Table, VerdictBlock, headings, quoted
from auditlib.reports.calibration import MOST_WORKS, calibration_report
from auditlib.reports.calibration_facts import CalibrationFacts, WorkFacts
from auditlib.reports.html import to_html
from tests.reports.builders import COMMAND, calibration_facts, read_sets

NEVER = r"\b(proofs?|proves?|proven|stolen|steal\w*|theft|guilt\w*|copied|plagiar\w*|AI-detected)\b"


@pytest.fixture(scope="module")
def facts() -> CalibrationFacts:
    return calibration_facts()


def words_of(facts: CalibrationFacts) -> str:
    tree = parser.document_fromstring(to_html(calibration_report(facts)))
    for script in tree.xpath("//script | //style"):
        script.drop_tree()
    return " ".join(tree.text_content().split())


def test_sections_stand_in_the_order_in_which_they_are_looked_for(facts: CalibrationFacts) -> None:
    assert [heading.text for heading in headings(calibration_report(facts).blocks)] == [
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


def test_the_verdict_with_every_reason_and_its_limits_stands_on_the_first_page(facts: CalibrationFacts) -> None:
    blocks = calibration_report(facts).blocks
    first_page = blocks[: next(place for place, block in enumerate(blocks) if isinstance(block, PageBreak))]
    (verdict,) = (block for block in first_page if isinstance(block, VerdictBlock))
    assert verdict.word == facts.result.verdict.word
    assert verdict.reasons == facts.result.verdict.reasons
    assert verdict.limits == LIMITS


def test_model_material_date_person_seed_command_and_hashes_are_named(facts: CalibrationFacts) -> None:
    said = words_of(facts)
    members, others = facts.sets
    for what in (
        facts.model.name,
        facts.model.weights_sha256,
        members.sha256,
        others.sha256,
        "40 known members of 20 works",
        "4 March 2026, 14:30 UTC",
        "A. Compliance",
        COMMAND,
        facts.versions["numpy"],
        facts.notes[0],
    ):
        assert what in said


@pytest.mark.parametrize("seen", [0.0, 0.12])
def test_words_that_claim_too_much_are_never_said(seen: float) -> None:
    assert not re.search(NEVER, words_of(calibration_facts(seen=seen)), re.IGNORECASE)


def test_a_null_result_is_said_as_what_it_is() -> None:
    facts = calibration_facts(seen=0.0)
    assert facts.result.verdict.word != "supported"
    said = words_of(facts)
    assert "The test could not tell" in said or "There is no evidence in this test" in said


def test_no_passage_of_the_texts_is_in_the_report_unless_ticked(facts: CalibrationFacts) -> None:
    text = read_sets().sets.texts[0]
    said = words_of(facts)
    assert not [run for run in re.findall(r"\S+ \S+ \S+", text) if run in said]
    assert "No passage of the examined texts is quoted" in said
    ticked = replace(facts, quotations=(quoted(text, "Member work no. 1, from word 1"),))
    assert text[:50] in words_of(ticked)


def test_single_words_that_tell_the_sets_apart_are_named_only_where_ticked(facts: CalibrationFacts) -> None:
    strongest = facts.found.words.blind.strongest[0].name
    assert strongest not in words_of(facts)
    assert strongest in words_of(replace(facts, show_words=True))


def test_what_was_not_done_leaves_no_gap(facts: CalibrationFacts) -> None:
    little = replace(facts, sweep=None, nulls=None, length_classes=(), by="", command="", notes=())
    blocks = calibration_report(little).blocks
    assert sum(isinstance(block, Figure) for block in blocks) == 5
    assert "not recorded" in words_of(little)


def test_scores_that_could_not_be_had_are_named_with_the_reason(facts: CalibrationFacts) -> None:
    found = replace(facts.found, unavailable={"zlib": "This model does not give it."})
    assert "Zlib was not used. This model does not give it." in words_of(replace(facts, found=found))


def test_many_works_are_cut_short_and_the_rest_is_counted(facts: CalibrationFacts) -> None:
    works = tuple(WorkFacts(f"Work {n}", facts.works[0].label, 1, 10, "0" * 64) for n in range(MOST_WORKS + 7))
    tables = [block for block in calibration_report(replace(facts, works=works)).blocks if isinstance(block, Table)]
    (table,) = (table for table in tables if table.columns[0].name == "Work")
    assert len(table.rows) == MOST_WORKS
    assert table.note.startswith("7 more works")


def test_a_title_that_never_ends_is_shortened(facts: CalibrationFacts) -> None:
    report = calibration_report(replace(facts, name="x" * 5000))
    assert len(report.title) < 200


def test_every_figure_says_its_numbers_in_words(facts: CalibrationFacts) -> None:
    figures = [block for block in calibration_report(facts).blocks if isinstance(block, Figure)]
    assert len(figures) == 6
    assert all(re.search(r"\d", figure.alternative) for figure in figures)


def test_quotations_have_their_place(facts: CalibrationFacts) -> None:
    quotation = Quotation("a few words", "Member work no. 1")
    assert quotation in calibration_report(replace(facts, quotations=(quotation,))).blocks
