"""Calibrations, kept under the name a person gave them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError

from auditlib.core import AuditError
from auditlib.store.database import Store
from auditlib.store.tables import CalibrationRow
from auditlib.store.workspace import DEFAULT_NAME


@dataclass(frozen=True)
class StoredCalibration:
    """A calibration as plain values; every float comes back as it was, NaN and infinities too."""

    name: str
    value: dict[str, Any]
    created: datetime


class Calibrations:
    """The calibrations of one workspace."""

    def __init__(self, store: Store, workspace: str = DEFAULT_NAME) -> None:
        self._store = store
        self._workspace = workspace

    def save(self, name: str, value: Mapping[str, Any], now: datetime) -> None:
        """Keeps a calibration. Raises `AuditError` where the name is taken: a verdict may rest on the one there."""
        row = CalibrationRow(workspace=self._workspace, name=name, value=dict(value), created=now)
        try:
            with self._store.writing() as session:
                session.add(row)
        except IntegrityError as error:
            raise AuditError(f"There is a calibration called {name!r} already.", "Choose another name.") from error

    def all(self) -> list[StoredCalibration]:
        """All of them, in the order in which they came."""
        query = select(CalibrationRow).where(CalibrationRow.workspace == self._workspace).order_by(CalibrationRow.key)
        with self._store.reading() as session:
            return [StoredCalibration(row.name, row.value, row.created) for row in session.scalars(query)]

    def open(self, name: str) -> StoredCalibration:
        """The one of that name. Raises `AuditError` where there is none."""
        mine = (CalibrationRow.workspace == self._workspace, CalibrationRow.name == name)
        with self._store.reading() as session:
            row = session.scalars(select(CalibrationRow).where(*mine)).one_or_none()
            if row is None:
                raise AuditError(f"There is no calibration called {name!r}.", "Somebody deleted it; choose another.")
            return StoredCalibration(row.name, row.value, row.created)

    def delete(self, name: str) -> None:
        """Forgets the one of that name, if there is one."""
        mine = (CalibrationRow.workspace == self._workspace, CalibrationRow.name == name)
        with self._store.writing() as session:
            session.execute(delete(CalibrationRow).where(*mine))
