"""`runs`: what a shell can do with runs, and what it says where it cannot."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from auditlib.audits.saved_calibration import from_json
from auditlib.cli import app
from auditlib.models.request import ModelRequest
from auditlib.reports.archive import unpack, verify
from auditlib.store import Run, RunProgress, Runs, RunState
from tests.jobs.conftest import NOW, Place, documents, tiny_model  # noqa: F401  a fixture
from tests.jobs.finished import finished_run

Shell = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny_model: ModelRequest) -> Iterator[Place]:  # noqa: F811
    place = Place(tmp_path_factory.mktemp("runs") / "home", tiny_model)
    yield place
    place.close()


@pytest.fixture(scope="module")
def done(place: Place) -> Run:
    return finished_run(place, documents(24))


@pytest.fixture
def queued(place: Place) -> Run:
    return place.client.start("calibration", "[bold]waiting", place.bring(documents(4, seed=2)))


@pytest.fixture
def shell(place: Place) -> Shell:
    def call(*arguments: object) -> tuple[int, str, str]:
        runner = CliRunner(env={"COLUMNS": "200", "AUDIT_HOME": str(place.home), "AUDIT_BROWSER": "/no/browser"})
        result = runner.invoke(app, ["runs", *map(str, arguments)])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.stdout, " ".join(result.stderr.split())

    return call


def test_runs_alone_lists_them_newest_first(shell: Shell, done: Run, queued: Run) -> None:
    code, out, _ = shell()
    assert code == 0
    assert out == shell("list")[1]
    assert "[bold]waiting" in out
    assert out.index(queued.id[:8]) < out.index(done.id[:8])


def test_an_id_may_be_shortened_as_long_as_it_names_one_run(shell: Shell, place: Place, queued: Run) -> None:
    code, _, err = shell("cancel", "no such id")
    assert code == 2
    assert "There is no run whose id begins with" in err
    code, _, err = shell("cancel", "")
    assert code == 2
    while len({run.id[0] for run in place.client.runs()}) == len(place.client.runs()):
        place.client.duplicate(queued.id, {}, "another")
    first = next(run.id[0] for run in place.client.runs() if sum(o.id[0] == run.id[0] for o in place.client.runs()) > 1)
    code, _, err = shell("cancel", first)
    assert code == 2
    assert "Give more letters" in err
    assert shell("cancel", queued.id[:12].upper())[0] == 0
    assert place.client.run(queued.id).state is RunState.CANCELLED


def test_a_run_is_cancelled_resumed_and_deleted(shell: Shell, place: Place, queued: Run) -> None:
    code, _, err = shell("delete", queued.id)
    assert code == 2
    assert "Cancel it first" in err
    code, _, err = shell("resume", queued.id)
    assert code == 2
    assert "nothing to resume" in err
    assert shell("cancel", queued.id)[0] == 0
    code, _, err = shell("cancel", queued.id)
    assert code == 2
    assert "ended already: it is cancelled" in err
    code, _, err = shell("resume", queued.id)
    assert code == 0
    assert "python -m auditlib worker" in err, "no worker is there, and that is said"
    assert place.client.run(queued.id).state is RunState.QUEUED
    assert shell("cancel", queued.id)[0] == 0
    assert shell("delete", queued.id)[0] == 0
    assert queued.id not in [run.id for run in place.client.runs()]


def test_watching_ends_with_the_run_and_says_how_by_its_exit_code(shell: Shell, place: Place, done: Run) -> None:
    runs = Runs(place.store)
    assert shell("watch", done.id[:10]) == (0, "Done after 1 s.\n", f"North (calibration, {done.id[:8]})")
    for state, code in ((RunState.FAILED, 1), (RunState.CANCELLED, 3)):
        run = runs.add("calibration", "ended", {}, 0, "", NOW)
        runs.start(run.id, NOW)
        runs.end(run.id, state, NOW + timedelta(minutes=30), problem="The model is gone. Bring it back.")
        found, out, err = shell("watch", run.id)
        assert found == code
        assert out == f"{state.value.capitalize()} after 30 min.\n"
        assert "Bring it back." in err


def test_watching_follows_a_run_through_its_stages(shell: Shell, place: Place) -> None:
    runs = Runs(place.store)
    run = runs.add("calibration", "at work", {}, 0, "", NOW)

    def work() -> None:
        time.sleep(1)
        runs.start(run.id, NOW)
        for stage in ("loading the model", "reading"):
            runs.report(run.id, RunProgress(stage, 10, 40, 5.0, 6.0))
            time.sleep(1.2)
        runs.end(run.id, RunState.DONE, NOW + timedelta(seconds=7))

    thread = threading.Thread(target=work)
    thread.start()
    code, out, err = shell("watch", run.id)
    thread.join()
    assert code == 0
    assert out == "Done after 7 s.\n"
    stages = ["waiting for its turn", "No worker is running", "loading the model", "reading"]
    assert [err.index(stage) for stage in stages] == sorted(err.index(stage) for stage in stages)


def test_the_time_left_is_the_runs_own_and_none_before_it_knows() -> None:
    from auditlib.cli.runs import _about

    assert _about(RunProgress("reading", 1200, 4000)) == "1,200 of 4,000 tokens"
    known = RunProgress("reading", 1200, 4000, 310.4, 540.0)
    assert _about(known) == "1,200 of 4,000 tokens, 310 a second, about 9 min left in this stage"
    assert _about(RunProgress("computing", 3, 3, 1.0, 0.0)) == "3 of 3, 1 a second"


def test_report_writes_html_and_a_package_that_verifies(shell: Shell, done: Run, tmp_path: Path) -> None:
    out = tmp_path / "new folder" / "report"
    code, said, err = shell("report", done.id, "--out", out)
    assert code == 0
    assert "There is no PDF" in err
    assert {file.name for file in out.iterdir()} == {"report.html", "evidence.zip"}
    assert verify(out / "evidence.zip") == []
    assert unpack(out / "evidence.zip")["report.html"] == (out / "report.html").read_bytes()
    assert "fingerprint" in said
    assert "texts.jsonl" not in unpack(out / "evidence.zip")
    assert shell("report", done.id, "--out", out, "--with-texts")[0] == 0
    assert "texts.jsonl" in unpack(out / "evidence.zip")


def test_report_says_what_it_cannot(shell: Shell, done: Run, queued: Run, tmp_path: Path) -> None:
    code, _, err = shell("report", queued.id, "--out", tmp_path / "x")
    assert code == 2
    assert "is queued, so there is nothing to report" in err
    (tmp_path / "file").write_text("")
    code, _, err = shell("report", done.id, "--out", tmp_path / "file")
    assert code == 2
    assert "cannot be written into" in err


def test_export_writes_what_the_run_made_and_none_of_its_texts(
    shell: Shell, done: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shell("export", done.id)[0] == 0
    files = {file.name: file.read_bytes() for file in (tmp_path / f"calibration-{done.id[:8]}").iterdir()}
    assert {"summary.json", "scores.parquet", "calibration-min_k.json"} <= set(files)
    assert from_json(files["calibration-min_k.json"]).name == "North"
    assert not any(document.text.encode() in data for document in documents(24) for data in files.values())
