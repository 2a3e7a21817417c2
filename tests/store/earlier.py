"""The workspace database as version 0.1.0 made it, before there were migrations: frozen here for the takeover."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import JSON, ForeignKey, Text, create_engine, event
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

from auditlib.core import Document


class Base(DeclarativeBase):
    pass


class FileRow(Base):
    __tablename__ = "files"

    sha256: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    n_bytes: Mapped[int]
    documents: Mapped[list[DocumentRow]] = relationship(back_populates="file", cascade="all, delete-orphan")


class DocumentRow(Base):
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
    text: Mapped[str] = mapped_column(Text, deferred=True)
    raw: Mapped[str | None] = mapped_column(Text, deferred=True)
    edits: Mapped[list[list[str | int]]] = mapped_column(JSON, deferred=True)
    file: Mapped[FileRow] = relationship(back_populates="documents")


def write_workspace(home: Path, name: str, files: dict[str, list[Document]]) -> Path:
    """An earlier version's database with these documents by file hash. Gives its file."""
    folder = home / "workspaces" / name
    folder.mkdir(parents=True)
    engine = create_engine(f"sqlite:///{folder / 'workspace.db'}")

    @event.listens_for(engine, "connect")
    def _prepare(connection: object, _: object) -> None:
        connection.cursor().execute("PRAGMA journal_mode=WAL")  # type: ignore[attr-defined]

    Base.metadata.create_all(engine)
    with Session(engine) as session:
        for sha256, documents in files.items():
            session.add(FileRow(sha256=sha256, name=f"{sha256}.txt", n_bytes=7, documents=[_row(d) for d in documents]))
        session.commit()
    engine.dispose()
    return folder / "workspace.db"


def _row(document: Document) -> DocumentRow:
    return DocumentRow(
        text_sha256=document.id,
        title=document.title,
        media_type=document.media_type,
        source_name=document.source_name,
        group=document.group,
        label=document.label.value,
        n_words=len(document.text.split()),
        n_words_removed=3,
        warnings=list(document.warnings),
        steps=list(document.steps),
        text=document.text,
        raw=document.raw,
        edits=[[edit.step, edit.start, edit.end, edit.text] for edit in document.edits],
    )
