"""The database's tables, and how a database is opened."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import JSON, Engine, ForeignKey, Text, create_engine, event
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

BUSY_TIMEOUT_SECONDS = 30  # how long one writer waits for another


class Base(DeclarativeBase):
    """All tables of a workspace."""


class FileRow(Base):
    """A file as it was brought; its bytes lie beside the database under the same hash."""

    __tablename__ = "files"

    sha256: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    n_bytes: Mapped[int]
    documents: Mapped[list[DocumentRow]] = relationship(back_populates="file", cascade="all, delete-orphan")


class DocumentRow(Base):
    """One text of a file, with the cleaning that made it; `text_sha256` is the document's id."""

    __tablename__ = "documents"

    key: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    file_sha256: Mapped[str] = mapped_column(ForeignKey("files.sha256"), index=True)
    text_sha256: Mapped[str] = mapped_column(index=True)
    title: Mapped[str]
    media_type: Mapped[str]
    source_name: Mapped[str]
    group: Mapped[str]
    label: Mapped[str]
    n_words: Mapped[int]
    n_words_removed: Mapped[int]
    warnings: Mapped[list[str]] = mapped_column(JSON)
    steps: Mapped[list[str]] = mapped_column(JSON)
    # Long columns are loaded only where a document is opened: a list of 100 books must not read 100 books.
    text: Mapped[str] = mapped_column(Text, deferred=True)
    raw: Mapped[str | None] = mapped_column(Text, deferred=True)
    edits: Mapped[list[list[str | int]]] = mapped_column(JSON, deferred=True)
    file: Mapped[FileRow] = relationship(back_populates="documents")


def open_database(file: Path) -> Engine:
    """A database in one file, made if it is not there; several processes may use it at once."""
    engine = create_engine(f"sqlite:///{file}", connect_args={"timeout": BUSY_TIMEOUT_SECONDS})

    @event.listens_for(engine, "connect")
    def _prepare(connection: object, _: object) -> None:
        cursor = connection.cursor()  # type: ignore[attr-defined]
        # Readers and a writer do not block each other in this mode.
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    Base.metadata.create_all(engine)
    return engine
