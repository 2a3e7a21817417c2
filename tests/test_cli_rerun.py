"""`rerun`: numbers that come out again are told from those that do not, and a stranger's package does no harm."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from typer.testing import CliRunner

from auditlib.audits.calibration import calibrate, examine_words
from auditlib.audits.companions import CompanionSettings
from auditlib.audits.demo import PLANTED
from auditlib.audits.sets import LabelledSets, ReadSets, read_sets
from auditlib.cli import app
from auditlib.cli.rerun import _own_adapter
from auditlib.core import Document, Progress, TargetModel
from auditlib.documents import read_file
from auditlib.documents.cutting import Cutting
from auditlib.jobs import load_read_sets, report_files
from auditlib.models.adapters import find_adapter
from auditlib.models.opening import load_model
from auditlib.models.request import ModelRequest
from auditlib.reports.archive import MANIFEST, pack, unpack
from auditlib.reports.calibration_facts import facts_of
from auditlib.reports.calibration_package import calibration_evidence
from auditlib.reports.package import make_package
from auditlib.store import Run
from tests.jobs.conftest import NOW, Place, documents, tiny_model  # noqa: F401  a fixture
from tests.jobs.finished import finished_run, written
from tests.tiny import llama_config, save_folder

MADE = documents(24, words=60)
Rerun = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny_model: ModelRequest) -> Iterator[Place]:  # noqa: F811
    place = Place(tmp_path_factory.mktemp("rerun") / "home", tiny_model)
    yield place
    place.close()


@pytest.fixture(scope="module")
def run(place: Place) -> Run:
    return finished_run(place, MADE, cutting=Cutting("sample", count=1, words=40, seed=3), k=30.0)


@pytest.fixture(scope="module")
def package(place: Place, run: Run) -> bytes:
    return report_files(place.store, run, with_pdf=False).data


@pytest.fixture
def rerun(place: Place, tmp_path: Path) -> Rerun:
    """Reruns a package, by default in an empty data folder and with the run's own model."""

    def call(data: bytes, *options: object, home: Path | None = None, model: bool = True) -> tuple[int, str, str]:
        file = written(tmp_path / "package.zip", data)
        with_model = ["--model", place.model.source] if model else []
        result = CliRunner(env={"COLUMNS": "300", "AUDIT_HOME": str(home or tmp_path / "empty")}).invoke(
            app, ["rerun", str(file), *with_model, *map(str, options)]
        )
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.stdout, " ".join(result.stderr.split())

    return call


def changed(package: bytes, tmp_path: Path, name: str, change: Callable[[Any], Any]) -> bytes:
    """A package that somebody made anew, so that it verifies, with one of its files changed."""
    files = unpack(written(tmp_path / "to change.zip", package))
    del files[MANIFEST]
    files[name] = json.dumps(change(json.loads(files[name]))).encode()
    return pack(files)


def test_a_run_comes_out_again_with_the_documents_of_the_workspace(rerun: Rerun, package: bytes, place: Place) -> None:
    code, out, err = rerun(package, "--json", home=place.home)
    assert code == 0, err
    found = json.loads(out)
    assert found["agrees"]
    names = {one["name"] for one in found["numbers"]}
    assert {"words_alone.auc", "min_k.auc", "zlib.threshold", "lowercase.mean", "loss.p_corrected"} <= names
    assert len(names) == 43
    assert {one["agreement"] for one in found["numbers"]} <= {"exactly", "within 0.0001"}
    assert any(one["packaged"] not in (None, 0, 1) for one in found["numbers"])


def test_texts_that_the_package_carries_are_enough(rerun: Rerun, place: Place, run: Run) -> None:
    code, out, err = rerun(report_files(place.store, run, with_texts=True, with_pdf=False).data)
    assert code == 0, err
    assert "All 43 numbers come out again on 24 texts" in out
    assert "in the package" in err


def test_texts_are_found_by_their_hash_in_what_is_brought_and_missing_ones_are_named(
    rerun: Rerun, package: bytes, tmp_path: Path
) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for number, document in enumerate(MADE[:-1]):
        (folder / f"any name {number}.txt").write_text(document.text, encoding="utf-8")
    code, _, err = rerun(package)
    assert code == 2
    assert "24 of the 24 examined texts cannot be found" in err
    code, _, err = rerun(package, "--texts", folder)
    assert code == 2
    assert "1 of the 24 examined texts cannot be found among those that were brought" in err
    assert f"“{MADE[-1].title}”" in err
    assert MADE[-1].id[:16] in err
    last = written(tmp_path / "the last.txt", (MADE[-1].text + "!").encode())
    assert rerun(package, "--texts", folder, "--texts", last)[0] == 2, "a letter more is another text"
    last.write_text(MADE[-1].text, encoding="utf-8")
    code, out, err = rerun(package, "--texts", folder, "--texts", last)
    assert code == 0, err
    assert "numbers come out again" in out


def test_scores_that_needed_another_model_are_not_repeated_and_that_is_said(rerun: Rerun, place: Place) -> None:
    besides = CompanionSettings(reference=place.model, shots=1)
    run = finished_run(place, documents(48), "Besides", companions=besides)
    code, out, err = rerun(report_files(place.store, run, with_texts=True, with_pdf=False).data)
    assert code == 0, out + err
    assert "Not repeated: ReCaLL, Con-ReCall, Reference" in " ".join(err.split())
    assert "All 43 numbers come out again" in out


def test_texts_are_cleaned_as_they_were_for_the_run(rerun: Rerun, place: Place, tmp_path: Path) -> None:
    made: list[Document] = []
    folder = tmp_path / "raw"
    folder.mkdir()
    for number, document in enumerate(documents(12, seed=5)):
        raw = written(folder / f"{number}.txt", f"{document.text} cof-\nfee  and\ttea".encode())
        (read,) = read_file(raw.name, raw, without=("white_space",))
        made.append(replace(read, label=document.label, group=document.group))
    assert all("coffee" in document.text for document in made)
    done = finished_run(place, made)
    data = report_files(place.store, done, with_pdf=False).data
    code, _, err = rerun(data, "--texts", folder)
    assert code == 0, err


def test_a_package_of_the_page_or_without_its_preparation_comes_out_again(rerun: Rerun, place: Place, run: Run) -> None:
    read = load_read_sets(place.store, run, place.settings.cache_bytes)
    assert read is not None
    found = calibrate(read, examine_words(read.sets), 45.0, 0.1, 0.2)
    facts = facts_of(read, found, "loss", name="of a page", made=NOW)
    data = make_package(calibration_evidence(facts, read), with_pdf=False).data
    code, _, err = rerun(data, home=place.home)
    assert code == 0, err


def test_a_package_of_the_command_line_comes_out_again(rerun: Rerun, place: Place, tmp_path: Path) -> None:
    for label, own in (("members", MADE[::2]), ("others", MADE[1::2])):
        rows = [json.dumps({"text": document.text, "group": document.group}) + "\n" for document in own]
        (tmp_path / f"{label}.jsonl").write_text("".join(rows), encoding="utf-8")
    sets = ["--members", tmp_path / "members.jsonl", "--non-members", tmp_path / "others.jsonl"]
    target = tmp_path / "made.zip"
    options = ["--model", place.model.source, "--cut", "truncate", "--words", "30", "--package", target]
    runner = CliRunner(env={"COLUMNS": "300", "AUDIT_BROWSER": "/no/browser", "AUDIT_HOME": str(tmp_path / "empty")})
    result = runner.invoke(app, ["calibrate", *map(str, [*sets, *options])])
    assert result.exit_code == 0, result.output
    texts = ["--texts", tmp_path / "members.jsonl", "--texts", tmp_path / "others.jsonl"]
    code, _, err = rerun(target.read_bytes(), *texts)
    assert code == 0, err


def test_the_readings_are_made_anew(
    rerun: Rerun, package: bytes, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nudged(model: TargetModel, sets: LabelledSets, progress: Progress | None = None) -> ReadSets:
        read = read_sets(model, sets, progress)
        for reading in read.readings:
            reading.stats.logprob[:] -= 0.01
        return read

    monkeypatch.setattr("auditlib.cli.rerun.read_sets", nudged)
    code, out, _ = rerun(package, home=place.home)
    assert code == 1
    assert "loss.mean" in out


def test_numbers_that_differ_are_shown_and_end_with_1(
    rerun: Rerun, package: bytes, place: Place, tmp_path: Path
) -> None:
    def by(step: float) -> bytes:
        def change(said: dict[str, Any]) -> dict[str, Any]:
            said["numbers"]["min_k.auc"] += step
            return said

        return changed(package, tmp_path, "run.json", change)

    code, out, err = rerun(by(0.00005), "--json", home=place.home)
    assert code == 0, err
    close = {one["name"]: one["agreement"] for one in json.loads(out)["numbers"]}
    assert close["min_k.auc"] == "within 0.0001"
    code, out, _ = rerun(by(0.0002), home=place.home)
    assert code == 1
    assert "1 of 43 numbers differ" in out
    assert "min_k.auc" in out
    assert "loss.auc" not in out


def test_a_number_that_the_package_leaves_out_does_not_agree(
    rerun: Rerun, package: bytes, place: Place, tmp_path: Path
) -> None:
    def without(said: dict[str, Any]) -> dict[str, Any]:
        del said["numbers"]["min_k.auc"]
        return said

    code, out, _ = rerun(changed(package, tmp_path, "run.json", without), home=place.home)
    assert code == 1
    assert "min_k.auc" in out


def test_a_model_that_a_stranger_names_is_not_opened_unasked(rerun: Rerun, package: bytes, place: Place) -> None:
    code, _, err = rerun(package, home=place.home, model=False)
    assert code == 2
    assert place.model.source[-30:] in err
    assert "--yes" in err
    code, _, err = rerun(package, "--yes", home=place.home, model=False)
    assert code == 0, err
    assert "The package names the model" in err


def test_another_model_is_refused_with_both_side_by_side(
    rerun: Rerun, package: bytes, place: Place, tmp_path: Path
) -> None:
    other = save_folder(tmp_path / "other", llama_config(context=128))
    code, out, err = rerun(package, "--model", other, home=place.home, model=False)
    assert code == 2
    assert "another model: they differ in config sha256" in err
    identities = [
        load_model(ModelRequest(source), place.settings).identity for source in (place.model.source, str(other))
    ]
    for identity in identities:
        assert identity.config_sha256 in err
    assert out == ""


def test_an_adapter_that_is_not_named_is_asked_for(rerun: Rerun, package: bytes, place: Place, tmp_path: Path) -> None:
    def adapted(said: dict[str, Any]) -> dict[str, Any]:
        said["identities"]["target"]["adapter"] = "f" * 64
        return said

    code, _, err = rerun(changed(package, tmp_path, "run.json", adapted), home=place.home)
    assert code == 2
    assert "--adapter" in err


def test_the_programs_own_adapter_is_known_by_its_hash() -> None:
    assert _own_adapter(find_adapter(PLANTED).sha256) == str(PLANTED)


def test_a_run_on_the_demonstration_needs_nothing_brought(rerun: Rerun, place: Place) -> None:
    done = finished_run(place, MADE, texts="demo", documents=(), cutting=Cutting("truncate", words=20))
    code, out, err = rerun(report_files(place.store, done, with_pdf=False).data)
    assert code == 0, err
    assert "numbers come out again on 80 texts" in out
    assert "the demonstration" in err


def test_one_changed_byte_anywhere_is_refused(rerun: Rerun, package: bytes, place: Place) -> None:
    for at in range(5, len(package), len(package) // 12):
        altered = bytearray(package)
        altered[at] ^= 0x01
        code, out, err = rerun(bytes(altered), home=place.home)
        assert code == 2, at
        assert out == ""
        assert "Stopped:" in err


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_package_is_refused(rerun: Rerun, package: bytes, share: float) -> None:
    code, _, err = rerun(package[: int(len(package) * share)])
    assert code == 2
    assert "Stopped:" in err


def test_a_package_of_a_newer_program_or_another_kind_is_refused(rerun: Rerun, package: bytes, tmp_path: Path) -> None:
    newer = changed(package, tmp_path, "run.json", lambda said: said | {"format": 99})
    code, _, err = rerun(newer)
    assert code == 2
    assert "newer version" in err
    kind = changed(package, tmp_path, "run.json", lambda said: said | {"kind": "books"})
    code, _, err = rerun(kind)
    assert code == 2
    assert "another kind of run ('books')" in err


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("run.json", lambda said: [said], "does not say what was run"),
        ("run.json", lambda said: said | {"numbers": {}}, "it names no numbers"),
        ("run.json", lambda said: said | {"numbers": {"min_k.auc": "high"}}, "min_k.auc"),
        ("run.json", lambda said: said | {"identities": {}}, "target"),
        ("parameters.json", lambda said: said | {"k": 0}, "k is a percentage"),
        ("parameters.json", lambda said: said | {"k": 1e999}, "k"),
        ("parameters.json", lambda said: said | {"alpha": 7}, "Alpha is a share"),
        ("parameters.json", lambda said: said | {"rule": "luck"}, "luck"),
        ("parameters.json", lambda said: said | {"seed": -1}, "seed"),
        ("parameters.json", lambda said: said | {"scores": ["of another day"]}, "scores"),
        ("parameters.json", lambda said: said | {"members_sha256": "0" * 64}, "members are not those"),
        ("parameters.json", lambda said: [], "calibration's package"),
        ("inputs.json", lambda said: [], "it names no texts"),
        ("inputs.json", lambda said: [said[0] | {"n_words": 0}, *said[1:]], "cannot have been examined"),
        ("inputs.json", lambda said: [said[0] | {"label": "guilty"}, *said[1:]], "cannot have been examined"),
        ("inputs.json", lambda said: {"texts": 7}, "calibration's package"),
    ],
)
def test_a_package_that_makes_no_sense_is_refused_in_two_sentences(
    rerun: Rerun, package: bytes, tmp_path: Path, file: str, change: Callable[[Any], Any], said: str
) -> None:
    code, out, err = rerun(changed(package, tmp_path, file, change))
    assert code == 2
    assert said in err
    assert out == ""


def test_words_that_a_document_does_not_have_are_missing_and_no_error(
    rerun: Rerun, package: bytes, place: Place, tmp_path: Path
) -> None:
    far = changed(package, tmp_path, "inputs.json", lambda said: [said[0] | {"first_word": 10**12}, *said[1:]])
    code, _, err = rerun(far, home=place.home)
    assert code == 2
    assert "1 of the 24 examined texts cannot be found" in err


def test_a_zip_bomb_is_refused(rerun: Rerun, tmp_path: Path) -> None:
    file = tmp_path / "bomb.zip"
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        archive.writestr("run.json", b" " * (200 << 20))
        archive.writestr(MANIFEST, "")
    code, _, err = rerun(file.read_bytes())
    assert code == 2
    assert "zip bomb" in err


def test_a_promise_of_four_gigabytes_is_refused(rerun: Rerun, tmp_path: Path) -> None:
    data = zlib.compress(b" ", 9)
    file = tmp_path / "promise.zip"
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        archive.writestr("run.json", data)
    forged = bytearray(file.read_bytes())
    at = forged.rindex(b"PK\x01\x02")
    struct.pack_into("<I", forged, at + 24, 0xFFFFFFF0)
    assert rerun(bytes(forged))[0] == 2


@pytest.mark.parametrize("name", ["../run.json", "/etc/run.json", "a/run.json", "C:\\run.json", "..\\run.json", ".run"])
def test_names_that_lead_elsewhere_are_refused(rerun: Rerun, tmp_path: Path, name: str) -> None:
    file = tmp_path / "tricks.zip"
    with ZipFile(file, "w") as archive:
        archive.writestr(name, b"{}")
        archive.writestr(MANIFEST, "")
    code, _, err = rerun(file.read_bytes())
    assert code == 2
    assert "Stopped:" in err
    assert not (tmp_path.parent / "run.json").exists()


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.zip"):
        result = CliRunner().invoke(app, ["rerun", str(path)])
        assert result.exit_code == 2
        assert isinstance(result.exception, SystemExit)
