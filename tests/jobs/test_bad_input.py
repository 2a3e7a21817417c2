"""What goes wrong around a run: it ends with a sentence or waits, and once that is mended gives the same result."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import event, select, text
from typer.testing import CliRunner

from auditlib.cli import app
from auditlib.jobs.executing import execute_run
from auditlib.models.opening import load_model
from auditlib.models.request import ModelRequest
from auditlib.store import UNFINISHED, Run, RunState, Store, Workspace
from auditlib.store.tables import TokenStatsRow
from tests.jobs.conftest import Place, documents
from tests.jobs.finished import finished_run
from tests.jobs.test_executing import Here
from tests.store.conftest import small_disk  # noqa: F401  a fixture

MADE = documents(40)
TIMELESS = ("summary.json", "scores.parquet", "examined.json")


def execute(place: Place, run: Run) -> str:
    here = Here(load_model(place.model, place.settings))
    return execute_run(place.store, place.settings, "default", run.id, here)


def timeless(place: Place, run: Run) -> dict[str, str]:
    return {name: digest for name, digest in place.results(run.id).items() if name in TIMELESS}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, tiny_model: ModelRequest) -> Iterator[dict[str, str]]:
    """The files of the same run where nothing went wrong."""
    place = Place(tmp_path_factory.mktemp("undisturbed") / "home", tiny_model)
    yield timeless(place, finished_run(place, MADE))
    place.close()


def test_a_disk_that_fills_up_while_a_run_reads_ends_it_with_a_sentence_and_it_goes_on_with_room(
    small_disk: Path,  # noqa: F811
    tiny_model: ModelRequest,
    expected: dict[str, str],
) -> None:
    place = Place(small_disk / "home", tiny_model)
    run = place.client.start("calibration", "North", place.bring(MADE))

    class Filling(Here):
        def step(self, name: str, work: Callable[[], int]) -> int:
            if len(self.scored) == 5:
                _fill(small_disk / "filler")
            return super().step(name, work)

    filling = Filling(load_model(place.model, place.settings))
    ended = execute_run(place.store, place.settings, "default", run.id, filling)
    assert len(filling.scored) >= 5
    found = place.client.run(run.id)
    # Where there is no room to write even that it failed, it is still to be executed, and the worker tries it again.
    assert (ended, found.state) in (("failed", RunState.FAILED), ("unmarked", RunState.RUNNING))
    if ended == "failed":
        assert found.problem is not None
        assert "room" in found.problem
    (small_disk / "filler").unlink()
    if ended == "failed":
        assert place.client.resume(run.id)
    assert execute(place, run) == "done"
    assert timeless(place, run) == expected
    place.close()


def test_a_run_in_a_database_that_may_not_grow_goes_on_once_it_may(
    place: Place, expected: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    """The same where nobody may mount a disk: SQLite itself refuses to grow, and that the run failed is not written."""
    run = place.client.start("calibration", "North", place.bring(MADE))
    engine = place.store._engine
    with place.store.reading() as session:
        pages = session.scalar(text("PRAGMA page_count"))
    place.store.close()

    def refuse(connection: object, _record: object) -> None:
        connection.execute(f"PRAGMA max_page_count={pages + 4}")  # type: ignore[attr-defined]

    event.listen(engine, "connect", refuse)
    assert execute(place, run) == "unmarked"
    assert "has no room left" in caplog.text
    event.remove(engine, "connect", refuse)
    place.store.close()
    assert place.client.run(run.id).state in UNFINISHED
    assert execute(place, run) == "done"
    assert timeless(place, run) == expected


@contextmanager
def locked(place: Place) -> Iterator[None]:
    """Another process holds the place's database for itself."""
    if place.database_url is None:
        program = (
            "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('BEGIN IMMEDIATE');"
            "print('held', flush=True); sys.stdin.readline()"
        )
        target = str(place.home / "audit.db")
    else:
        program = (
            "import psycopg, sys; c = psycopg.connect(sys.argv[1]); c.execute('LOCK TABLE runs IN EXCLUSIVE MODE');"
            "print('held', flush=True); sys.stdin.readline()"
        )
        target = place.database_url
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program, target], text=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield
        finally:
            process.stdin.write("\n")
            process.stdin.close()
            process.wait(30)


def test_a_run_under_a_locked_database_is_still_to_be_done_and_then_is(
    places: Callable[..., Place],
    database: Callable[[], str | None],
    expected: dict[str, str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    place = places("locked", database())
    run = place.client.start("calibration", "North", place.bring(MADE))
    impatient = Store(place.home, place.database_url, busy_seconds=0.3)
    with locked(place):
        here = Here(load_model(place.model, place.settings))
        assert execute_run(impatient, place.settings, "default", run.id, here) == "unmarked"
    assert "is locked by another program" in caplog.text
    impatient.close()
    assert place.client.run(run.id).state in (RunState.QUEUED, RunState.RUNNING)
    assert execute(place, run) == "done"
    assert timeless(place, run) == expected


def test_a_worker_waits_for_whoever_holds_the_database(working: Place) -> None:
    run = working.client.start("calibration", "North", working.bring(documents(60, seed=8)))
    working.wait_for(lambda: len(working.batches_read()) >= 2, every=0.01)
    with locked(working):
        time.sleep(2)
        assert working.client.worker_state().is_there
        assert working.client.run(run.id).state is RunState.RUNNING
    assert working.finished(run.id).state is RunState.DONE
    read = working.batches_read()
    assert len(read) == len(set(read))


def test_a_database_of_a_newer_version_is_refused_by_worker_and_shell(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = place.client.start("calibration", "North", place.bring(MADE))
    with place.store.writing() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    process = place.worker()
    process.wait()
    assert process.returncode == 2
    said = " ".join(process.said.split())
    assert "made by a newer version" in said
    assert "Traceback" not in said
    monkeypatch.setenv("AUDIT_HOME", str(place.home))
    for command in (["runs"], ["runs", "watch", run.id], ["runs", "cancel", run.id]):
        result = CliRunner(env={"COLUMNS": "300"}).invoke(app, command)
        assert result.exit_code == 2
        assert "made by a newer version" in result.stderr


def test_a_document_that_was_deleted_is_said_and_can_be_brought_again(place: Place, expected: dict[str, str]) -> None:
    run = place.client.start("calibration", "North", place.bring(MADE))
    workspace = Workspace(place.store)
    workspace.delete([workspace.documents()[7].key])
    assert execute(place, run) == "failed"
    problem = place.client.run(run.id).problem
    assert problem is not None
    assert "A document of this run can no longer be found" in problem
    assert problem.count(".") >= 2
    workspace.add("again.txt", b"again", [MADE[7]])
    assert place.client.resume(run.id)
    assert execute(place, run) == "done"
    assert timeless(place, run) == expected


def test_a_damaged_row_of_the_cache_is_read_again_told_and_changes_nothing(
    places: Callable[..., Place], database: Callable[[], str | None], expected: dict[str, str]
) -> None:
    place = places("damaged", database())
    finished_run(place, MADE)
    with place.store.writing() as session:
        for row in session.scalars(select(TokenStatsRow).limit(3)).all():
            row.payload = bytes(len(row.payload))
    run = finished_run(place, MADE, "again")
    assert place.client.notes(run.id) == ["3 kept readings were damaged on the disk, so these texts were read again."]
    again = finished_run(place, MADE, "a third time")
    assert place.client.notes(again.id) == []


def test_two_processes_that_execute_one_run_at_once_end_with_one_result(place: Place, expected: dict[str, str]) -> None:
    """What the worker's lock prevents: should it fail, as over a network's file system, nothing is broken."""
    run = place.client.start("calibration", "North", place.bring(MADE))
    other = place.worker()
    place.wait_for(lambda: len(place.batches_read()) >= 2, every=0.01)
    # Whoever is the second to end finds that the run is no longer at work, as if it had been cancelled.
    assert execute(place, run) in ("done", "ended before", "cancelled")
    assert place.finished(run.id).state is RunState.DONE
    assert timeless(place, run) == expected
    place.end(other)


def _fill(file: Path) -> None:
    """Leaves no byte free on the disk of `file`."""
    with file.open("wb", buffering=0) as stream:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    stream.write(b"x" * size)
            except OSError:
                continue
