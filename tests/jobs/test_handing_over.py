"""A finished run as report and evidence package: out of its own files alone, and the same whenever it is asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from lxml import html as parser

from auditlib.core import AuditError, Capability
from auditlib.documents.cutting import Cutting
from auditlib.jobs import evidence_file_name, report_files
from auditlib.jobs.executing import execute_run
from auditlib.models.local import LocalModel
from auditlib.models.opening import load_model
from auditlib.models.request import ModelRequest
from auditlib.reports.archive import unpack, verify
from auditlib.store import Run, TokenCache, Workspace
from tests.jobs.conftest import NOW, Place, documents
from tests.jobs.finished import finished_run, written
from tests.jobs.test_executing import Here

MADE = documents(40, words=60)
CLEANED = [replace(document, steps=("unicode", "hyphens")) for document in MADE]
CUT = Cutting("sample", count=1, words=40, seed=7)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny_model: ModelRequest) -> Iterator[Place]:
    place = Place(tmp_path_factory.mktemp("finished") / "home", tiny_model)
    yield place
    place.close()


@pytest.fixture(scope="module")
def run(place: Place) -> Run:
    return finished_run(place, CLEANED, cutting=CUT, score="zlib")


def words_of(html: bytes) -> str:
    tree = parser.document_fromstring(html)
    for script in tree.xpath("//script | //style"):
        script.drop_tree()
    return " ".join(tree.text_content().split())


def test_the_report_says_who_what_when_and_how_to_repeat_it(place: Place, run: Run) -> None:
    said = words_of(report_files(place.store, run, with_pdf=False).html)
    for what in (
        "North",
        "A. Auditor",
        "Zlib",
        f"{NOW.day} {NOW:%B %Y}",
        f"calibrate?run={run.id}",
        f"python -m auditlib rerun PACKAGE.zip --texts TEXTS --model {place.model.source}",
        "1 random piece of 40 words from each text, seed 7",
        "unicode, hyphens",
        "documents of the workspace",
    ):
        assert what in said, what


def test_the_package_verifies_and_says_what_was_asked_for(place: Place, run: Run, tmp_path: Path) -> None:
    package = written(tmp_path / "p.zip", report_files(place.store, run, with_pdf=False).data)
    assert verify(package) == []
    files = unpack(package)
    parameters = json.loads(files["parameters.json"])
    assert parameters["run"] == run.id
    assert parameters["score"] == "zlib"
    assert parameters["preparation"] == {
        "texts": "documents",
        "cutting": {"method": "sample", "count": 1, "words": 40, "seed": 7},
        "steps": [["unicode", "hyphens"]],
        "drop_shared": True,
    }
    assert json.loads(files["run.json"])["made"] == NOW.isoformat()
    assert "texts.jsonl" not in files
    assert not any(document.text[:60].encode() in data for document in MADE for data in files.values())


def test_the_same_run_gives_the_same_bytes(place: Place, run: Run) -> None:
    assert report_files(place.store, run, with_pdf=False).data == report_files(place.store, run, with_pdf=False).data


def test_texts_go_in_only_where_ticked(place: Place, run: Run, tmp_path: Path) -> None:
    files = unpack(written(tmp_path / "p.zip", report_files(place.store, run, True, with_pdf=False).data))
    texts = {json.loads(line)["text"] for line in files["texts.jsonl"].splitlines()}
    assert len(texts) == len(MADE)
    assert all(any(text in document.text for document in MADE) for text in texts)


def test_where_nothing_can_print_the_package_goes_without_pdf_and_says_why(
    place: Place, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUDIT_BROWSER", "/no/such/browser")
    made = report_files(place.store, run)
    assert made.pdf is None
    assert "/no/such/browser" in made.without_pdf


def test_a_score_that_these_texts_cannot_have_gives_way_to_one_that_they_can(place: Place, tmp_path: Path) -> None:
    class WithoutRank(Here):
        def open_model(self, request: ModelRequest) -> LocalModel:
            model = super().open_model(request)
            model.capabilities = frozenset({Capability.TOKEN_LOGPROBS})  # as most endpoints have
            return model

    parameters = replace(place.bring(MADE), score="min_k_plus_plus")
    started = place.client.start("calibration", "of an endpoint", parameters)
    here = WithoutRank(load_model(place.model, place.settings))
    assert execute_run(place.store, place.settings, "default", started.id, here) == "done"
    done = place.client.run(started.id)
    files = unpack(written(tmp_path / "p.zip", report_files(place.store, done, with_pdf=False).data))
    said = json.loads(files["parameters.json"])
    assert "min_k_plus_plus" not in said["scores"]
    assert said["score"] == said["scores"][0]


def test_what_is_not_done_has_no_report(place: Place) -> None:
    queued = place.client.start("calibration", "later", place.bring(MADE))
    with pytest.raises(AuditError, match="is queued, so there is nothing to report"):
        report_files(place.store, queued)


def test_the_name_on_disk_holds_nothing_that_people_typed(run: Run) -> None:
    assert evidence_file_name(replace(run, name="../../x")) == f"calibration-{run.id[:8]}-evidence.zip"


def test_documents_and_cache_may_be_gone(tmp_path: Path, tiny_model: ModelRequest) -> None:
    place = Place(tmp_path / "home", tiny_model)
    done = finished_run(place, documents(24))
    before = report_files(place.store, done, with_pdf=False).data
    workspace = Workspace(place.store)
    workspace.delete([document.key for document in workspace.documents()])
    TokenCache(place.store, 10**9).clear()
    assert report_files(place.store, done, with_pdf=False).data == before
    with pytest.raises(AuditError, match="can no longer be found"):
        report_files(place.store, done, with_texts=True, with_pdf=False)
    place.close()
