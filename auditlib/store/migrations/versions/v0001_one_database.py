"""One database for all workspaces. Documents of `workspaces/<name>/workspace.db`, its forerunner, are taken over."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa
from alembic import context, op

from auditlib.core import AuditError

revision = "0001"
down_revision = None

BIG_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)
DOCUMENTS_AT_ONCE = 50  # a book and its original are some 2 MB


def upgrade() -> None:
    """Makes the tables and fills them from the earlier version's databases, which are left as they are."""
    _documents()
    _token_stats()
    _runs()
    for database in sorted((context.config.attributes["home"] / "workspaces").glob("*/workspace.db")):
        _take_over(database, database.parent.name)


def _documents() -> None:
    op.create_table(
        "files",
        sa.Column("workspace", sa.String, primary_key=True),
        sa.Column("sha256", sa.String, primary_key=True),
        sa.Column("name", sa.LargeBinary, nullable=False),
        sa.Column("n_bytes", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "documents",
        sa.Column("key", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("workspace", sa.String, nullable=False),
        sa.Column("file_sha256", sa.String, nullable=False),
        sa.Column("text_sha256", sa.String, nullable=False),
        sa.Column("title", sa.LargeBinary, nullable=False),
        sa.Column("media_type", sa.String, nullable=False),
        sa.Column("source_name", sa.LargeBinary, nullable=False),
        sa.Column("group", sa.LargeBinary, nullable=False),
        sa.Column("label", sa.String, nullable=False),
        sa.Column("n_words", sa.Integer, nullable=False),
        sa.Column("n_words_removed", sa.Integer, nullable=False),
        sa.Column("warnings", sa.Text, nullable=False),
        sa.Column("steps", sa.Text, nullable=False),
        sa.Column("text", sa.LargeBinary, nullable=False),
        sa.Column("raw", sa.LargeBinary),
        sa.Column("edits", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["workspace", "file_sha256"], ["files.workspace", "files.sha256"]),
    )
    op.create_index("ix_documents_file", "documents", ["workspace", "file_sha256"])


def _token_stats() -> None:
    op.create_table(
        "token_readings",
        sa.Column("key", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("identity_sha256", sa.String, nullable=False),
        sa.Column("windowing", sa.String, nullable=False),
        sa.UniqueConstraint("identity_sha256", "windowing", name="uq_token_readings"),
    )
    op.create_table(
        "token_stats",
        sa.Column("key", BIG_KEY, primary_key=True, autoincrement=True),
        sa.Column("reading_key", sa.Integer, sa.ForeignKey("token_readings.key"), nullable=False),
        sa.Column("text_sha256", sa.LargeBinary, nullable=False),
        sa.Column("last_used", sa.BigInteger, nullable=False),
        sa.Column("n_bytes", sa.Integer, nullable=False),
        sa.Column("checksum", sa.LargeBinary, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("reading_key", "text_sha256", name="uq_token_stats"),
    )
    op.create_index("ix_token_stats_last_used", "token_stats", ["last_used"])
    if op.get_bind().dialect.name == "postgresql":
        # Log-probabilities do not compress, so that PostgreSQL need not try.
        op.execute("ALTER TABLE token_stats ALTER COLUMN payload SET STORAGE EXTERNAL")
    totals = op.create_table(
        "token_totals",
        sa.Column("key", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("n_rows", sa.BigInteger, nullable=False),
        sa.Column("n_bytes", sa.BigInteger, nullable=False),
        sa.Column("clock", sa.BigInteger, nullable=False),
    )
    op.bulk_insert(totals, [{"key": 1, "n_rows": 0, "n_bytes": 0, "clock": 0}])


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("key", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String, nullable=False, unique=True),
        sa.Column("workspace", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("name", sa.LargeBinary, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("parameters", sa.Text, nullable=False),
        sa.Column("progress", sa.Text),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("identities", sa.Text, nullable=False),
        sa.Column("versions", sa.Text, nullable=False),
        sa.Column("who", sa.LargeBinary, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("started", TIME),
        sa.Column("finished", TIME),
        sa.Column("result", sa.LargeBinary),
        sa.Column("problem", sa.LargeBinary),
    )
    op.create_index("ix_runs_workspace", "runs", ["workspace", "key"])
    op.create_table(
        "run_inputs",
        sa.Column("run_id", sa.String, sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("inputs", sa.Text, nullable=False),
    )
    op.create_table(
        "artifacts",
        sa.Column("run_id", sa.String, sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("media_type", sa.String, nullable=False),
        sa.Column("sha256", sa.String, nullable=False),
        sa.Column("n_bytes", sa.BigInteger, nullable=False),
        sa.Column("created", TIME, nullable=False),
    )
    op.create_table(
        "calibrations",
        sa.Column("key", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("workspace", sa.String, nullable=False),
        sa.Column("name", sa.LargeBinary, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.UniqueConstraint("workspace", "name", name="uq_calibrations"),
    )


TEXTS = ("title", "source_name", "group", "text", "raw")  # kept as UTF-8 bytes from now on
FILE_COLUMNS = ("sha256", "name", "n_bytes")
DOCUMENT_COLUMNS = (
    "file_sha256", "text_sha256", "title", "media_type", "source_name", "group", "label", "n_words",
    "n_words_removed", "warnings", "steps", "text", "raw", "edits",
)  # fmt: skip


def _take_over(database: Path, workspace: str) -> None:
    files = sa.table("files", *(sa.column(c) for c in ("workspace", *FILE_COLUMNS)))
    documents = sa.table("documents", *(sa.column(c) for c in ("workspace", *DOCUMENT_COLUMNS)))
    bind = op.get_bind()
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as old:
            if not old.execute("SELECT 1 FROM sqlite_master WHERE name = 'documents'").fetchone():
                return  # a start that was broken off before it had made a table
            for rows in _rows(old, "files", FILE_COLUMNS, "rowid"):
                bind.execute(files.insert(), [r | {"workspace": workspace, "name": r["name"].encode()} for r in rows])
            for rows in _rows(old, "documents", DOCUMENT_COLUMNS, "key"):
                new = [r | {"workspace": workspace} | {c: _utf8(r[c]) for c in TEXTS} for r in rows]
                bind.execute(documents.insert(), new)
    except sqlite3.Error as error:
        raise AuditError(
            f"{database}, which an earlier version has left, cannot be used ({error}).",
            "Put a backup in its place, or move the file away to go on without its documents.",
        ) from error


def _rows(old: sqlite3.Connection, table: str, columns: tuple[str, ...], order: str) -> Iterator[list[dict[str, str]]]:
    names = ", ".join(f'"{c}"' for c in columns)
    cursor = old.execute(f'SELECT {names} FROM "{table}" ORDER BY {order}')  # noqa: S608  names of ours
    while rows := cursor.fetchmany(DOCUMENTS_AT_ONCE):
        yield [dict(zip(columns, row, strict=True)) for row in rows]


def _utf8(value: str | None) -> bytes | None:
    return None if value is None else value.encode()
