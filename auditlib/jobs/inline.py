"""A run executed in this process, for a shell where no worker is running. What it has done is kept all the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from auditlib.core import AuditError, Settings
from auditlib.jobs.answering import shelf
from auditlib.jobs.cached_reading import OpenedModel
from auditlib.jobs.executing import execute_run
from auditlib.jobs.lock import WorkerLock
from auditlib.models.request import ModelRequest
from auditlib.store import Run, Store


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
