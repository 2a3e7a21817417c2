"""Models under the names that people gave them, as requests that can be opened."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from auditlib.core import AuditError
from auditlib.jobs.plain import from_plain, to_plain
from auditlib.models.request import ModelRequest
from auditlib.store import SavedModels, Store
from auditlib.store.workspace import DEFAULT_NAME


@dataclass(frozen=True)
class SavedModel:
    """`request` is None where what was kept cannot be understood, and `problem` says so."""

    name: str
    request: ModelRequest | None
    created: datetime
    problem: str = ""

    @property
    def usable(self) -> ModelRequest:
        """The request. Raises `AuditError` where there is none."""
        if self.request is None:
            raise AuditError(f"The model {self.name} cannot be opened.", self.problem)
        return self.request


def saved_models(store: Store, workspace: str = DEFAULT_NAME) -> list[SavedModel]:
    """All of them, in the order in which they came. Raises `AuditError` where the database cannot be used."""
    found = []
    for stored in SavedModels(store, workspace).all():
        try:
            found.append(SavedModel(stored.name, from_plain(ModelRequest, stored.request), stored.created))
        except (ValueError, AuditError):
            problem = "It was kept by another version, or changed by hand. Remove it and add it again."
            found.append(SavedModel(stored.name, None, stored.created, problem))
    return found


def save_model(store: Store, name: str, request: ModelRequest, now: datetime, workspace: str = DEFAULT_NAME) -> None:
    """Keeps a model under a name. Raises `AuditError` where that is taken or none."""
    SavedModels(store, workspace).add(name, to_plain(request), now)
