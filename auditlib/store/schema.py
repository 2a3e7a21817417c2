"""Which version a database has, and bringing it to ours."""

from __future__ import annotations

import threading
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from auditlib.core import AuditError
from auditlib.store.migrations import REVISIONS

_OUR_LOCK = 0x41554449  # any number that no other program in the same PostgreSQL database locks
_one_at_a_time = threading.Lock()  # Alembic keeps the migration at work in a global


def bring_up_to_date(reading: Engine, writing: Engine, home: Path, name: str) -> None:
    """Runs the migrations that a database lacks, all or none; does next to nothing where it lacks none.

    Of two processes that come at once the second waits, and finds the work done. Raises `AuditError`, beginning with
    `name`, for a database of a newer version.
    """
    with reading.connect() as connection:
        if _is_current(connection, name):
            return
    with _one_at_a_time, writing.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _OUR_LOCK})
        if not _is_current(connection, name):
            _migrate(connection, home)


def _is_current(connection: Connection, name: str) -> bool:
    if not inspect(connection).has_table("alembic_version"):
        return False
    version = connection.scalar(text("SELECT version_num FROM alembic_version"))
    if version is not None and version not in REVISIONS:
        raise AuditError(
            f"{name} was made by a newer version of Pretraining Audit (its tables are {str(version)[:40]!r}, this "
            f"version knows them up to {REVISIONS[-1]!r}).",
            "Use that version, or set AUDIT_HOME or AUDIT_DATABASE_URL to another place.",
        )
    return bool(version == REVISIONS[-1])


def _migrate(connection: Connection, home: Path) -> None:
    # Imported late: a quarter of a second that nearly every start can do without.
    from alembic import command
    from alembic.config import Config

    folder = Path(__file__).parent / "migrations"
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    config.attributes["home"] = home
    command.upgrade(config, "head")
