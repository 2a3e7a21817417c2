"""What a database says when it fails, as a sentence of what is wrong and one of what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, IntegrityError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from auditlib.core import AuditError

FULL = ("has no room left, so nothing more was written; what was there before is kept", "Make room on its disk.")
LOCKED = (
    "is locked by another program",
    "Wait until that has finished, or close it (a backup, a database viewer, a second worker).",
)
NO_DATABASE = (
    "is not a database, or is damaged",
    "Put a backup in its place, or move the file away to begin with an empty one.",
)

SQLITE_SAYS = {
    sqlite3.SQLITE_BUSY: LOCKED,
    sqlite3.SQLITE_LOCKED: LOCKED,
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_NOTADB: NO_DATABASE,
    sqlite3.SQLITE_CORRUPT: NO_DATABASE,
}
POSTGRESQL_SAYS = {  # SQLSTATE
    "53100": FULL,
    "55P03": LOCKED,
    "40P01": LOCKED,
}
ELSE_SQLITE = "See that its folder can be written and has room, or set AUDIT_HOME to another folder."
ELSE_POSTGRESQL = "See that the server runs and takes this address (AUDIT_DATABASE_URL)."


@contextmanager
def explained(database: str) -> Iterator[None]:
    """Turns what a database or the connection to it suffers into an `AuditError` that begins with `database`.

    A broken constraint and a wrong statement pass unchanged: the one is for the caller, the other is a bug.
    """
    try:
        yield
    except (IntegrityError, ProgrammingError):
        raise
    except PoolTimeoutError as error:
        raise AuditError(f"{database} has too many readers at once.", "Try again in a minute.") from error
    except DBAPIError as error:
        raise _explained(error, database) from error


def _explained(error: DBAPIError, database: str) -> AuditError:
    cause = error.orig
    if isinstance(cause, sqlite3.Error):
        # The low byte is the error, the others say more of it. A failure before any statement has no code.
        known = SQLITE_SAYS.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF)
        remedy = ELSE_SQLITE
    else:
        known = POSTGRESQL_SAYS.get(getattr(cause, "sqlstate", None) or "")
        remedy = ELSE_POSTGRESQL
    if known is not None:
        return AuditError(f"{database} {known[0]}.", known[1])
    lines = str(cause).strip().splitlines() or [""]
    return AuditError(f"{database} cannot be used ({lines[0]}).", remedy)


def folder_unusable(folder: object, error: OSError) -> AuditError:
    """For a folder that cannot be made, read or written."""
    return AuditError(
        f"The data folder {folder} cannot be used ({error.strerror or error}).",
        "See that it can be written and has room, or set AUDIT_HOME to another folder.",
    )
