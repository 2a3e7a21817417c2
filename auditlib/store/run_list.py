"""Runs as a list shows them: without what only one run's own view needs.

A run's parameters may name ten thousand documents; a list of 500 runs must not read five million names.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select

from auditlib.store.database import Store
from auditlib.store.runs import RunProgress, RunState
from auditlib.store.tables import RunRow
from auditlib.store.workspace import DEFAULT_NAME


@dataclass(frozen=True)
class RunLine:
    """One run in a list.

    models  names of its models; what was asked for where none has been opened yet
    """

    id: str
    kind: str
    name: str
    state: RunState
    progress: RunProgress | None
    models: tuple[str, ...]
    who: str
    created: datetime
    started: datetime | None
    finished: datetime | None

    def seconds(self, now: datetime) -> float | None:
        """From its start to its end, or to now; None before it starts. A clock set back makes no negative time."""
        if self.started is None:
            return None
        return max(0.0, ((self.finished or now) - self.started).total_seconds())


def run_lines(store: Store, workspace: str = DEFAULT_NAME) -> list[RunLine]:
    """All runs of a workspace, newest first: in the order in which they came, whatever the clock said then."""
    row, mine = RunRow, RunRow.workspace == workspace
    listed = select(
        row.id,
        row.kind,
        row.name,
        row.state,
        row.progress,
        row.identities,
        row.who,
        row.created,
        row.started,
        row.finished,
    )
    with store.reading() as session:
        found = session.execute(listed.where(mine).order_by(row.key.desc())).all()
        # Few at a time: runs that wait, and runs that ended before their model was opened.
        unopened = select(row.id, row.parameters).where(mine, row.identities == {})
        asked = {one.id: one.parameters for one in session.execute(unopened)}
    return [
        RunLine(
            one.id,
            one.kind,
            one.name,
            RunState(one.state),
            None if one.progress is None else RunProgress(*one.progress),
            _opened(one.identities) if one.identities else _asked_for(asked.get(one.id)),
            one.who,
            one.created,
            one.started,
            one.finished,
        )
        for one in found
    ]


def _opened(identities: dict[str, Any]) -> tuple[str, ...]:
    return tuple(
        str(identity.get("name", part)) + (" with an adapter" if identity.get("adapter") else "")
        for part, identity in identities.items()
        if isinstance(identity, dict)
    )


def _asked_for(parameters: Any) -> tuple[str, ...]:
    """Whatever among the parameters names a source is a model, whichever part it plays; a server's has its own name."""
    parts = parameters.values() if isinstance(parameters, dict) else ()
    asked = [part for part in parts if isinstance(part, dict) and "source" in part]
    return tuple(str((part.get("endpoint") or {}).get("model") or part["source"]) for part in asked)
