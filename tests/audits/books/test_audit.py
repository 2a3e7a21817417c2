"""The book audit on made-up readings: the seen books are found, the others are not, and reasons say why."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from auditlib.audits.books import (
    BookAudit,
    BookSettings,
    ReadBooks,
    Shelf,
    audit_books,
    extraction_map,
    judged_with,
    plan_books,
    profile,
)
from auditlib.audits.books.known import corners, known_shelf
from auditlib.audits.calibration import calibrate
from auditlib.audits.calibration import examine_words as words_of_sets
from auditlib.audits.saved_calibration import Calibration, keep
from auditlib.core import AuditError
from auditlib.documents.cutting import Cutting
from auditlib.evidence import Roc, Word, roc
from auditlib.jobs.plain import from_plain, to_plain
from auditlib.scoring import SCORES
from tests.audits.books.made import CUTTING, book, read, shelved, shelves
from tests.audits.made import made_reading, made_sets

NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def books() -> ReadBooks:
    """30 + 60 known works, and six to audit: the first three were seen."""
    return read(shelves(*shelved(30, 60, 6)), seen=(1.0, 1.0, 0.5, 0.0, 0.0, 0.0), shift=2.0)


@pytest.fixture(scope="module")
def audit(books: ReadBooks) -> BookAudit:
    return audit_books(books, BookSettings())


def test_seen_books_are_supported_and_others_are_not(audit: BookAudit) -> None:
    words = [book.verdict.word for book in audit.judged.books]
    assert words[:3] == [Word.SUPPORTED] * 3
    assert Word.SUPPORTED not in words[3:]
    assert Word.NOT_SUPPORTED in words[3:]  # with this power, what is not seen is said to be so


def test_p_by_hand(books: ReadBooks, audit: BookAudit) -> None:
    """(1 + non-member works whose mean is as high) / (works + 1)."""
    placed, scores = books.placed, books.numbers.scores("min_k", 20.0)
    means = {w: scores[placed.snippets_of(w)].mean() for w in range(len(placed.works))}
    others = [means[w] for w in placed.on(Shelf.NON_MEMBERS)]
    for found in audit.judged.books:
        wanted = (1 + sum(other >= means[found.work] for other in others)) / (len(others) + 1)
        assert found.p == pytest.approx(wanted)
        assert found.mean == pytest.approx(means[found.work])
    assert audit.judged.n_works == 60
    assert audit.judged.smallest == pytest.approx(1 / 61)


def test_raw_rate_is_the_share_of_snippets_at_or_above_the_threshold(books: ReadBooks, audit: BookAudit) -> None:
    found = audit.judged.books[2]
    scores = books.numbers.scores("min_k", 20.0)[books.placed.snippets_of(found.work)]
    assert found.rate is not None
    assert found.rate.raw.estimate == np.mean(scores >= audit.judged.threshold)
    assert found.rate.corrected is not None
    errors = audit.judged.errors
    assert errors is not None
    wanted = np.clip((found.rate.raw.estimate - errors.fpr) / (errors.tpr - errors.fpr), 0, 1)
    assert found.rate.corrected.estimate == pytest.approx(wanted)


def test_every_method_is_tried_on_the_reference_shelf(audit: BookAudit) -> None:
    assert set(audit.methods) == {name for name, score in SCORES.items() if not score.needs_a_second_look}
    assert audit.methods["min_k"].findings.auc.low > 0.5
    assert audit.methods["min_k"].findings.blind_auc is not None
    assert all(method.threshold is not None for method in audit.methods.values())


def test_other_settings_on_the_page_give_what_a_whole_audit_gives(books: ReadBooks, audit: BookAudit) -> None:
    for change in ({"k": 40.0}, {"rule": 0.05, "correction": "by"}, {"score": "loss", "alpha": 0.2}):
        settings = replace(audit.settings, **change)  # type: ignore[arg-type]
        quick, whole = judged_with(books, audit, settings), audit_books(books, settings)
        assert to_plain(quick.judged) == to_plain(whole.judged), change
        assert to_plain(quick.methods) == to_plain(whole.methods), change
        assert quick.known.verdict == whole.known.verdict, change


def test_an_audit_goes_to_json_and_back(audit: BookAudit) -> None:
    plain = json.loads(json.dumps(to_plain(audit), allow_nan=False))
    assert to_plain(from_plain(BookAudit, plain)) == to_plain(audit)


def test_sensitivity_changes_one_thing_at_a_time(audit: BookAudit) -> None:
    by_axis: dict[str, list[str]] = {}
    for variant in audit.variants:
        by_axis.setdefault(variant.axis, []).append(variant.value)
        assert not variant.missing, variant
        assert len(variant.words) == 6
    assert by_axis["k"] == [f"{k}%" for k in range(5, 65, 5)]
    assert by_axis["words"] == ["10", "20", "40"]
    assert by_axis["rule"] == ["best accuracy", "FPR 0.05", "FPR 0.01"]
    assert "Min-K%" in by_axis["score"]
    chosen = [variant for variant in audit.variants if variant.is_chosen]
    assert {variant.axis for variant in chosen} == {"score", "k", "words", "rule"}
    own = tuple(found.verdict.word for found in audit.judged.books)
    assert all(variant.words == own for variant in chosen)


def test_verdicts_rest_on_every_gate(books: ReadBooks, audit: BookAudit) -> None:
    """Too few non-member works: no p can be small enough, and the verdict says so."""
    few = read(shelves(*shelved(40, 15, 2)), seen=(1.0, 0.0), shift=2.0)
    found = audit_books(few, BookSettings()).judged
    assert {one.verdict.word for one in found.books} == {Word.INCONCLUSIVE}
    assert any("too few to reach 0.05" in r.sentence for r in found.books[0].verdict.reasons if not r.holds)
    # A reference shelf on which the score cannot tell members: nothing can rest on it.
    flat = read(shelves(*shelved(40, 40, 2)), seen=(1.0, 0.0), shift=0.0)
    found = audit_books(flat, BookSettings()).judged
    assert {one.verdict.word for one in found.books} == {Word.INCONCLUSIVE}
    assert any("reference shelf" in r.sentence and not r.holds for r in found.books[0].verdict.reasons)


def test_snippets_of_other_lengths_than_the_shelfs_are_not_compared() -> None:
    arranged = shelves(*shelved(30, 30, 1))
    made = read(arranged, seen=(1.0,), shift=2.0)
    places = made.placed.snippets_on(Shelf.AUDITED)
    n_tokens = made.numbers.n_tokens.copy()
    n_tokens[places] = 400  # as a language of which the tokenizer knows no words has it
    made = replace(made, numbers=replace(made.numbers, n_tokens=n_tokens))
    (found,) = audit_books(made, BookSettings()).judged.books
    assert found.verdict.word is Word.INCONCLUSIVE
    assert any("outside the range" in reason.sentence for reason in found.verdict.reasons if not reason.holds)


def test_a_book_without_snippets_has_a_verdict_and_no_numbers() -> None:
    made = read(shelves(*shelved(30, 30, 1), (Shelf.AUDITED, book("Short", 20))), seen=(1.0, 1.0), shift=2.0)
    short, full = audit_books(made, BookSettings()).judged.books
    assert full.verdict.word is Word.SUPPORTED
    assert (short.n_snippets, short.mean, short.p, short.p_corrected, short.rate) == (0, None, None, None, None)
    assert short.verdict.word is Word.INCONCLUSIVE
    assert "shorter than one snippet" in " ".join(reason.sentence for reason in short.verdict.reasons)
    assert full.p_corrected == full.p  # corrected for the one book that has a p


def test_an_fpr_that_cannot_be_resolved_costs_the_rates_and_not_the_verdicts() -> None:
    made = read(shelves(*shelved(25, 25, 2, words=60)), seen=(1.0, 1.0), shift=2.5)
    found = audit_books(made, BookSettings(rule=0.01)).judged
    assert found.threshold is None
    assert "cannot be resolved" in found.no_threshold
    assert all(one.rate is None and one.no_rate == found.no_threshold for one in found.books)
    assert all(one.p is not None for one in found.books)


def test_a_score_that_the_books_lack_is_refused_with_what_to_do(books: ReadBooks) -> None:
    without = dict(books.numbers.by_score)
    without["lowercase"] = np.full_like(without["lowercase"], np.nan)
    numbers = replace(books.numbers, by_score=without, missing={"lowercase": "The text was not read in lower case."})
    bare = replace(books, numbers=numbers)
    with pytest.raises(AuditError, match="lower case"):
        audit_books(bare, BookSettings(score="lowercase"))


def saved(n: int = 40, words: int = 40, per_group: int = 1) -> Calibration:
    """A calibration on texts of as many words as a snippet has, by the same made-up model."""
    sets = made_sets(n, n, words, per_group)
    readings = made_reading(sets, 2.0)
    return keep(readings, calibrate(readings, words_of_sets(sets), names=["min_k"]), "min_k", "Saved one", NOW)


def test_a_saved_calibration_takes_the_place_of_the_reference_shelf() -> None:
    made = read(shelves(*shelved(0, 0, 4)), seen=(1.0, 1.0, 0.0, 0.0), shift=2.5)
    found = audit_books(made, BookSettings(), saved())
    assert found.known.source == "Saved one"
    assert found.judged.n_works == 40
    assert [one.verdict.word for one in found.judged.books][:2] == [Word.SUPPORTED] * 2
    assert Word.SUPPORTED not in [one.verdict.word for one in found.judged.books][2:]
    assert found.methods == {}
    assert {variant.axis for variant in found.variants} == {"rule"}
    assert from_plain(BookAudit, json.loads(json.dumps(to_plain(found)))).known.source == "Saved one"


def test_pieces_of_one_work_in_a_saved_calibration_count_as_one_work() -> None:
    made = read(shelves(*shelved(0, 0, 2)), seen=(1.0, 1.0), shift=2.5)
    found = audit_books(made, BookSettings(), saved(40, per_group=4))
    assert found.judged.n_works == 10
    assert {one.verdict.word for one in found.judged.books} == {Word.INCONCLUSIVE}


@pytest.mark.parametrize(
    ("changed", "settings", "named"),
    [
        ({"snippet_words": 200}, {}, "200 words"),
        ({}, {"score": "loss"}, "Choose the calibration's score"),
        ({}, {"k": 40.0}, "Choose the calibration's score and k"),
        ({"member_works": None}, {}, "belong to one work"),
    ],
)
def test_a_calibration_that_does_not_fit_is_refused(
    changed: dict[str, object], settings: dict[str, object], named: str
) -> None:
    made = read(shelves(*shelved(0, 0, 2)))
    with pytest.raises(AuditError, match=named):
        audit_books(made, BookSettings(**settings), replace(saved(6), **changed))  # type: ignore[arg-type]


def test_a_calibration_of_another_model_is_refused() -> None:
    calibration = saved(6)
    other = replace(calibration, model=replace(calibration.model, weights_sha256="b" * 64))
    with pytest.raises(AuditError, match="weights sha256"):
        audit_books(read(shelves(*shelved(0, 0, 2))), BookSettings(), other)


def test_position_profile_names_the_snippets_that_stand_out(books: ReadBooks) -> None:
    along = profile(books, books.placed.on(Shelf.AUDITED)[2], "min_k", 20.0)
    assert along.scores[along.most[0]] == along.scores.max()
    assert along.scores[along.least[0]] == along.scores.min()
    assert not set(along.most) & set(along.least)
    assert np.all(np.diff(along.first_word) >= CUTTING.words)


def test_extraction_maps_lie_within_the_book() -> None:
    made = read(shelves(*shelved(4, 4, 1)), shift=7.0, tokens_a_word=3.0)
    work = made.placed.on(Shelf.AUDITED)[0]
    found = extraction_map(made, work)
    assert len(found.log_p) == 6 * 3  # 120 tokens a snippet: windows begin at 0, 10, 20
    assert found.word.min() >= made.placed.first_word[made.placed.snippets_of(work)].min()
    assert found.word.max() <= 400
    seen = audit_books(made, BookSettings()).extractions
    assert set(seen.by_shelf) == {shelf.value for shelf in Shelf}
    assert seen.by_work[work].n_windows == 18
    assert seen.by_work[work].shares[0] > seen.by_shelf[Shelf.NON_MEMBERS.value].shares[0]


def test_the_corners_of_a_roc_curve_are_the_curve() -> None:
    rng = np.random.default_rng(3)
    labels = rng.random(400) < 0.5
    curve = roc(labels, np.round(rng.normal(labels * 1.0, 1), 2))
    bent = corners(curve)
    assert len(bent.fpr) < len(curve.fpr)
    by_tpr = np.lexsort((curve.fpr, curve.tpr))
    assert np.interp(curve.tpr[by_tpr] + curve.fpr[by_tpr], bent.tpr + bent.fpr, bent.tpr) == pytest.approx(
        curve.tpr[by_tpr]
    )
    assert np.trapezoid(bent.tpr, bent.fpr) == pytest.approx(np.trapezoid(curve.tpr, curve.fpr))
    assert isinstance(bent, Roc)


def test_known_works_are_groups(books: ReadBooks) -> None:
    known = known_shelf(books, "min_k", 20.0, 0.05)
    assert known.n_works == (30, 60)
    assert known.findings is not None
    assert known.findings.auc.method == "grouped bootstrap"


def test_500_books_at_once_are_planned_and_judged() -> None:
    arranged = shelves(*shelved(20, 20, 500, words=90), cutting=Cutting("sample", 2, 40))
    plan = plan_books(arranged, BookSettings())
    # 20 known works cannot carry 500 books unless nearly all stand out, and that is said before the run.
    assert any("Corrected for 500 audited books" in warning for warning in plan.warnings)
    found = audit_books(read(arranged, seen=(1.0, 0.0)), BookSettings())
    assert len(found.judged.books) == 500
    assert {book.verdict.word for book in found.judged.books} == {Word.INCONCLUSIVE}
