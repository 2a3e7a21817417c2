"""Opening a database: quick when it is current, refused with a reason when it cannot be used, never half done."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import event, text

from auditlib.core import AuditError, Settings, settings
from auditlib.documents import pasted_document
from auditlib.store import Store, Workspace, migrations
from auditlib.store.migrations import REVISIONS
from auditlib.store.tables import Base
from tests.store.conftest import OpenStore

ROOT = Path(__file__).parents[2]


def test_migrations_make_the_tables_that_the_code_uses(store: Store) -> None:
    with store.reading() as session:
        context = MigrationContext.configure(session.connection(), opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_every_migration_is_known_by_name() -> None:
    script = ScriptDirectory(str(Path(migrations.__file__).parent))
    assert tuple(s.revision for s in reversed(list(script.walk_revisions()))) == REVISIONS


def test_opening_a_current_database_needs_no_alembic(database_url: str | None, open_store: OpenStore) -> None:
    home = open_store().home
    program = (
        "import sys, pathlib; from auditlib.store import Store; Store(pathlib.Path(sys.argv[1]), sys.argv[2]);"
        "sys.exit('alembic' in sys.modules)"
    )
    command = [sys.executable, "-c", program, str(home), database_url or ""]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def test_processes_that_open_a_new_database_at_once_all_succeed(
    tmp_path: Path, database_url: str | None, open_store: OpenStore
) -> None:
    # All wait at a gate after their imports, so that they meet.
    program = (
        "import sys, pathlib; from auditlib.store import Store; print(flush=True); input();"
        "Store(pathlib.Path(sys.argv[1]), sys.argv[2])"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "home"), database_url or ""]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, cwd=ROOT, **pipes) for _ in range(6)]
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0] * 6
    assert Workspace(open_store()).documents() == []


def test_database_of_a_newer_version_is_refused_and_left_alone(open_store: OpenStore) -> None:
    with open_store().writing() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(AuditError, match="made by a newer version.*'9999'"):
        open_store()
    with pytest.raises(AuditError, match="made by a newer version"):
        open_store()


def test_writer_that_waits_too_long_for_another_is_told(open_store: OpenStore) -> None:
    busy, waiting = open_store(), open_store(busy_seconds=0.2)
    with busy.writing() as session:
        session.execute(text("SELECT 1" if busy.is_sqlite else "LOCK TABLE files"))
        with pytest.raises(AuditError, match="is locked by another program"):
            Workspace(waiting).add("a.txt", b"a", [pasted_document("first")])
        if busy.is_sqlite:  # a reader need not wait
            assert Workspace(waiting).documents() == []
    assert not Workspace(waiting).add("a.txt", b"a", [pasted_document("first")]).was_there


def test_locked_database_that_was_never_opened_is_told(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "audit.db") as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(AuditError, match="audit.db is locked by another program"):
            Store(tmp_path, busy_seconds=0.2)
    other.close()


def test_failed_writing_leaves_no_trace(store: Store) -> None:
    def fail() -> None:
        with store.writing() as session:
            session.execute(text("UPDATE token_totals SET n_rows = 5"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.reading() as session:
        assert session.scalar(text("SELECT n_rows FROM token_totals")) == 0


def fill(workspace: Workspace) -> list[str]:
    """Adds documents of 1 MB until one does not fit; gives the texts of those that did."""
    kept: list[str] = []

    def write() -> None:
        for n in range(100):
            book = random.Random(n).randbytes(500_000).hex()  # which PostgreSQL can halve at best
            workspace.add(f"{n}.txt", str(n).encode(), [pasted_document(book)])
            kept.append(book)

    with pytest.raises(AuditError, match="no room left|No space left") as caught:
        write()
    assert "room" in caught.value.remedy.lower()
    return kept


def texts(workspace: Workspace) -> list[str]:
    return [workspace.open(d.key).text for d in workspace.documents()]


def test_full_disk_loses_nothing_written_before(small_disk: Path) -> None:
    workspace = Workspace(small_disk / "home")
    kept = fill(workspace)
    assert kept
    assert texts(workspace) == kept
    workspace.store.close()
    assert texts(Workspace(small_disk / "home")) == kept


def test_full_database_loses_nothing_written_before(tmp_path: Path) -> None:
    """The same where nobody may mount a disk: SQLite itself refuses to grow."""
    workspace = Workspace(tmp_path)
    workspace.store.close()
    event.listen(workspace.store._engine, "connect", lambda c, _: c.execute("PRAGMA max_page_count=1500"))
    kept = fill(workspace)
    assert kept
    assert texts(Workspace(tmp_path)) == kept


@pytest.fixture
def small_server(small_disk: Path, postgresql: str) -> Iterator[str]:
    """A PostgreSQL database whose tables, unlike the server's log, lie on a small disk."""
    folder = small_disk / "tables"
    folder.mkdir()
    with psycopg.connect(postgresql, autocommit=True) as connection:
        (data,) = connection.execute("SHOW data_directory").fetchone()
        owner = Path(data).stat()
        os.chown(folder, owner.st_uid, owner.st_gid)
        connection.execute(f"CREATE TABLESPACE small LOCATION '{folder}'")
        connection.execute("CREATE DATABASE small TABLESPACE small")
    yield postgresql.replace("/postgres?", "/small?")
    # The server writes what it has in memory before it drops a database, and needs room for that.
    subprocess.run(["mount", "-o", "remount,size=256m", str(small_disk)], check=True)
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute("DROP DATABASE small WITH (FORCE)")
        connection.execute("DROP TABLESPACE small")


def test_full_disk_of_a_server_loses_nothing_written_before(small_server: str, tmp_path: Path) -> None:
    workspace = Workspace(Store(tmp_path, small_server))
    kept = fill(workspace)
    assert kept
    workspace.store.close()
    assert texts(Workspace(Store(tmp_path, small_server))) == kept


def test_file_that_is_no_database_is_said_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "audit.db"
    file.write_bytes(b"not a database, whatever its name says" * 50)
    with pytest.raises(AuditError, match="audit.db is not a database, or is damaged"):
        Store(tmp_path)
    assert file.read_bytes() == b"not a database, whatever its name says" * 50


def test_folder_with_odd_characters_in_its_name_works(tmp_path: Path) -> None:
    home = tmp_path / "100% ?x=1&y#z é"
    Workspace(home).add("a.txt", b"a", [pasted_document("first")])
    assert (home / "audit.db").exists()
    assert texts(Workspace(home)) == ["first"]


def test_server_that_is_not_there_is_said_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="cannot be used") as caught:
        Store(tmp_path, "postgresql://me:secret@127.0.0.1:1/audit")
    assert "secret" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


@pytest.mark.parametrize("address", ["mysql://me:secret@host/audit", "no address", "postgresql://me:secret@h:port/x"])
def test_address_that_is_no_postgresql_is_refused_without_the_password(tmp_path: Path, address: str) -> None:
    with pytest.raises(AuditError, match="AUDIT_DATABASE_URL") as caught:
        Store(tmp_path, address)
    assert "secret" not in str(caught.value)


def test_setting_moves_the_database_and_is_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_DATABASE_URL", "postgresql://me:secret@host/audit")
    assert settings().database_url == "postgresql://me:secret@host/audit"
    assert "secret" not in repr(settings())
    monkeypatch.delenv("AUDIT_DATABASE_URL")
    assert Settings().database_url is None


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_server_that_was_restarted_is_used_again(open_store: OpenStore, database_url: str) -> None:
    workspace = Workspace(open_store())
    workspace.add("a.txt", b"a", [pasted_document("first")])
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
    assert texts(workspace) == ["first"]
