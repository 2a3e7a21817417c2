"""Artifacts: the files that a run made, such as its report and its score tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from sqlalchemy import select

from auditlib.core import AuditError
from auditlib.store.database import Store
from auditlib.store.files import write_file
from auditlib.store.tables import ArtifactRow, RunRow


@dataclass(frozen=True)
class Artifact:
    """One file of a run; `Artifacts.read` gives its bytes."""

    run_id: str
    name: str
    media_type: str
    sha256: str
    n_bytes: int
    created: datetime


class Artifacts:
    """All runs' files. `AuditError` where one is not there, was altered, or cannot be written."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def put(self, run_id: str, name: str, media_type: str, data: bytes, now: datetime) -> Artifact:
        """Keeps a file of a run, in place of the one of that name: a step that is repeated changes nothing.

        The bytes of one that was replaced lie on until the run is deleted.
        """
        with self._store.writing() as session:
            # The lock keeps the run, and its folder, from being deleted meanwhile.
            if session.scalar(select(RunRow.id).where(RunRow.id == run_id).with_for_update()) is None:
                raise AuditError("That run is no longer there.", "Somebody deleted it; start another.")
            return _artifact(session.merge(written_artifact(self._store, run_id, name, media_type, data, now)))

    def of(self, run_id: str) -> list[Artifact]:
        """A run's files by name; none for a run that is not there."""
        query = select(ArtifactRow).where(ArtifactRow.run_id == run_id).order_by(ArtifactRow.name)
        with self._store.reading() as session:
            return [_artifact(row) for row in session.scalars(query)]

    def read(self, run_id: str, name: str) -> bytes:
        """A file's bytes, as they were put."""
        with self._store.reading() as session:
            row = session.get(ArtifactRow, (run_id, name))
            if row is None:
                raise AuditError(f"The run has no file {name!r}.", "Somebody deleted it; run it again.")
            artifact = _artifact(row)
        file = run_folder(self._store, run_id) / artifact.sha256
        try:
            data = file.read_bytes()
        except OSError as error:
            raise AuditError(
                f"The run's file {name!r} cannot be read ({error.strerror}).", "Run it again, or restore a backup."
            ) from error
        if sha256(data).hexdigest() != artifact.sha256:
            raise AuditError(f"The run's file {name!r} was altered on the disk.", "Run it again, or restore a backup.")
        return data


def run_folder(store: Store, run_id: str) -> Path:
    """Where a run's files lie, each named by its hash: names that a person chose never reach the disk."""
    return store.home / "runs" / run_id


def written_artifact(store: Store, run_id: str, name: str, media_type: str, data: bytes, now: datetime) -> ArtifactRow:
    """Writes a file's bytes, and gives the row that is to name them."""
    digest = sha256(data).hexdigest()
    write_file(run_folder(store, run_id) / digest, data)
    return ArtifactRow(run_id=run_id, name=name, media_type=media_type, sha256=digest, n_bytes=len(data), created=now)


def _artifact(row: ArtifactRow) -> Artifact:
    return Artifact(row.run_id, row.name, row.media_type, row.sha256, row.n_bytes, row.created)
