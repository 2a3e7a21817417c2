"""Runs: each execution of an audit, from its request to its result."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import uuid4

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from auditlib.core import AuditError
from auditlib.store.artifacts import run_folder, written_artifact
from auditlib.store.database import Store
from auditlib.store.tables import RunInputsRow, RunRow
from auditlib.store.workspace import DEFAULT_NAME


class RunState(StrEnum):
    """Where a run is. It goes from queued over running to one of the other three, and may be queued again."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


_ID = re.compile("[0-9a-f]{32}")
UNFINISHED = (RunState.QUEUED, RunState.RUNNING)
FINISHED = (RunState.DONE, RunState.FAILED, RunState.CANCELLED)


@dataclass(frozen=True)
class RunProgress:
    """How far a run is: in the stage by that name, `done` of `total`, in units of the stage's own.

    per_second    how many units of late; None where that is not known
    seconds_left  until the stage is done, at this rate; None likewise
    """

    stage: str
    done: int
    total: int
    per_second: float | None = None
    seconds_left: float | None = None


@dataclass(frozen=True)
class Run:
    """One execution of an audit. Its input hashes, which may be thousands, are with `Runs.inputs`.

    parameters  as the run's kind understands them; plain values for JSON
    identities  what part each model plays ("target", "reference") and its identity
    versions    library versions that decide the numbers
    who         the person who asked for it
    result      where the result lies, in words of the run's kind; None before it is done
    problem     why it failed, in a sentence; None otherwise
    """

    id: str
    workspace: str
    kind: str
    name: str
    state: RunState
    parameters: dict[str, Any]
    progress: RunProgress | None
    seed: int
    identities: dict[str, Any]
    versions: dict[str, str]
    who: str
    created: datetime
    started: datetime | None
    finished: datetime | None
    result: str | None
    problem: str | None

    @property
    def seconds(self) -> float | None:
        """From start to end; None where there is no end yet. A clock that was set back makes no negative time."""
        if self.started is None or self.finished is None:
            return None
        return max(0.0, (self.finished - self.started).total_seconds())


class RunGoneError(AuditError):
    """There is no run of that id, or none any more."""

    def __init__(self) -> None:
        super().__init__("That run is no longer there.", "Somebody deleted it; choose another.")


class Runs:
    """The runs of one workspace. Every method raises `RunGoneError` for a run that is not there."""

    def __init__(self, store: Store, workspace: str = DEFAULT_NAME) -> None:
        self._store = store
        self._workspace = workspace

    def add(
        self,
        kind: str,
        name: str,
        parameters: Mapping[str, Any],
        seed: int,
        who: str,
        now: datetime,
        files: Mapping[str, bytes] | None = None,
    ) -> Run:
        """A new run, queued, with the `files` (JSON, by name) that it is to work on: no worker sees it without them."""
        row = RunRow(
            id=uuid4().hex,
            workspace=self._workspace,
            kind=kind,
            name=name,
            state=RunState.QUEUED,
            parameters=dict(parameters),
            progress=None,
            seed=seed,
            identities={},
            versions={},
            who=who,
            created=now,
        )
        with self._store.writing() as session:
            session.add(row)
            session.flush()
            session.add(RunInputsRow(run_id=row.id, inputs={}))
            for file, data in (files or {}).items():
                session.add(written_artifact(self._store, row.id, file, "application/json", data, now))
            session.refresh(row)
            return _run(row)

    def all(self) -> list[Run]:
        """All runs, newest first: in the order in which they came, whatever the clock said then."""
        query = select(RunRow).where(RunRow.workspace == self._workspace).order_by(RunRow.key.desc())
        with self._store.reading() as session:
            return [_run(row) for row in session.scalars(query)]

    def open(self, run_id: str) -> Run:
        """One run."""
        with self._store.reading() as session:
            return _run(self._row(session, run_id))

    def inputs(self, run_id: str) -> dict[str, str]:
        """What was examined: a hash by name."""
        with self._store.reading() as session:
            self._row(session, run_id)
            return dict(session.scalars(select(RunInputsRow.inputs).where(RunInputsRow.run_id == run_id)).one())

    def record(
        self, run_id: str, identities: Mapping[str, Any], versions: Mapping[str, str], inputs: Mapping[str, str]
    ) -> None:
        """Keeps what the run is made with, as it turned out when models and texts were opened."""
        with self._store.writing() as session:
            row = self._row(session, run_id)
            row.identities, row.versions = dict(identities), dict(versions)
            session.execute(update(RunInputsRow).where(RunInputsRow.run_id == run_id).values(inputs=dict(inputs)))

    def rename(self, run_id: str, name: str) -> None:
        """Calls the run `name`."""
        with self._store.writing() as session:
            self._row(session, run_id).name = name

    def report(self, run_id: str, progress: RunProgress) -> None:
        """Says how far the run is."""
        with self._store.writing() as session:
            self._row(session, run_id).progress = list(astuple(progress))

    def start(self, run_id: str, now: datetime) -> bool:
        """A worker takes the run, or takes it up again. False, and no change, where it has ended meanwhile."""
        with self._store.writing() as session:
            row = self._row(session, run_id, lock=True)
            if row.state not in UNFINISHED:
                return False
            row.state, row.started = RunState.RUNNING, row.started or now
            return True

    def end(
        self, run_id: str, state: RunState, now: datetime, result: str | None = None, problem: str | None = None
    ) -> bool:
        """The run is done, has failed or was cancelled. False, and no change, where it has ended before."""
        if state not in FINISHED:
            raise ValueError(f"a run does not end {state}")
        with self._store.writing() as session:
            row = self._row(session, run_id, lock=True)
            if row.state not in UNFINISHED:
                return False
            row.state, row.finished, row.result, row.problem = state, now, result, problem
            return True

    def queue_again(self, run_id: str) -> bool:
        """A run that failed or was cancelled is to go on. False, and no change, where it is in another state."""
        with self._store.writing() as session:
            row = self._row(session, run_id, lock=True)
            if row.state not in (RunState.FAILED, RunState.CANCELLED):
                return False
            row.state, row.finished, row.problem = RunState.QUEUED, None, None
            return True

    def delete(self, run_id: str) -> bool:
        """Forgets the run and all it made. False, and no change, while it is not ended."""
        with self._store.writing() as session:
            row = self._row(session, run_id, lock=True)
            if row.state not in FINISHED:
                return False
            session.execute(delete(RunRow).where(RunRow.id == run_id))
        shutil.rmtree(run_folder(self._store, run_id), ignore_errors=True)
        return True

    def _row(self, session: Session, run_id: str, lock: bool = False) -> RunRow:
        """The run's row; with `lock`, nobody else may change it before this session ends."""
        if not _ID.fullmatch(run_id):  # out of an address somebody typed, and maybe no text that a database takes
            raise RunGoneError
        query = select(RunRow).where(RunRow.id == run_id, RunRow.workspace == self._workspace)
        row = session.scalars(query.with_for_update() if lock else query).one_or_none()
        if row is None:
            raise RunGoneError
        return row


@dataclass(frozen=True)
class UnfinishedRun:
    """A run of any workspace that is to be executed. `place` is its place among all runs, in the order they came."""

    place: int
    id: str
    workspace: str


def unfinished_runs(store: Store) -> list[UnfinishedRun]:
    """Runs of all workspaces that are queued or running, in the order in which they came."""
    query = select(RunRow.key, RunRow.id, RunRow.workspace).where(RunRow.state.in_(UNFINISHED)).order_by(RunRow.key)
    with store.reading() as session:
        return [UnfinishedRun(*row) for row in session.execute(query)]


_COLUMNS = tuple(column.key for column in RunRow.__table__.columns if column.key != "key")


def _run(row: RunRow) -> Run:
    columns = {name: getattr(row, name) for name in _COLUMNS}
    progress = None if row.progress is None else RunProgress(*row.progress)
    return Run(**columns | {"state": RunState(row.state), "progress": progress})
