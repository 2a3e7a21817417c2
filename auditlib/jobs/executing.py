"""One run from its start to its end, whatever happens on the way. Knows nothing of queues."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Protocol, cast

from auditlib.core import AuditError, Settings, library_versions
from auditlib.jobs.cached_reading import CachedModel, OpenedModel, ReadingPlan
from auditlib.jobs.kinds import kind_of
from auditlib.jobs.plain import from_plain
from auditlib.jobs.progress import RateMeter
from auditlib.jobs.spending import SPENDING, Spending, kept_spending
from auditlib.models.endpoint.budget import Budget
from auditlib.models.request import ModelRequest
from auditlib.store import Artifacts, Run, RunGoneError, RunProgress, Runs, RunState, Store, TokenCache

logger = logging.getLogger(__name__)

NOTES = "notes.json"
REPORT_SECONDS = 1.0  # between two writes of the progress
LOOK_SECONDS = 0.3  # between two looks whether the run was cancelled

OpenModel = Callable[[ModelRequest], OpenedModel]


class ServedModel(OpenedModel, Protocol):
    """A model behind a server, which can be told whose budget its texts are sent on."""

    def within(self, budget: Budget) -> OpenedModel:
        """The same model, spending that budget."""
        ...


class Halted(BaseException):
    """The worker is to end: the run goes on when a worker starts again. No error, so nothing may catch it as one."""


class Cancelled(BaseException):
    """Somebody has cancelled or deleted the run."""


class Surroundings(Protocol):
    """What the worker is to a run that it executes."""

    def open_model(self, request: ModelRequest) -> OpenedModel:
        """The loaded model."""
        ...

    def step(self, name: str, work: Callable[[], int]) -> int:
        """Does `work` once for good."""
        ...

    def give_way(self) -> None:
        """Lets waiting questions go first. Raises `Halted` where the worker is to end."""
        ...

    def now(self) -> datetime:
        """The time of day."""
        ...


def execute_run(store: Store, settings: Settings, workspace: str, run_id: str, around: Surroundings) -> str:
    """Executes a run, or goes on with it. Says in a word how that ended; every failure is kept in the run itself."""
    runs = Runs(store, workspace)
    try:
        if not runs.start(run_id, around.now()):
            return "ended before"
        context = _Context(store, settings, runs, run_id, around)
        with context.spending.settled():
            result = kind_of(context.run.kind).execute(context)
        return "done" if runs.end(run_id, RunState.DONE, around.now(), result=result) else "ended before"
    except Halted:
        return "halted"
    except Cancelled:
        return "cancelled"
    except AuditError as error:
        logger.info("run %s failed: %s", run_id, error)
        return _fail(runs, run_id, str(error), around.now())
    except Exception:
        logger.exception("run %s met an error that was not foreseen", run_id)
        sentence = "This run met an error that was not foreseen; what it was stands in the worker's log."
        return _fail(runs, run_id, sentence, around.now())


def kept_plan(artifacts: Artifacts, run_id: str, part: str = "") -> ReadingPlan | None:
    """The plan that a part of a run's reading follows, if it came to have one that can still be read."""
    try:
        return from_plain(ReadingPlan, json.loads(artifacts.read(run_id, _plan_file(part))))
    except (AuditError, ValueError):
        return None


def kept_notes(artifacts: Artifacts, run_id: str) -> list[str]:
    """What a run has told on its way, such as that a damaged row of the cache was read again."""
    try:
        return [str(note) for note in json.loads(artifacts.read(run_id, NOTES))]
    except (AuditError, ValueError):
        return []


def _plan_file(part: str) -> str:
    return f"reading-plan-{part}.json" if part else "reading-plan.json"


def _fail(runs: Runs, run_id: str, problem: str, now: datetime) -> str:
    try:
        return "failed" if runs.end(run_id, RunState.FAILED, now, problem=problem) else "ended before"
    except RunGoneError:
        return "cancelled"
    except AuditError as error:  # the database is what failed
        logger.warning("run %s could not be marked as failed: %s", run_id, error)
        return "unmarked"


class _Context:
    """What a run's kind is given, and what stands around its reading."""

    def __init__(self, store: Store, settings: Settings, runs: Runs, run_id: str, around: Surroundings) -> None:
        self.run: Run = runs.open(run_id)
        self.store = store
        self.settings = settings
        self._runs = runs
        self._around = around
        self._artifacts = Artifacts(store)
        self._cache = TokenCache(store, settings.cache_bytes)
        self._now: RunProgress = RunProgress("", 0, 0)
        self._meter: RateMeter | None = None
        self.spending = Spending(
            lambda data: self.put(SPENDING, "application/json", data), kept_spending(store, run_id)
        )
        self._reported = self._looked = -1e9

    def open_model(self, request: ModelRequest, part: str = "") -> CachedModel:
        """See `RunContext`."""
        self.stage(f"loading the {part} model" if part else "loading the model")
        model = self._around.open_model(request)
        if request.endpoint is not None:
            model = cast(ServedModel, model).within(self.spending.budget(request.endpoint))
        return CachedModel(model, self._cache, self.settings.cache_bytes, self, part)

    def stage(self, name: str) -> None:
        """See `RunContext`."""
        self._looked = -1e9
        self.breathe()
        self._meter = None
        self._now = RunProgress(name, 0, 0)
        self._report()

    def progress(self, done: int, total: int) -> None:
        """See `RunContext`."""
        rate = self._meter.per_second if self._meter is not None else None
        left = (total - done) / rate if rate else None
        self._now = RunProgress(self._now.stage, done, total, rate, left)
        if done >= total or time.monotonic() - self._reported >= REPORT_SECONDS:
            self._report()

    def record(self, identities: Mapping[str, Any], inputs: Mapping[str, str]) -> None:
        """See `RunContext`."""
        self._runs.record(self.run.id, identities, library_versions(), inputs)

    def put(self, name: str, media_type: str, data: bytes) -> None:
        """See `RunContext`."""
        self._artifacts.put(self.run.id, name, media_type, data, self._around.now())

    def plan(self, part: str) -> ReadingPlan | None:
        """See `Reading`."""
        return kept_plan(self._artifacts, self.run.id, part)

    def keep_plan(self, part: str, plan: ReadingPlan) -> None:
        """See `Reading`."""
        self.put(_plan_file(part), "application/json", json.dumps(asdict(plan)).encode())

    def step(self, name: str, work: Callable[[], int]) -> int:
        """See `Reading`."""
        if self._meter is None:
            self._meter = RateMeter(time.monotonic())
        return self._around.step(name, work)

    def breathe(self) -> None:
        """See `Reading`."""
        self._around.give_way()
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        try:
            state = self._runs.open(self.run.id).state
        except RunGoneError as error:
            raise Cancelled from error
        if state is RunState.QUEUED:  # cancelled and at once resumed: it simply goes on
            self._runs.start(self.run.id, self._around.now())
        elif state is not RunState.RUNNING:
            raise Cancelled

    def scored(self, tokens: int) -> None:
        """See `Reading`."""
        if self._meter is not None:
            self._meter.add(tokens, time.monotonic())

    def tell(self, note: str) -> None:
        """See `Reading`."""
        logger.warning("run %s: %s", self.run.id, note)
        notes = [*kept_notes(self._artifacts, self.run.id), note]
        self.put(NOTES, "application/json", json.dumps(notes).encode())

    def _report(self) -> None:
        self._reported = time.monotonic()
        self._runs.report(self.run.id, self._now)
