"""Work of a shell, in its own process: a run where no worker is there, and readings that are no run's.

What was read is kept all the same, so nothing is read again after Ctrl-C, at another k, or by a page.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import cast

from auditlib.core import AuditError, Settings
from auditlib.jobs.answering import shelf
from auditlib.jobs.cached_reading import CachedModel, OpenedModel, ReadingPlan
from auditlib.jobs.executing import ServedModel, execute_run
from auditlib.jobs.lock import WorkerLock
from auditlib.models.endpoint.budget import budget_of
from auditlib.models.request import ModelRequest
from auditlib.store import Run, Store, TokenCache


def execute_inline(store: Store, settings: Settings, run: Run) -> str:
    """Executes a queued run, or goes on with it, and says in a word how that ended.

    Meanwhile no worker works on the data folder: one that is started waits. Raises `AuditError` where one is there.
    """
    lock = WorkerLock(settings.home_folder)
    if not lock.take():
        lock.give_back()
        raise AuditError("A worker runs on this data folder.", "Let it execute the run, or end it first.")
    try:
        return execute_run(store, settings, run.workspace, run.id, _Here(settings))
    finally:
        lock.give_back()


def open_cached(request: ModelRequest, settings: Settings, tell: Callable[[str], None]) -> CachedModel:
    """The loaded model, which does not read again what the data folder's cache holds, and keeps what it reads.

    tell  hears how many texts had been read before, and of damaged readings

    Raises `AuditError` where the model cannot be loaded or connected to, or the data folder cannot be used.
    """
    cache = TokenCache(Store(settings.home_folder, settings.database_url), settings.cache_bytes)
    model: OpenedModel = shelf().open(request, settings)
    if request.endpoint is not None:
        model = cast(ServedModel, model).within(budget_of(request.endpoint))
    return CachedModel(model, cache, settings.cache_bytes, _NoRun(tell))


class _NoRun:
    """Stands around a reading that is no run's: its plan is made anew each time, and nobody else waits."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._told: set[str] = set()

    def tell(self, note: str) -> None:
        if note not in self._told:  # an audit reads several times, each time as many texts
            self._told.add(note)
            self._tell(note)

    def plan(self, part: str) -> ReadingPlan | None:
        return None

    def keep_plan(self, part: str, plan: ReadingPlan) -> None:
        if plan.n_cached:
            self.tell(
                f"{plan.n_cached:,} of {len(plan.texts):,} texts had been read by this model before; "
                "their readings were kept, and are taken as they are."
            )

    def step(self, name: str, work: Callable[[], int]) -> int:
        return work()

    def breathe(self) -> None: ...

    def scored(self, tokens: int) -> None: ...


class _Here:
    """The surroundings of a run with no queue and nobody who asks."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def open_model(self, request: ModelRequest) -> OpenedModel:
        return shelf().open(request, self._settings)

    def step(self, name: str, work: Callable[[], int]) -> int:
        return work()

    def give_way(self) -> None: ...

    def now(self) -> datetime:
        return datetime.now(UTC)
