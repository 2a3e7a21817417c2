"""One person's files and documents. The same bytes are stored once, whatever their names."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sqlalchemy import delete, select, update
from sqlalchemy.exc import DatabaseError, IntegrityError
from sqlalchemy.orm import Session

from auditlib.core import AuditError, Document, Edit, Label
from auditlib.store.tables import DocumentRow, FileRow, open_database

DEFAULT_NAME = "default"


@dataclass(frozen=True)
class StoredDocument:
    """What a list shows of a document; `Workspace.open` gives its text. `key` names it in this workspace."""

    key: int
    document_id: str
    file_sha256: str
    title: str
    media_type: str
    source_name: str
    group: str
    label: Label
    n_words: int
    n_words_removed: int
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class AddedFile:
    """What became of a file: its hash, its documents' keys, and whether it was there already."""

    sha256: str
    keys: tuple[int, ...]
    was_there: bool


class Workspace:
    """Files and documents in one folder: `workspace.db`, and each file's bytes under its SHA-256."""

    def __init__(self, home: Path, name: str = DEFAULT_NAME) -> None:
        """Opens the workspace, making it if need be. Raises `AuditError` where the folder cannot be used."""
        self.folder = home / "workspaces" / name
        try:
            (self.folder / "files").mkdir(parents=True, exist_ok=True)
            self._engine = open_database(self.folder / "workspace.db")
        except OSError as error:
            raise _unusable(self.folder, error.strerror or str(error)) from error
        except DatabaseError as error:
            raise _unusable(self.folder, str(error.orig)) from error

    def add(self, name: str, data: bytes, documents: Sequence[Document]) -> AddedFile:
        """Stores a file and the documents read out of it; a file that is there already is left as it is."""
        digest = sha256(data).hexdigest()
        with Session(self._engine) as session:
            if session.get(FileRow, digest) is not None:
                keys = session.scalars(select(DocumentRow.key).where(DocumentRow.file_sha256 == digest)).all()
                return AddedFile(digest, tuple(keys), was_there=True)
            self._write(digest, data)
            rows = [_row(document) for document in documents]
            session.add(FileRow(sha256=digest, name=name, n_bytes=len(data), documents=rows))
            try:
                session.commit()
            except IntegrityError:  # another session has just brought the same file
                session.rollback()
                return self.add(name, data, documents)
            return AddedFile(digest, tuple(row.key for row in rows), was_there=False)

    def documents(self) -> list[StoredDocument]:
        """All documents, in the order in which they came."""
        with Session(self._engine) as session:
            return [_stored(row) for row in session.scalars(select(DocumentRow).order_by(DocumentRow.key))]

    def open(self, key: int) -> Document:
        """A document with its text. Raises `AuditError` where it was deleted meanwhile."""
        with Session(self._engine) as session:
            row = session.get(DocumentRow, key)
            if row is None:
                raise AuditError("That document is no longer there.", "Somebody deleted it; choose another.")
            return Document(
                id=row.text_sha256,
                title=row.title,
                text=row.text,
                media_type=row.media_type,
                source_name=row.source_name,
                warnings=tuple(row.warnings),
                raw=row.raw,
                edits=tuple(Edit(str(s), int(a), int(b), str(t)) for s, a, b, t in row.edits),
                steps=tuple(row.steps),
                group=row.group,
                label=Label(row.label),
            )

    def replace(self, key: int, document: Document) -> None:
        """Puts `document` (cleaned in another way) in the place of the one under `key`."""
        new = _row(document)
        columns = {c.key: getattr(new, c.key) for c in DocumentRow.__table__.columns}
        kept = {name: value for name, value in columns.items() if name not in ("key", "file_sha256")}
        with Session(self._engine) as session:
            session.execute(update(DocumentRow).where(DocumentRow.key == key).values(**kept))
            session.commit()

    def mark(self, key: int, label: Label, group: str) -> None:
        """Says of a document whether it is a member, and which texts it belongs with."""
        with Session(self._engine) as session:
            session.execute(update(DocumentRow).where(DocumentRow.key == key).values(label=label.value, group=group))
            session.commit()

    def delete(self, keys: Collection[int]) -> None:
        """Deletes documents, and each file of which no document is left."""
        with Session(self._engine) as session:
            touched = session.scalars(select(DocumentRow.file_sha256).where(DocumentRow.key.in_(keys)).distinct()).all()
            session.execute(delete(DocumentRow).where(DocumentRow.key.in_(keys)))
            still_used = select(DocumentRow.file_sha256)
            orphans = session.scalars(
                select(FileRow.sha256).where(FileRow.sha256.in_(touched), FileRow.sha256.not_in(still_used))
            ).all()
            session.execute(delete(FileRow).where(FileRow.sha256.in_(orphans)))
            session.commit()
        for digest in orphans:
            self.file(digest).unlink(missing_ok=True)

    def file(self, digest: str) -> Path:
        """Where a file's bytes lie."""
        return self.folder / "files" / digest

    def _write(self, digest: str, data: bytes) -> None:
        try:
            handle, temporary = tempfile.mkstemp(dir=self.folder / "files")
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            os.replace(temporary, self.file(digest))
        except OSError as error:
            raise _unusable(self.folder, error.strerror or str(error)) from error


def _row(document: Document) -> DocumentRow:
    n_words = len(document.text.split())
    return DocumentRow(
        text_sha256=document.id,
        title=document.title,
        media_type=document.media_type,
        source_name=document.source_name,
        group=document.group,
        label=document.label.value,
        n_words=n_words,
        n_words_removed=max(0, len(document.original.split()) - n_words),
        warnings=list(document.warnings),
        steps=list(document.steps),
        text=document.text,
        raw=document.raw,
        edits=[[edit.step, edit.start, edit.end, edit.text] for edit in document.edits],
    )


def _stored(row: DocumentRow) -> StoredDocument:
    return StoredDocument(
        key=row.key,
        document_id=row.text_sha256,
        file_sha256=row.file_sha256,
        title=row.title,
        media_type=row.media_type,
        source_name=row.source_name,
        group=row.group,
        label=Label(row.label),
        n_words=row.n_words,
        n_words_removed=row.n_words_removed,
        warnings=tuple(row.warnings),
    )


def _unusable(folder: Path, reason: str) -> AuditError:
    return AuditError(
        f"The data folder {folder} cannot be used ({reason}).",
        "See that it can be written and has room, or set AUDIT_HOME to another folder.",
    )
