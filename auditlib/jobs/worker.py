"""The worker: holds the models, executes runs one after the other, and answers questions between two batches."""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from auditlib import __version__
from auditlib.core import AuditError, Settings
from auditlib.jobs.answering import Answers, Say, shelf
from auditlib.jobs.cached_reading import OpenedModel
from auditlib.jobs.durable import EXHAUSTED, Durable, StepsChanged
from auditlib.jobs.executing import Halted, execute_run
from auditlib.jobs.listening import Listener
from auditlib.jobs.lock import WorkerLock
from auditlib.jobs.place import WorkerAddress, executor_id, forget_address, worker_folder, write_address
from auditlib.jobs.turns import Turns
from auditlib.models.request import ModelRequest
from auditlib.store import Runs, RunState, Store, UnfinishedRun, unfinished_runs

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.3  # between two looks for new runs
TROUBLE_SECONDS = 5.0  # before the next look after one that failed
AGAIN_SECONDS = 30.0  # before a run is tried again whose end could not be written down
END_SECONDS = 20.0  # for the batch at work when the worker is to end; what it was doing is then done again
LOG_BYTES = 5_000_000


def work(settings: Settings, stop: threading.Event, say: Callable[[str], None]) -> None:
    """Works until `stop` is set. A second worker on the same data folder waits, and takes over when the first ends.

    (It could as well end; but who starts `make run` twice and closes the first would be left with a page that has no
    worker. Waiting costs nothing: the models are not loaded yet.) Raises `AuditError` where it cannot work at all.
    """
    home = settings.home_folder
    lock = WorkerLock(home)
    try:
        if not lock.take():
            holder = lock.holder()
            say(f"A worker runs already on {home} (process {holder}). This one waits, and takes over at its end.")
            while not lock.take():
                if stop.wait(0.5):
                    return
        _log_to(worker_folder(home) / "log")
        _Worker(settings, stop).work(say)
    finally:
        lock.give_back()


class _Worker:
    def __init__(self, settings: Settings, stop: threading.Event) -> None:
        self._settings = settings
        self._stop = stop
        self._home = settings.home_folder
        self._store = Store(self._home, settings.database_url)
        self._turns = Turns()
        self._answers = Answers(settings, self._turns, lambda: self._reading_with)
        self._reading_with: ModelRequest | None = None
        self._at_work: str | None = None  # id of the run that is executed now
        self._again: dict[str, float] = {}  # when a run may be tried again
        self._durable = Durable(self._home, settings.database_url, executor_id(self._home), self._execute)

    def work(self, say: Callable[[str], None]) -> None:
        """Until `stop` is set."""
        token = secrets.token_hex(16)
        listener = Listener(self._answer, token)
        address = WorkerAddress(listener.port, token, os.getpid())
        if self._stop.is_set():  # the imports take seconds, and somebody may have thought better of it
            return
        self._durable.launch()
        try:
            listener.start()
            write_address(self._home, address)
            # Torch takes seconds to import: the first question should not wait for all of them.
            threading.Thread(target=shelf, name="importing", daemon=True).start()
            logger.info("worker %s of version %s is ready", os.getpid(), __version__)
            say(f"The worker is ready (process {os.getpid()}, data in {self._home}).")
            while not self._stop.wait(LOOK_SECONDS):
                self._hand_over()
        finally:
            forget_address(self._home, address)
            listener.stop()
            waited_until = time.monotonic() + END_SECONDS
            while self._at_work is not None and time.monotonic() < waited_until:
                time.sleep(0.05)
            self._durable.close()
            self._store.close()
            logger.info("worker %s ends", os.getpid())

    def open_model(self, request: ModelRequest) -> OpenedModel:
        """See `Surroundings`."""
        self._reading_with = request
        return shelf().open(request, self._settings)

    def step(self, name: str, work: Callable[[], int]) -> int:
        """See `Surroundings`."""
        return self._durable.step(name, work)

    def give_way(self) -> None:
        """See `Surroundings`."""
        self._turns.give_way(self._refuse_to_go_on)

    def now(self) -> datetime:
        """See `Surroundings`."""
        return datetime.now(UTC)

    def _refuse_to_go_on(self) -> None:
        if self._stop.is_set():
            raise Halted

    def _execute(self, workspace: str, run_id: str) -> str:
        self._at_work = run_id
        try:
            ended = execute_run(self._store, self._settings, workspace, run_id, self)
        except StepsChanged:
            logger.info("run %s was begun by another version and begins again with what it has read", run_id)
            ended = "begun anew"
        finally:
            self._at_work = self._reading_with = None
        logger.info("run %s: %s", run_id, ended)
        if ended == "unmarked":
            self._again[run_id] = time.monotonic() + AGAIN_SECONDS
        return ended

    def _hand_over(self) -> None:
        """Sees to it that the queue holds what the runs table says, and nothing else."""
        durable = self._durable
        try:
            wanted = {run.id: run for run in unfinished_runs(self._store)}
            records = durable.records()
            useless = []
            for run_id, record in records.items():
                if record.state == EXHAUSTED and run_id in wanted:
                    self._give_up(wanted[run_id])
                # What this worker executes looks itself whether it is still wanted.
                if not record.is_of_use or (run_id not in wanted and not (record.is_at_work and record.is_ours)):
                    useless.append(run_id)
            durable.drop(useless)
            for run in wanted.values():
                if run.id not in records and self._again.get(run.id, 0.0) <= time.monotonic():
                    durable.enqueue(run.workspace, run.id, run.place)
        except Exception:  # a database that is locked now need not be so later
            logger.exception("the queue could not be looked after")
            self._stop.wait(TROUBLE_SECONDS)

    def _give_up(self, run: UnfinishedRun) -> None:
        problem = (
            "The worker ended a hundred times while this run was at work. Its model may need more memory than there "
            "is: choose a smaller one."
        )
        Runs(self._store, run.workspace).end(run.id, RunState.FAILED, self.now(), problem=problem)

    def _answer(self, asked: Mapping[str, Any], say: Say) -> Any:
        if isinstance(asked, dict) and asked.get("what") == "state":
            about = {"version": __version__, "process": os.getpid(), "run": self._at_work}
            return about | {"models": self._answers.models()}
        if not isinstance(asked, dict):
            raise AuditError("This is no question.", "Restart the page.")
        return self._answers.answer(asked, say)


def _log_to(file: Path) -> None:
    handler = RotatingFileHandler(file, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for name, level in (("auditlib", logging.INFO), ("dbos", logging.WARNING)):
        named = logging.getLogger(name)
        named.addHandler(handler)
        named.setLevel(level)
