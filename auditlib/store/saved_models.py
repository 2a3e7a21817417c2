"""Models that people have named: which one is meant, as plain values. What opens a model knows what they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.exc import IntegrityError

from auditlib.core import AuditError
from auditlib.store.database import Store
from auditlib.store.tables import SavedModelRow
from auditlib.store.workspace import DEFAULT_NAME

LONGEST_NAME = 200


@dataclass(frozen=True)
class StoredModel:
    """A model under its name. `request` holds no key of any server: nothing that asks for a model does."""

    name: str
    request: dict[str, Any]
    created: datetime


class SavedModels:
    """The named models of one workspace."""

    def __init__(self, store: Store, workspace: str = DEFAULT_NAME) -> None:
        self._store = store
        self._workspace = workspace

    def add(self, name: str, request: Mapping[str, Any], now: datetime) -> None:
        """Keeps a model. Raises `AuditError` where the name is taken or none."""
        row = SavedModelRow(workspace=self._workspace, name=_checked(name), request=dict(request), created=now)
        try:
            with self._store.writing() as session:
                session.add(row)
        except IntegrityError as error:
            raise _taken(name) from error

    def all(self) -> list[StoredModel]:
        """All of them, in the order in which they came."""
        query = select(SavedModelRow).where(SavedModelRow.workspace == self._workspace).order_by(SavedModelRow.key)
        with self._store.reading() as session:
            return [StoredModel(row.name, row.request, row.created) for row in session.scalars(query)]

    def rename(self, name: str, new: str) -> None:
        """Calls a model otherwise. Raises `AuditError` where it is gone, and where the name is taken or none."""
        change = update(SavedModelRow).where(*self._called(name)).values(name=_checked(new))
        try:
            with self._store.writing() as session:
                is_there = session.execute(change.returning(SavedModelRow.key)).first() is not None
        except IntegrityError as error:
            raise _taken(new) from error
        if not is_there:
            raise AuditError(f"There is no model called {name!r}.", "Somebody removed it; choose another.")

    def remove(self, name: str) -> None:
        """Forgets the one of that name, if there is one. Its files and what it has read stay."""
        with self._store.writing() as session:
            session.execute(delete(SavedModelRow).where(*self._called(name)))

    def _called(self, name: str) -> tuple[Any, Any]:
        return SavedModelRow.workspace == self._workspace, SavedModelRow.name == name


def _checked(name: str) -> str:
    if not name.strip():
        raise AuditError("A model needs a name.", "Give it one that you will know it by.")
    if len(name) > LONGEST_NAME:
        raise AuditError(f"That name has {len(name):,} letters.", f"Choose one of at most {LONGEST_NAME}.")
    return name.strip()


def _taken(name: str) -> AuditError:
    return AuditError(f"There is a model called {name.strip()!r} already.", "Choose another name.")
