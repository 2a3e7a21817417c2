"""Runs, what they made, and calibrations: kept, listed, and each change allowed only where it makes sense."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest

from auditlib.core import AuditError
from auditlib.store import Artifacts, Calibrations, Run, RunProgress, Runs, RunState, Store, run_lines
from tests.tiny import identity_of

NOW = datetime(2026, 11, 21, 12, 0, 0, 123456, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)


@pytest.fixture
def runs(store: Store) -> Runs:
    return Runs(store)


def add(runs: Runs, name: str = "first") -> Run:
    return runs.add("calibration", name, {"k": 20, "threshold": math.inf}, seed=7, who="Änne", now=NOW)


def test_new_run_is_queued_and_comes_back_as_it_was_made(runs: Runs) -> None:
    run = add(runs)
    assert runs.open(run.id) == run
    assert runs.all() == [run]
    assert (run.state, run.parameters, run.seed, run.who) == (
        RunState.QUEUED,
        {"k": 20, "threshold": math.inf},
        7,
        "Änne",
    )
    assert run.created == NOW
    assert run.seconds is None
    assert runs.inputs(run.id) == {}


def test_what_a_run_was_made_with_is_kept(runs: Runs) -> None:
    run = add(runs)
    inputs = {f"text {n}": "0" * 64 for n in range(1000)}
    runs.record(run.id, {"target": identity_of("tiny").as_dict()}, {"torch": "2.13.0"}, inputs)
    opened = runs.open(run.id)
    assert opened.identities["target"]["name"] == "tiny"
    assert opened.versions == {"torch": "2.13.0"}
    assert runs.inputs(run.id) == inputs


def test_run_goes_from_queued_over_running_to_done(runs: Runs) -> None:
    run = add(runs)
    assert runs.start(run.id, NOW)
    runs.report(run.id, RunProgress("scoring", 3, 10))
    assert runs.open(run.id).progress == RunProgress("scoring", 3, 10)
    assert runs.start(run.id, LATER)  # the worker was killed and takes it up again
    assert runs.end(run.id, RunState.DONE, LATER, result="result.json")
    done = runs.open(run.id)
    assert (done.state, done.started, done.finished, done.result) == (RunState.DONE, NOW, LATER, "result.json")
    assert done.seconds == 300


def test_cancelled_run_is_not_done_by_a_worker_that_comes_late(runs: Runs) -> None:
    run = add(runs)
    runs.start(run.id, NOW)
    assert runs.end(run.id, RunState.CANCELLED, NOW)
    assert not runs.end(run.id, RunState.DONE, LATER, result="result.json")
    assert not runs.start(run.id, LATER)
    assert runs.open(run.id).state is RunState.CANCELLED
    assert runs.queue_again(run.id)
    assert runs.start(run.id, LATER)


def test_failed_run_says_why_until_it_is_queued_again(runs: Runs) -> None:
    run = add(runs)
    runs.end(run.id, RunState.FAILED, NOW, problem="No room left.")
    assert runs.open(run.id).problem == "No room left."
    assert runs.queue_again(run.id)
    assert runs.open(run.id).problem is None
    assert not runs.queue_again(run.id)


def test_run_does_not_end_running(runs: Runs) -> None:
    with pytest.raises(ValueError, match="does not end"):
        runs.end(add(runs).id, RunState.RUNNING, NOW)


def test_clock_that_was_set_back_changes_neither_order_nor_makes_negative_time(runs: Runs) -> None:
    first = add(runs)
    second = runs.add("calibration", "second", {}, 0, "", NOW - timedelta(days=900))
    assert [run.id for run in runs.all()] == [second.id, first.id]
    runs.start(first.id, NOW)
    runs.end(first.id, RunState.DONE, NOW - timedelta(days=900))
    assert runs.open(first.id).seconds == 0


def test_time_of_another_zone_is_the_same_moment(runs: Runs) -> None:
    run = runs.add("calibration", "", {}, 0, "", NOW.astimezone(timezone(timedelta(hours=9))))
    assert runs.open(run.id).created == NOW
    assert runs.open(run.id).created.tzinfo is UTC


def test_rename(runs: Runs) -> None:
    run = add(runs)
    runs.rename(run.id, "other\0name")
    assert runs.open(run.id).name == "other\0name"


def test_workspaces_do_not_see_each_others_runs(store: Store) -> None:
    run = add(Runs(store))
    hers = Runs(store, "anna")
    assert hers.all() == []
    for forbidden in (hers.open, hers.inputs, hers.delete, hers.queue_again):
        with pytest.raises(AuditError, match="no longer there"):
            forbidden(run.id)


def test_run_that_is_not_there_is_said(runs: Runs) -> None:
    with pytest.raises(AuditError, match="no longer there"):
        runs.open("nothing")


@pytest.mark.parametrize("run_id", ["", "\0", "\ud800", "A" * 32, "0" * 33, "' OR 1=1 --"])
def test_id_that_can_be_none_is_said_to_be_none(runs: Runs, run_id: str) -> None:
    with pytest.raises(AuditError, match="no longer there"):
        runs.open(run_id)


def test_a_list_has_what_lists_show_and_nothing_of_what_is_large(runs: Runs, store: Store) -> None:
    first = runs.add("calibration", "first", {"model": {"source": "/m"}, "judge": {"source": "j"}}, 0, "Änne", NOW)
    second = runs.add("books", "second", {"k": 3}, 0, "", NOW)
    runs.start(second.id, NOW)
    runs.report(second.id, RunProgress("reading", 3, 10))
    tiny = identity_of("tiny").as_dict()
    runs.record(second.id, {"target": tiny, "reference": tiny | {"adapter": "a" * 64}}, {}, {})
    add(Runs(store, "anna"))
    two, one = run_lines(store)
    assert (one.id, one.kind, one.name, one.state, one.who) == (
        first.id,
        "calibration",
        "first",
        RunState.QUEUED,
        "Änne",
    )
    assert one.models == ("/m", "j")
    assert (two.id, two.models, two.progress) == (
        second.id,
        ("tiny", "tiny with an adapter"),
        RunProgress("reading", 3, 10),
    )
    assert one.seconds(LATER) is None
    assert two.seconds(LATER) == 300
    assert two.seconds(NOW - timedelta(days=1)) == 0
    assert not hasattr(one, "parameters")


def test_deleted_run_takes_its_files_with_it_and_no_others(runs: Runs, store: Store) -> None:
    artifacts = Artifacts(store)
    gone, stays = add(runs), add(runs)
    for run in (gone, stays):
        artifacts.put(run.id, "report.html", "text/html", b"<p>", NOW)
    assert not runs.delete(gone.id)  # it is still queued
    runs.end(gone.id, RunState.CANCELLED, NOW)
    assert runs.delete(gone.id)
    assert artifacts.of(gone.id) == []
    assert [f.name for f in (store.home / "runs").iterdir()] == [stays.id]
    assert artifacts.read(stays.id, "report.html") == b"<p>"
    with pytest.raises(AuditError, match="no longer there"):
        artifacts.put(gone.id, "report.html", "text/html", b"<p>", NOW)
    assert not (store.home / "runs" / gone.id).exists()


def test_artifact_is_kept_by_name_and_replaced_by_name(runs: Runs, store: Store) -> None:
    artifacts, run = Artifacts(store), add(runs)
    artifacts.put(run.id, "../../etc/passwd", "text/csv", b"one", NOW)
    artifacts.put(run.id, "a.csv", "text/csv", b"one", NOW)
    put = artifacts.put(run.id, "a.csv", "text/csv", b"three", LATER)
    assert artifacts.of(run.id)[1] == put
    assert [(a.name, a.n_bytes) for a in artifacts.of(run.id)] == [("../../etc/passwd", 3), ("a.csv", 5)]
    assert artifacts.read(run.id, "a.csv") == b"three"
    assert artifacts.read(run.id, "../../etc/passwd") == b"one"


def test_artifact_that_was_altered_or_lost_on_the_disk_is_refused(runs: Runs, store: Store) -> None:
    artifacts, run = Artifacts(store), add(runs)
    put = artifacts.put(run.id, "a.csv", "text/csv", b"one", NOW)
    file = store.home / "runs" / run.id / put.sha256
    file.write_bytes(b"two")
    with pytest.raises(AuditError, match="altered"):
        artifacts.read(run.id, "a.csv")
    file.unlink()
    with pytest.raises(AuditError, match="cannot be read"):
        artifacts.read(run.id, "a.csv")
    with pytest.raises(AuditError, match="no file 'b.csv'"):
        artifacts.read(run.id, "b.csv")


def test_calibration_comes_back_without_loss(store: Store) -> None:
    calibrations = Calibrations(store)
    value = {"score": "min_k", "threshold": 0.1 + 0.2, "interval": [-math.inf, 1e-320], "groups": {"a\0": None}}
    calibrations.save("for novels", value, NOW)
    opened = calibrations.open("for novels")
    assert (opened.name, opened.value, opened.created) == ("for novels", value, NOW)
    calibrations.save("undefined", {"threshold": math.nan}, NOW)
    assert math.isnan(calibrations.open("undefined").value["threshold"])
    assert [c.name for c in calibrations.all()] == ["for novels", "undefined"]


def test_name_of_a_calibration_is_taken_once_a_workspace(store: Store) -> None:
    calibrations = Calibrations(store)
    calibrations.save("for novels", {"threshold": 1.0}, NOW)
    with pytest.raises(AuditError, match="called 'for novels' already"):
        calibrations.save("for novels", {"threshold": 2.0}, NOW)
    assert calibrations.open("for novels").value == {"threshold": 1.0}
    Calibrations(store, "anna").save("for novels", {"threshold": 2.0}, NOW)
    calibrations.delete("for novels")
    with pytest.raises(AuditError, match="no calibration called"):
        calibrations.open("for novels")
    assert Calibrations(store, "anna").open("for novels").value == {"threshold": 2.0}
