"""What kinds of run ask of their parameters and of the workspace in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from auditlib.core import AuditError
from auditlib.documents.cutting import METHODS, Cutting
from auditlib.jobs.plain import from_plain
from auditlib.store import Workspace

Parameters = TypeVar("Parameters")


def parameters_of(kind: type[Parameters], plain: Mapping[str, Any]) -> Parameters:
    """Parameters as a run keeps them. Raises `AuditError` where they make no sense."""
    try:
        return from_plain(kind, dict(plain))
    except ValueError as error:
        raise AuditError(f"These parameters make no sense: {error}.", "Start the run anew from its page.") from error


def checked_method(cutting: Cutting) -> None:
    """Raises `AuditError` for a way to cut that there is not."""
    if cutting.method not in METHODS:
        raise AuditError(f"There is no way to cut called {cutting.method[:40]!r}.", f"Choose of {', '.join(METHODS)}.")


def document_keys(ids: Iterable[str], workspace: Workspace) -> dict[str, int]:
    """The workspace's key of each document that a run names. Raises `AuditError` where one is not there any more."""
    keys = {stored.document_id: stored.key for stored in workspace.documents()}
    gone = [one for one in ids if one not in keys]
    if gone:
        those = "A document" if len(gone) == 1 else f"{len(gone):,} documents"
        raise AuditError(
            f"{those} of this run can no longer be found: deleted, or cleaned in another way since.",
            "Bring the file again as it was, or start a run on the documents that are there.",
        )
    return keys
