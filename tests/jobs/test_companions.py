"""Runs that read more than their texts: other models, prefixes, variants, a corpus; and the placebo."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from auditlib.audits.books import Shelf
from auditlib.audits.calibration import at_k
from auditlib.audits.companions import CompanionSettings
from auditlib.core import AuditError, Label
from auditlib.jobs import (
    calibration_parameters,
    load_books,
    load_read_books,
    load_read_sets,
    load_score_table,
    load_summary,
    report_files,
)
from auditlib.jobs.plain import to_plain
from auditlib.models.local import LocalModel
from auditlib.models.opening import load_model
from auditlib.models.request import ModelRequest
from auditlib.scoring import SCORES
from auditlib.store import Artifacts
from tests.jobs.conftest import Place, documents
from tests.jobs.test_books import book, parameters, shelved
from tests.jobs.test_executing import Here, execute
from tests.planted import made_up
from tests.tiny import gpt2_config, llama_config, save_folder

SECOND_LOOK = {name for name, score in SCORES.items() if score.needs_a_second_look}


class HereWithOthers(Here):
    """A worker's surroundings that open whichever model is asked for."""

    def __init__(self, place: Place) -> None:
        super().__init__(load_model(place.model, place.settings))
        self._place, self._target = place, place.model
        self.opened: list[ModelRequest] = []

    def open_model(self, request: ModelRequest) -> LocalModel:
        self.opened.append(request)
        return self._model if request == self._target else load_model(request, self._place.settings)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """With a model whose window has room for a prefix."""
    return Place(tmp_path / "home", ModelRequest(str(save_folder(tmp_path / "tiny", llama_config(context=512)))))


@pytest.fixture
def everything(place: Place, tmp_path: Path) -> CompanionSettings:
    """All that can be asked for, with a corpus of two documents of the workspace."""
    corpus = [book(900 + i, words=1500) for i in range(2)]
    place.bring([replace(one, label=Label.UNKNOWN) for one in corpus])
    other = ModelRequest(str(save_folder(tmp_path / "other", gpt2_config(context=512))))
    return CompanionSettings(
        reference=other,
        placebo=other,
        neighbours="own",
        n_neighbours=2,
        shots=2,
        corpus="documents",
        corpus_documents=tuple(one.id for one in corpus),
        corpus_name="two made-up books",
    )


def test_a_calibration_has_every_score_and_keeps_it_at_another_k(place: Place, everything: CompanionSettings) -> None:
    made = documents(48)
    asked = replace(place.bring(made), companions=everything)
    run = place.client.start("calibration", "All of them", asked, "A. Auditor")
    here = HereWithOthers(place)
    assert execute(place, run.id, here) == "done", place.client.run(run.id).problem
    run = place.client.run(run.id)
    assert set(run.identities) == {"target", "reference", "placebo"}
    summary, table = load_summary(place.store, run), load_score_table(place.store, run)
    assert set(summary.found.methods) == set(SCORES)
    notes = " ".join(summary.notes)
    for said in ("The reference model is other", "The placebo model is other", "own likely alternatives"):
        assert said in notes
    assert "two made-up books" in notes
    assert "2 works of each set" in notes
    # Two works of each set stand in the prefixes: nothing of theirs is measured.
    works = {document.group for document in made}
    assert len(works - set(table["group"])) == 4
    found = summary.found.methods["min_k"].findings
    assert found.placebo_auc is not None
    assert any("placebo model" in reason.sentence for reason in summary.found.methods["min_k"].verdict.reasons)

    read = load_read_sets(place.store, run, place.settings.cache_bytes)
    assert read is not None
    assert read.placebo is not None
    for name in SECOND_LOOK:
        np.testing.assert_array_equal(read.scores(name, 50.0), summary.found.methods[name].scores)
    again = at_k(read, summary.found, 50.0)
    assert set(again.methods) == set(SCORES)
    assert again.methods["min_k"].findings.placebo_auc != found.placebo_auc
    assert again.methods["min_k"].findings.placebo_auc is not None
    assert report_files(place.store, run)


def test_reading_again_takes_nothing_and_ends_the_same(place: Place, everything: CompanionSettings) -> None:
    asked = replace(place.bring(documents(48)), companions=replace(everything, neighbours=""))
    tables = []
    for _ in range(2):
        run = place.client.start("calibration", "Twice", asked, "")
        here = HereWithOthers(place)
        assert execute(place, run.id, here) == "done"
        tables.append(Artifacts(place.store).read(run.id, "scores.parquet"))
    assert sum(here.scored) == 0
    assert tables[0] == tables[1]


def test_a_book_audit_has_every_score_and_leaves_prefix_works_out(place: Place, everything: CompanionSettings) -> None:
    made = shelved(8, 8, 2)
    asked = replace(parameters(place, made), companions=everything)
    run = place.client.start("books", "All of them", asked, "A. Auditor")
    assert execute(place, run.id, HereWithOthers(place)) == "done", place.client.run(run.id).problem
    run = place.client.run(run.id)
    assert set(run.identities) == {"target", "reference", "placebo"}
    summary = load_books(place.store, run)
    # Of some snippets no variant can be made by this model's small vocabulary, which is said and not filled in.
    assert set(summary.found.methods) >= set(SCORES) - {"neighbour"}
    assert "neighbour" in summary.found.methods or "variants" in summary.found.unavailable["neighbour"]
    assert len(summary.placed.on(Shelf.MEMBERS)) == 6
    assert len(summary.placed.on(Shelf.NON_MEMBERS)) == 6
    assert len(summary.placed.on(Shelf.AUDITED)) == 2
    assert any("stand before all texts" in note for note in summary.placed.notes)
    read = load_read_books(place.store, run, summary)
    assert read.placebo is not None
    assert set(read.numbers.usable()) >= SECOND_LOOK - {"neighbour"}
    findings = summary.found.methods["min_k"].findings
    assert findings.placebo_auc is not None
    assert report_files(place.store, run)


def test_what_was_not_asked_for_leaves_its_scores_out_with_the_reason(place: Place) -> None:
    asked = replace(place.bring(documents(48)), companions=CompanionSettings(neighbours="own", n_neighbours=1))
    run = place.client.start("calibration", "One of them", asked, "")
    assert execute(place, run.id, HereWithOthers(place)) == "done"
    found = load_summary(place.store, place.client.run(run.id)).found
    assert "neighbour" in found.methods
    assert set(found.unavailable) == SECOND_LOOK - {"neighbour"}
    assert "No reference model" in found.unavailable["reference"]


@pytest.mark.parametrize(
    "companions",
    [
        CompanionSettings(shots=-1),
        CompanionSettings(shots=1000),
        CompanionSettings(neighbours="own", n_neighbours=0),
        CompanionSettings(corpus="documents"),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_queued(
    place: Place, companions: CompanionSettings
) -> None:
    asked = replace(place.bring(documents(12)), companions=companions)
    with pytest.raises(AuditError):
        calibration_parameters(to_plain(asked))


def test_prefixes_that_leave_too_little_end_the_run_before_a_model_is_loaded(place: Place) -> None:
    asked = replace(place.bring(documents(12)), companions=CompanionSettings(shots=2))
    run = place.client.start("calibration", "Too few", asked, "")
    here = HereWithOthers(place)
    assert execute(place, run.id, here) == "failed"
    assert "would leave too few" in (place.client.run(run.id).problem or "")
    assert not here.opened


def test_a_placebo_that_does_as_well_keeps_the_verdict_from_supported(place: Place) -> None:
    """The audited model as its own placebo: whatever it tells apart, the model makes no difference."""
    asked = replace(place.bring(documents(60)), companions=CompanionSettings(placebo=place.model))
    run = place.client.start("calibration", "Itself", asked, "")
    assert execute(place, run.id, HereWithOthers(place)) == "done"
    for method in load_summary(place.store, place.client.run(run.id)).found.methods.values():
        assert method.findings.over_placebo is not None
        assert method.findings.over_placebo.estimate == pytest.approx(0, abs=1e-12)
        (said,) = [reason for reason in method.verdict.reasons if "placebo" in reason.sentence]
        assert not said.holds


def test_old_parameters_without_companions_are_still_read(place: Place) -> None:
    plain = to_plain(place.bring(documents(12)))
    del plain["companions"]
    assert calibration_parameters(plain).companions == CompanionSettings()


def test_a_corpus_whose_document_is_gone_ends_the_run_and_says_so(place: Place) -> None:
    gone = CompanionSettings(corpus="documents", corpus_documents=("0" * 64,), corpus_name=made_up(3, 4))
    run = place.client.start("calibration", "Gone", replace(place.bring(documents(24)), companions=gone), "")
    assert execute(place, run.id, HereWithOthers(place)) == "failed"
    assert "can no longer be found" in (place.client.run(run.id).problem or "")
