"""A book audit as a run, in this process and without a queue: what it leaves, what it reads, and what goes wrong."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from auditlib.audits.books import BookSettings, Shelf, audit_books, judged_with
from auditlib.audits.saved_calibration import to_json
from auditlib.core import AuditError, Document, Label
from auditlib.documents.cutting import Cutting
from auditlib.jobs import (
    BooksParameters,
    CalibrationParameters,
    ShelvedDocument,
    books_parameters,
    brought_file,
    chosen,
    demo_books_request,
    load_books,
    load_calibration,
    load_read_books,
    load_used_calibration,
    report_files,
)
from auditlib.jobs.plain import to_plain
from auditlib.models.local import LocalModel
from auditlib.models.opening import load_model
from auditlib.reports.archive import pack, unpack, verify
from auditlib.store import Artifacts, Calibrations, RunState, Workspace
from tests.jobs.conftest import NOW, VOCABULARY, Place
from tests.jobs.test_executing import Here, execute

WORDS = 20
CUTTING = Cutting("sample", 3, WORDS)


def book(number: int, label: Label = Label.UNKNOWN, words: int = 70) -> Document:
    text = " ".join(random.Random(number).choices([*VOCABULARY, *(f"w{i}" for i in range(300))], k=words))
    title = f"Book {number}"
    return Document(
        sha256(text.encode()).hexdigest(), title, text, "text/plain", f"{number}.txt", label=label, group=title
    )


LABELS = {Shelf.MEMBERS: Label.MEMBER, Shelf.NON_MEMBERS: Label.NON_MEMBER, Shelf.AUDITED: Label.UNKNOWN}


def shelved(members: int = 6, others: int = 6, audited: int = 3) -> list[tuple[Shelf, Document]]:
    shelves = [Shelf.MEMBERS] * members + [Shelf.NON_MEMBERS] * others + [Shelf.AUDITED] * audited
    return [(shelf, book(number, LABELS[shelf])) for number, shelf in enumerate(shelves)]


def parameters(place: Place, made: list[tuple[Shelf, Document]]) -> BooksParameters:
    Workspace(place.store).add("books.txt", made[0][1].text.encode(), [document for _, document in made])
    documents = tuple(ShelvedDocument(document.id, shelf, document.group) for shelf, document in made)
    return BooksParameters(place.model, documents=documents, cutting=CUTTING)


@pytest.fixture
def model(place: Place) -> LocalModel:
    return load_model(place.model, place.settings)


def test_a_finished_run_shows_everything_without_model_or_texts(place: Place, model: LocalModel) -> None:
    made = shelved()
    run = place.client.start("books", "Shelf", parameters(place, made), "A. Auditor")
    assert execute(place, run.id, Here(model)) == "done"
    run = place.client.run(run.id)
    assert run.identities["target"] == model.identity.as_dict()
    text = Artifacts(place.store).read(run.id, "summary.json").decode()
    json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert not any(document.text[:30] in text for _, document in made)
    Workspace(place.store).delete([stored.key for stored in Workspace(place.store).documents()])
    summary = load_books(place.store, run)
    read = load_read_books(place.store, run, summary)
    again = audit_books(read, BookSettings())
    assert to_plain(again) == to_plain(summary.found)
    assert len(summary.found.judged.books) == 3
    assert judged_with(read, again, BookSettings(k=40.0)).settings.k == 40.0


def test_another_k_in_a_second_run_reads_nothing(place: Place, model: LocalModel) -> None:
    asked = parameters(place, shelved())
    first = place.client.start("books", "one", asked)
    execute(place, first.id, Here(model))
    second = place.client.start("books", "two", replace(asked, settings=BookSettings(k=33.0)))
    here = Here(model)
    assert execute(place, second.id, here) == "done"
    assert here.scored == []
    assert 33.0 in load_read_books(place.store, second, load_books(place.store, place.client.run(second.id))).numbers.ks


def test_files_that_were_brought_stand_by_their_label(place: Place, model: LocalModel) -> None:
    made = shelved()
    asked = BooksParameters(place.model, "brought", cutting=CUTTING)
    run = place.client.start("books", "brought", asked, files=brought_file([document for _, document in made]))
    assert execute(place, run.id, Here(model)) == "done"
    summary = load_books(place.store, place.client.run(run.id))
    assert [len(summary.placed.on(shelf)) for shelf in Shelf] == [6, 6, 3]
    assert summary.texts == "files"


def test_the_package_verifies_and_is_the_same_for_the_same_run(place: Place, model: LocalModel) -> None:
    run = place.client.start("books", "Shelf", parameters(place, shelved()))
    execute(place, run.id, Here(model))
    run = place.client.run(run.id)
    one = report_files(place.store, run, with_pdf=False)
    assert one.data == report_files(place.store, run, with_pdf=False).data
    file = place.home / "package.zip"
    file.write_bytes(one.data)
    assert verify(file) == []
    files = unpack(file)
    assert "texts.jsonl" not in files
    inputs = json.loads(files["inputs.json"])
    assert {one["label"] for one in inputs} == {"member", "non-member", "audited"}
    assert len(inputs) == 15 * 3
    assert pack({name: data for name, data in files.items() if name != "MANIFEST.sha256"}) == one.data
    with_texts = report_files(place.store, run, with_texts=True, with_pdf=False)
    assert len(with_texts.data) > len(one.data)


def test_a_saved_calibration_takes_the_place_of_a_shelf(place: Place, model: LocalModel) -> None:
    made = shelved()
    asked = parameters(place, made)
    known = [document for shelf, document in made if shelf is not Shelf.AUDITED]
    calibrate = CalibrationParameters(place.model, documents=chosen(known), cutting=CUTTING)
    first = place.client.start("calibration", "saved", calibrate)
    assert execute(place, first.id, Here(model)) == "done"
    saved = load_calibration(place.store, place.client.run(first.id), "min_k")
    Calibrations(place.store).save("Saved", json.loads(to_json(saved)), NOW)
    audited = tuple(one for one in asked.documents if one.shelf is Shelf.AUDITED)
    run = place.client.start("books", "by calibration", replace(asked, documents=audited, calibration="Saved"))
    assert execute(place, run.id, Here(model)) == "done"
    run = place.client.run(run.id)
    summary = load_books(place.store, run)
    assert summary.found.judged.n_works == 6
    assert summary.placed.blind is None
    assert load_used_calibration(place.store, run) == saved
    assert b"saved calibration" in report_files(place.store, run, with_pdf=False).html


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"calibration": "Not there"}, "no calibration called"),
        ({"cutting": Cutting("sample", 3, 5000)}, "No audited book has 5,000 words"),
    ],
)
def test_what_is_wrong_ends_the_run_with_a_sentence_before_a_model_is_loaded(
    place: Place, change: dict[str, object], problem: str
) -> None:
    class NoModel(Here):
        def open_model(self, request: object) -> LocalModel:
            raise AssertionError("the model was loaded")

    run = place.client.start("books", "wrong", replace(parameters(place, shelved()), **change))  # type: ignore[arg-type]
    assert execute(place, run.id, NoModel(None)) == "failed"  # type: ignore[arg-type]
    ended = place.client.run(run.id)
    assert ended.state is RunState.FAILED
    assert problem in str(ended.problem)


def test_a_book_that_was_deleted_ends_the_run_with_a_sentence(place: Place, model: LocalModel) -> None:
    asked = parameters(place, shelved())
    run = place.client.start("books", "gone", asked)
    Workspace(place.store).delete([Workspace(place.store).documents()[0].key])
    assert execute(place, run.id, Here(model)) == "failed"
    assert "can no longer be found" in str(place.client.run(run.id).problem)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"settings": {"score": "magic"}}, "There is no score"),
        ({"settings": {"k": -1.0}}, "percentage"),
        ({"cutting": {"method": "shred"}}, "no way to cut"),
        ({"cutting": {"words": 0}}, "at least one snippet"),
        ({"documents": []}, "No document stands on the shelf"),
        ({"texts": "elsewhere"}, "make no sense"),
        ({"nonsense": 1}, "make no sense"),
    ],
)
def test_parameters_that_make_no_sense_are_refused_before_they_are_queued(
    place: Place, change: dict[str, object], said: str
) -> None:
    plain = to_plain(parameters(place, shelved()))
    for name, value in change.items():
        plain[name] = plain[name] | value if isinstance(value, dict) else value
    with pytest.raises(AuditError, match=said):
        books_parameters(plain)


def test_the_demo_request_is_one_that_can_be_queued() -> None:
    asked = demo_books_request()
    assert books_parameters(to_plain(asked)) == asked


def test_numbers_of_a_run_are_those_of_its_snippets(place: Place, model: LocalModel) -> None:
    run = place.client.start("books", "Shelf", parameters(place, shelved()))
    execute(place, run.id, Here(model))
    run = place.client.run(run.id)
    summary = load_books(place.store, run)
    read = load_read_books(place.store, run, summary)
    text_of = {document.id: document.text.split() for _, document in shelved()}
    for place_of in (0, 20, 44):
        work = read.placed.works[read.placed.work_of[place_of]]
        first = read.placed.first_word[place_of]
        text = " ".join(text_of[work.documents[0]][first : first + WORDS])
        (_, stats), *_ = model.token_stats([text])
        assert read.numbers.scores("loss")[place_of] == pytest.approx(float(np.mean(stats.logprob)), abs=1e-4)
        assert summary.snippets_sha256[place_of] == sha256(text.encode()).hexdigest()
