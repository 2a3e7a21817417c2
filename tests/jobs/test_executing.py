"""A run from start to end in this process, without a queue: what it leaves, and what goes wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from auditlib.audits.calibration import calibrate, examine_words
from auditlib.core import AuditError
from auditlib.jobs import load_calibration, load_read_sets, load_score_table, load_summary
from auditlib.jobs.executing import Halted, execute_run
from auditlib.models.local import LocalModel
from auditlib.models.opening import load_model
from auditlib.models.request import ModelRequest
from auditlib.store import Artifacts, RunState, TokenCache
from tests.jobs.conftest import NOW, Place, documents


class Here:
    """A worker's surroundings without a worker."""

    def __init__(self, model: LocalModel, times: list[datetime] | None = None) -> None:
        self._model = model
        self._times = times or [NOW]
        self.scored: list[int] = []

    def open_model(self, request: ModelRequest) -> LocalModel:
        return self._model

    def step(self, name: str, work: Callable[[], int]) -> int:
        self.scored.append(work())
        return self.scored[-1]

    def give_way(self) -> None: ...

    def now(self) -> datetime:
        return self._times.pop(0) if len(self._times) > 1 else self._times[0]


@pytest.fixture
def model(place: Place) -> LocalModel:
    return load_model(place.model, place.settings)


def execute(place: Place, run_id: str, here: Here) -> str:
    return execute_run(place.store, place.settings, "default", run_id, here)


def test_a_finished_run_shows_everything_without_model_or_texts(place: Place, model: LocalModel) -> None:
    run = place.client.start("calibration", "North", place.bring(documents(60)), "A. Auditor")
    assert execute(place, run.id, Here(model)) == "done"
    run = place.client.run(run.id)
    assert run.identities["target"] == model.identity.as_dict()
    assert run.versions["numpy"] == np.__version__
    read = load_read_sets(place.store, run, place.settings.cache_bytes)
    assert read is not None
    summary = load_summary(place.store, run)
    expected = calibrate(read, examine_words(read.sets))
    assert set(summary.found.methods) == {"loss", "zlib", "min_k", "min_k_plus_plus", "lowercase", "surp"}
    for name, method in expected.methods.items():
        assert np.array_equal(summary.found.methods[name].scores, method.scores)
        assert summary.found.methods[name].verdict == method.verdict
        assert load_calibration(place.store, run, name).name == "North"
        assert name in summary.nulls
    assert set(summary.sweeps) == {"min_k", "min_k_plus_plus"}
    assert load_score_table(place.store, run)["min_k"].tolist() == expected.methods["min_k"].scores.tolist()


def test_the_summary_is_json_that_strict_readers_take_and_holds_no_text(place: Place, model: LocalModel) -> None:
    made = documents(60)
    run = place.client.start("calibration", "North", place.bring(made))
    execute(place, run.id, Here(model))
    text = Artifacts(place.store).read(run.id, "summary.json").decode()
    json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert not any(document.text[:40] in text for document in made)


def test_another_k_in_a_second_run_reads_nothing(place: Place, model: LocalModel) -> None:
    run = place.client.start("calibration", "one", place.bring(documents(40)))
    execute(place, run.id, Here(model))
    other = place.client.duplicate(run.id, {"k": 50.0}, "two")
    here = Here(model)
    assert execute(place, other.id, here) == "done"
    assert here.scored == []
    assert load_summary(place.store, place.client.run(other.id)).found.k == 50.0


def test_works_too_few_for_a_sweep_over_k_still_calibrate(place: Place, model: LocalModel) -> None:
    run = place.client.start("calibration", "two works of each", place.bring(documents(12)))
    assert execute(place, run.id, Here(model)) == "done"
    summary = load_summary(place.store, place.client.run(run.id))
    assert summary.sweeps == {}
    assert summary.found.methods


def test_a_clock_that_is_set_back_makes_no_negative_time(place: Place, model: LocalModel) -> None:
    run = place.client.start("calibration", "one", place.bring(documents(40)))
    back = [NOW - timedelta(hours=hour) for hour in range(200)]
    assert execute(place, run.id, Here(model, back)) == "done"
    done = place.client.run(run.id)
    assert done.finished is not None
    assert done.started is not None
    assert done.finished < done.started
    assert done.seconds == 0
    progress = done.progress
    assert progress is not None
    assert (progress.seconds_left or 0) >= 0


def test_an_error_that_nobody_foresaw_is_one_plain_sentence(place: Place, model: LocalModel) -> None:
    class Broken(Here):
        def open_model(self, request: ModelRequest) -> LocalModel:
            raise ZeroDivisionError("a secret detail")

    run = place.client.start("calibration", "one", place.bring(documents(40)))
    assert execute(place, run.id, Broken(model)) == "failed"
    problem = place.client.run(run.id).problem
    assert problem is not None
    assert "not foreseen" in problem
    assert "secret" not in problem


def test_a_run_that_was_deleted_meanwhile_ends_quietly(place: Place, model: LocalModel) -> None:
    class Deleting(Here):
        def open_model(self, request: ModelRequest) -> LocalModel:
            assert place.client.cancel(run.id)
            assert place.client.delete(run.id)
            return self._model

    run = place.client.start("calibration", "one", place.bring(documents(40)))
    assert execute(place, run.id, Deleting(model)) == "cancelled"


def test_a_halted_run_is_still_running(place: Place, model: LocalModel) -> None:
    class Halting(Here):
        def give_way(self) -> None:
            if len(self.scored) == 3:
                raise Halted

    run = place.client.start("calibration", "one", place.bring(documents(40)))
    halting = Halting(model)
    assert execute(place, run.id, halting) == "halted"
    assert place.client.run(run.id).state is RunState.RUNNING
    rest = Here(model)
    assert execute(place, run.id, rest) == "done"
    assert rest.scored[:3] == [0, 0, 0]
    assert all(rest.scored[3:])


def test_damage_is_told_with_the_run(place: Place, model: LocalModel) -> None:
    parameters = place.bring(documents(40))
    first = place.client.start("calibration", "one", parameters)
    execute(place, first.id, Here(model))
    with place.store.writing() as session:
        session.connection().exec_driver_sql("UPDATE token_stats SET payload = zeroblob(length(payload)) WHERE key = 7")
    run = place.client.start("calibration", "two", parameters)
    here = Here(model)
    assert execute(place, run.id, here) == "done"
    assert len(here.scored) == 1
    assert place.client.notes(run.id) == ["1 kept reading was damaged on the disk, so that text was read again."]
    assert place.client.notes(first.id) == []


def test_read_sets_are_none_where_the_cache_was_cleared(place: Place, model: LocalModel) -> None:
    run = place.client.start("calibration", "one", place.bring(documents(40)))
    execute(place, run.id, Here(model))
    done = place.client.run(run.id)
    TokenCache(place.store, 10**9).clear()
    assert load_read_sets(place.store, done, 10**9) is None
    assert load_summary(place.store, done).found.methods


def test_a_summary_of_another_version_is_said(place: Place, model: LocalModel) -> None:
    run = place.client.start("calibration", "one", place.bring(documents(40)))
    execute(place, run.id, Here(model))
    Artifacts(place.store).put(run.id, "summary.json", "application/json", b'{"later": 1}', datetime.now(UTC))
    with pytest.raises(AuditError, match="another version"):
        load_summary(place.store, run)


def test_a_kind_that_nobody_knows_is_refused(place: Place) -> None:
    with pytest.raises(AuditError, match="does not know runs"):
        place.client.start("astrology", "one", {})
