"""The database's tables as they are now. How they came to be so is in `migrations/`; a test compares the two.

One database holds all workspaces, told apart by a column, because the token statistics are worth most when they are
shared: what a model made of a text is the same for everybody, and one database has one size limit and one clean-up.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from auditlib.store.columns import AnyText, Json, UtcTime

# SQLite numbers rows by itself only where the key is called INTEGER, which has 64 bits there.
BigKey = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    """All tables."""


class FileRow(Base):
    """A file as it was brought; its bytes lie in the workspace's folder under the same hash."""

    __tablename__ = "files"

    workspace: Mapped[str] = mapped_column(primary_key=True)
    sha256: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(AnyText)
    n_bytes: Mapped[int] = mapped_column(BigInteger)
    documents: Mapped[list[DocumentRow]] = relationship(back_populates="file", cascade="all, delete-orphan")


class DocumentRow(Base):
    """One text of a file, with the cleaning that made it; `text_sha256` is the document's id."""

    __tablename__ = "documents"

    key: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    workspace: Mapped[str]
    file_sha256: Mapped[str]
    text_sha256: Mapped[str]
    title: Mapped[str] = mapped_column(AnyText)
    media_type: Mapped[str]
    source_name: Mapped[str] = mapped_column(AnyText)
    group: Mapped[str] = mapped_column(AnyText)
    label: Mapped[str]
    n_words: Mapped[int]
    n_words_removed: Mapped[int]
    author: Mapped[str | None] = mapped_column(AnyText)
    year: Mapped[int | None]
    warnings: Mapped[list[str]] = mapped_column(Json)
    steps: Mapped[list[str]] = mapped_column(Json)
    # Long columns are loaded only where a document is opened: a list of 100 books must not read 100 books.
    text: Mapped[str] = mapped_column(AnyText, deferred=True)
    raw: Mapped[str | None] = mapped_column(AnyText, deferred=True)
    edits: Mapped[list[list[str | int]]] = mapped_column(Json, deferred=True)
    file: Mapped[FileRow] = relationship(back_populates="documents")

    __table_args__ = (
        ForeignKeyConstraint(["workspace", "file_sha256"], ["files.workspace", "files.sha256"]),
        Index("ix_documents_file", "workspace", "file_sha256"),
    )


class ReadingRow(Base):
    """One way of reading texts: a model, and how it was given them. Its number keeps the rows of the cache short."""

    __tablename__ = "token_readings"

    key: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    identity_sha256: Mapped[str]
    windowing: Mapped[str]

    __table_args__ = (UniqueConstraint("identity_sha256", "windowing", name="uq_token_readings"),)


class TokenStatsRow(Base):
    """What one reading made of one text. `last_used` is in ticks of `TotalsRow.clock`."""

    __tablename__ = "token_stats"

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    reading_key: Mapped[int] = mapped_column(ForeignKey("token_readings.key"))
    text_sha256: Mapped[bytes] = mapped_column(LargeBinary)
    last_used: Mapped[int] = mapped_column(BigInteger)
    n_bytes: Mapped[int]
    checksum: Mapped[bytes] = mapped_column(LargeBinary)
    payload: Mapped[bytes] = mapped_column(LargeBinary)

    __table_args__ = (
        UniqueConstraint("reading_key", "text_sha256", name="uq_token_stats"),
        Index("ix_token_stats_last_used", "last_used"),
    )


class TotalsRow(Base):
    """One row: what the cache holds, and its clock, which is how many bytes were ever put in.

    Counting a million rows takes a second, reading this takes none. Every writer of the cache locks this row first.
    """

    __tablename__ = "token_totals"

    key: Mapped[int] = mapped_column(primary_key=True)
    n_rows: Mapped[int] = mapped_column(BigInteger)
    n_bytes: Mapped[int] = mapped_column(BigInteger)
    clock: Mapped[int] = mapped_column(BigInteger)


class RunRow(Base):
    """One execution of an audit. `key` is the order in which runs came, whatever a clock said."""

    __tablename__ = "runs"

    key: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(unique=True)
    workspace: Mapped[str]
    kind: Mapped[str]
    name: Mapped[str] = mapped_column(AnyText)
    state: Mapped[str]
    parameters: Mapped[dict[str, Any]] = mapped_column(Json)
    progress: Mapped[list[Any] | None] = mapped_column(Json)
    seed: Mapped[int] = mapped_column(BigInteger)
    identities: Mapped[dict[str, Any]] = mapped_column(Json)
    versions: Mapped[dict[str, str]] = mapped_column(Json)
    who: Mapped[str] = mapped_column(AnyText)
    created: Mapped[datetime] = mapped_column(UtcTime)
    started: Mapped[datetime | None] = mapped_column(UtcTime)
    finished: Mapped[datetime | None] = mapped_column(UtcTime)
    result: Mapped[str | None] = mapped_column(AnyText)
    problem: Mapped[str | None] = mapped_column(AnyText)

    __table_args__ = (Index("ix_runs_workspace", "workspace", "key"),)


class RunInputsRow(Base):
    """A run's input hashes, apart: there may be 10,000, which neither a list nor a step's progress should move."""

    __tablename__ = "run_inputs"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    inputs: Mapped[dict[str, str]] = mapped_column(Json)


class ArtifactRow(Base):
    """A file that a run made; its bytes lie in the run's folder under their hash."""

    __tablename__ = "artifacts"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    media_type: Mapped[str]
    sha256: Mapped[str]
    n_bytes: Mapped[int] = mapped_column(BigInteger)
    created: Mapped[datetime] = mapped_column(UtcTime)


class CalibrationRow(Base):
    """A calibration under the name a person gave it."""

    __tablename__ = "calibrations"

    key: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    workspace: Mapped[str]
    name: Mapped[str] = mapped_column(AnyText)
    value: Mapped[dict[str, Any]] = mapped_column(Json)
    created: Mapped[datetime] = mapped_column(UtcTime)

    __table_args__ = (UniqueConstraint("workspace", "name", name="uq_calibrations"),)


class SavedModelRow(Base):
    """A model under the name a person gave it: what to ask for when it is to be opened, never a key."""

    __tablename__ = "saved_models"

    key: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    workspace: Mapped[str]
    name: Mapped[str] = mapped_column(AnyText)
    request: Mapped[dict[str, Any]] = mapped_column(Json)
    created: Mapped[datetime] = mapped_column(UtcTime)

    __table_args__ = (UniqueConstraint("workspace", "name", name="uq_saved_models"),)
