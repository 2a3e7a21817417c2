"""One person's files and documents. The same bytes are stored once, whatever their names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sqlalchemy import delete, select, update
from sqlalchemy.exc import IntegrityError

from auditlib.core import AuditError, Document, Edit, Label
from auditlib.store.database import Store
from auditlib.store.failures import folder_unusable
from auditlib.store.files import write_file
from auditlib.store.tables import DocumentRow, FileRow

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
    author: str = ""
    year: int | None = None


@dataclass(frozen=True)
class AddedFile:
    """What became of a file: its hash, its documents' keys, and whether it was there already."""

    sha256: str
    keys: tuple[int, ...]
    was_there: bool


class Workspace:
    """Files and documents under one name: rows in the store's database, and each file's bytes under its SHA-256."""

    def __init__(self, home: Path | Store, name: str = DEFAULT_NAME) -> None:
        """Opens the workspace, making it if need be. Raises `AuditError` where it cannot be used.

        home  a store, or a data folder whose own database (SQLite) is to be opened
        """
        self.store = home if isinstance(home, Store) else Store(home)
        self.name = name
        self.folder = self.store.home / "workspaces" / name
        try:
            (self.folder / "files").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise folder_unusable(self.folder, error) from error

    def add(self, name: str, data: bytes, documents: Sequence[Document]) -> AddedFile:
        """Stores a file and the documents read out of it; a file that is there already is left as it is."""
        digest = sha256(data).hexdigest()
        there = self._documents_of(digest)
        if there is not None:
            return AddedFile(digest, there, was_there=True)
        write_file(self.file(digest), data)
        try:
            with self.store.writing() as session:
                rows = [_row(self.name, document) for document in documents]
                row = FileRow(workspace=self.name, sha256=digest, name=name, n_bytes=len(data), documents=rows)
                session.add(row)
                session.flush()
                return AddedFile(digest, tuple(row.key for row in rows), was_there=False)
        except IntegrityError:  # another session has just brought the same file
            return AddedFile(digest, self._documents_of(digest) or (), was_there=True)

    def _documents_of(self, digest: str) -> tuple[int, ...] | None:
        """Keys of a file's documents; None where the file is not there."""
        with self.store.reading() as session:
            if session.get(FileRow, (self.name, digest)) is None:
                return None
            mine = (DocumentRow.workspace == self.name, DocumentRow.file_sha256 == digest)
            return tuple(session.scalars(select(DocumentRow.key).where(*mine).order_by(DocumentRow.key)))

    def documents(self) -> list[StoredDocument]:
        """All documents, in the order in which they came."""
        query = select(DocumentRow).where(DocumentRow.workspace == self.name).order_by(DocumentRow.key)
        with self.store.reading() as session:
            return [_stored(row) for row in session.scalars(query)]

    def open(self, key: int) -> Document:
        """A document with its text. Raises `AuditError` where it was deleted meanwhile."""
        with self.store.reading() as session:
            row = session.get(DocumentRow, key)
            if row is None or row.workspace != self.name:
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
                author=row.author or "",
                year=row.year,
            )

    def replace(self, key: int, document: Document) -> None:
        """Puts `document` (cleaned in another way) in the place of the one under `key`."""
        new = _row(self.name, document)
        columns = {c.key: getattr(new, c.key) for c in DocumentRow.__table__.columns}
        self._update(key, {name: value for name, value in columns.items() if name not in ("key", "file_sha256")})

    def mark(self, key: int, label: Label, group: str) -> None:
        """Says of a document whether it is a member, and which texts it belongs with."""
        self._update(key, {"label": label.value, "group": group})

    def _update(self, key: int, values: dict[str, object]) -> None:
        mine = (DocumentRow.key == key, DocumentRow.workspace == self.name)
        with self.store.writing() as session:
            session.execute(update(DocumentRow).where(*mine).values(**values))

    def delete(self, keys: Collection[int]) -> None:
        """Deletes documents, and each file of which no document is left."""
        mine = (DocumentRow.workspace == self.name, DocumentRow.key.in_(keys))
        with self.store.writing() as session:
            touched = session.scalars(select(DocumentRow.file_sha256).where(*mine).distinct()).all()
            session.execute(delete(DocumentRow).where(*mine))
            still_used = select(DocumentRow.file_sha256).where(DocumentRow.workspace == self.name)
            unused = (FileRow.workspace == self.name, FileRow.sha256.in_(touched), FileRow.sha256.not_in(still_used))
            orphans = session.scalars(select(FileRow.sha256).where(*unused)).all()
            session.execute(delete(FileRow).where(FileRow.workspace == self.name, FileRow.sha256.in_(orphans)))
        for digest in orphans:
            self.file(digest).unlink(missing_ok=True)

    def file(self, digest: str) -> Path:
        """Where a file's bytes lie."""
        return self.folder / "files" / digest


def _row(workspace: str, document: Document) -> DocumentRow:
    n_words = len(document.text.split())
    return DocumentRow(
        workspace=workspace,
        text_sha256=document.id,
        title=document.title,
        media_type=document.media_type,
        source_name=document.source_name,
        group=document.group,
        label=document.label.value,
        author=document.author or None,
        year=document.year,
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
        author=row.author or "",
        year=row.year,
    )
