"""DBOS: the queue of runs, and steps that are done once. Only this file knows it, and only the worker imports it.

What matters is kept twice over. The runs table says which runs there are and in which state; DBOS keeps the steps of
those that are at work. So its records may be thrown away at any time: a run that is to go on is queued again, and finds
what it had read in the cache.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from dbos import DBOS, DBOSConfig, Serializer, SetEnqueueOptions, SetWorkflowID, error
from sqlalchemy import URL, make_url

from auditlib.core import AuditError
from auditlib.store.failures import explained

logger = logging.getLogger(__name__)

APPLICATION = "pretraining-audit"
# Not the program's version: after an update the runs of the version before are to be taken up.
VERSION = "1"
QUEUE = "audits"
POLL_SECONDS = 0.2
EXHAUSTED = "MAX_RECOVERY_ATTEMPTS_EXCEEDED"


class StepsChanged(BaseException):
    """The run was begun by a program with other steps, and its records are of no use. No error of the run's own."""


class Record(NamedTuple):
    """What DBOS has of a run: its state in DBOS's words, and whether it was last taken by this data folder's worker."""

    state: str
    is_ours: bool

    @property
    def is_of_use(self) -> bool:
        """Whether the run waits in the queue or is at work."""
        return self.state in ("ENQUEUED", "DELAYED", "PENDING")

    @property
    def is_at_work(self) -> bool:
        """Whether somebody has taken it and it has not returned."""
        return self.state == "PENDING"


class Durable:
    """Runs in a queue, one at a time, each executed until it has returned, over kills and restarts."""

    def __init__(self, home: Path, database_url: str | None, executor: str, execute: Callable[[str, str], str]) -> None:
        """`execute` is given workspace and id of a run. Raises `AuditError` where the database cannot be used."""
        config: DBOSConfig = {
            "name": APPLICATION,
            "system_database_url": _url(home, database_url),
            "application_version": VERSION,
            "executor_id": executor,
            "serializer": _Json(),
            "log_level": "WARNING",
            "enable_otlp": False,
            "sys_db_pool_size": 5,
        }
        DBOS(config=config)

        @DBOS.workflow(name="run")
        def run(workspace: str, run_id: str) -> str:
            return execute(workspace, run_id)

        self._run = run
        self._executor = executor

    def launch(self) -> None:
        """Takes up what the last worker left, and whatever is queued. Raises `AuditError` where the database fails."""
        try:
            DBOS.launch()
            DBOS.register_queue(
                QUEUE, worker_concurrency=1, polling_interval_sec=POLL_SECONDS, on_conflict="always_update"
            )
        except Exception as failure:
            self.close()
            logger.exception("the queue's database failed")
            raise AuditError(
                f"The queue of runs cannot be opened ({(str(failure).splitlines() or [''])[0][:200]}).",
                "See that the data folder or the database server can be written, then start the worker again.",
            ) from failure

    def close(self) -> None:
        """Ends the queue; a run at work is not waited for."""
        DBOS.destroy()

    def records(self) -> dict[str, Record]:
        """What there is, by run."""
        found = DBOS.list_workflows(name="run", load_input=False, load_output=False)
        return {one.workflow_id: Record(one.status, one.executor_id == self._executor) for one in found}

    def enqueue(self, workspace: str, run_id: str, place: int) -> None:
        """Queues a run, the lower `place` first, whatever the clock says; nothing where it is queued already."""
        with SetWorkflowID(run_id), SetEnqueueOptions(priority=max(1, place)):
            DBOS.enqueue_workflow(QUEUE, self._run, workspace, run_id)

    def drop(self, run_ids: Collection[str]) -> None:
        """Forgets runs that wait in the queue or have returned."""
        for run_id in run_ids:
            DBOS.cancel_workflow(run_id)
        if run_ids:
            DBOS.delete_workflows(list(run_ids))

    def step(self, name: str, work: Callable[[], int]) -> int:
        """Does `work` once; where that was done before, gives its result. Called within a run."""
        try:
            with explained("The queue of runs"):
                return DBOS.run_step({"name": name}, work)
        except error.DBOSUnexpectedStepError as mismatch:
            raise StepsChanged from mismatch


class _Json(Serializer):
    """In place of DBOS's pickles: a database that somebody else may write to must not be able to run code here."""

    def name(self) -> str:
        return "pretraining_audit_json"

    def serialize(self, data: Any) -> str:
        if isinstance(data, AuditError):
            data = {"audit_error": [data.wrong, data.remedy]}
        elif isinstance(data, BaseException):
            data = {"error": str(data)}
        return json.dumps(data)

    def deserialize(self, serialized_data: str) -> Any:
        data = json.loads(serialized_data)
        if isinstance(data, dict) and "audit_error" in data:
            return AuditError(*data["audit_error"])
        if isinstance(data, dict) and set(data) == {"error"}:
            return RuntimeError(data["error"])
        return data


def _url(home: Path, database_url: str | None) -> str:
    if database_url:
        url = make_url(database_url).set(drivername="postgresql+psycopg")
        return url.render_as_string(hide_password=False)
    file = home / "jobs.db"
    try:
        with closing(sqlite3.connect(file)) as connection:
            # Kept in the file: the queue's looks do not wait for a step that is being written.
            connection.execute("PRAGMA journal_mode=WAL")
    except sqlite3.Error as failure:
        raise AuditError(
            f"The queue of runs {file} cannot be used ({failure}).",
            "See that its folder can be written; the file may be deleted, the runs are kept elsewhere.",
        ) from failure
    return URL.create("sqlite", database=str(file)).render_as_string()
