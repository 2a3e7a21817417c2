"""The one database, opened: SQLite in the data folder, or PostgreSQL where AUDIT_DATABASE_URL says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import Session

from auditlib.core import AuditError
from auditlib.store.failures import explained, folder_unusable
from auditlib.store.schema import bring_up_to_date

FILE_NAME = "audit.db"
BUSY_SECONDS = 30.0  # how long one writer waits for another
CONNECT_SECONDS = 10  # how long a PostgreSQL server may take to answer
POSTGRESQL = {"postgresql", "postgres", "postgresql+psycopg"}
PAGE_CACHE_KIB = 32 << 10  # holds the index of the cache's rows, which are looked up in no order
MOST_LOG_BYTES = 64 << 20  # what SQLite's write-ahead log is cut back to


class Store:
    """A data folder with its database, brought up to date; threads and processes may share both.

    home  the folder that holds files' bytes, and the database too where that is SQLite
    """

    def __init__(self, home: Path, database_url: str | None = None, busy_seconds: float = BUSY_SECONDS) -> None:
        """Opens the database, making it if need be.

        Raises `AuditError` where folder or database cannot be used, are locked for longer than `busy_seconds`, or
        were made by a newer version.
        """
        self.home = home
        url = _postgresql_url(database_url) if database_url else URL.create("sqlite", database=str(home / FILE_NAME))
        self.is_sqlite = url.get_backend_name() == "sqlite"
        # A password is shown to nobody.
        shown = str(home / FILE_NAME) if self.is_sqlite else url.render_as_string(hide_password=True)
        self.name = f"The database {shown}"
        try:
            home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise folder_unusable(home, error) from error
        self._engine = _sqlite(url, busy_seconds) if self.is_sqlite else _postgresql(url, busy_seconds)
        self._writing_engine = self._engine.execution_options(**{WRITES: True})
        try:
            with explained(self.name):
                bring_up_to_date(self._engine, self._writing_engine, home, self.name)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session for looking things up. Failures become `AuditError`s."""
        with explained(self.name), Session(self._engine) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A session that is committed at the end, or leaves no trace. Failures become `AuditError`s."""
        with explained(self.name), Session(self._writing_engine) as session, session.begin():
            yield session

    def compact(self) -> None:
        """Gives the room of deleted rows back to the disk, which SQLite does only when asked.

        Takes as long as writing what is left. Raises `AuditError` where others hold the database all the time.
        """
        if not self.is_sqlite:
            return
        connection = self._engine.raw_connection()  # outside a transaction, where these two must stand
        try:
            with explained(self.name):
                connection.cursor().execute("VACUUM")
                connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            connection.close()

    def close(self) -> None:
        """Closes all connections; the next use opens new ones."""
        self._engine.dispose()


WRITES = "auditlib_writes"  # the execution option that marks the engine for writing


def _sqlite(url: URL, busy_seconds: float) -> Engine:
    # Without an isolation level the driver leaves transactions to us, tables included.
    engine = create_engine(url, connect_args={"timeout": busy_seconds, "isolation_level": None})

    @event.listens_for(engine, "connect")
    def _prepare(connection: object, _: object) -> None:
        cursor = connection.cursor()  # type: ignore[attr-defined]
        # Readers and a writer do not block each other in this mode.
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.execute(f"PRAGMA journal_size_limit={MOST_LOG_BYTES}")
        cursor.execute(f"PRAGMA cache_size={-PAGE_CACHE_KIB}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A reader that turns writer is refused at once when another has written meanwhile; one that says so at the
        # start waits for its turn.
        writes = connection.get_execution_options().get(WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgresql(url: URL, busy_seconds: float) -> Engine:
    engine = create_engine(
        url,
        pool_pre_ping=True,  # a server that was restarted is not an error
        connect_args={"connect_timeout": CONNECT_SECONDS, "client_encoding": "utf8"},
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: object, _: object) -> None:
        connection.execute(f"SET lock_timeout = {int(busy_seconds * 1000)}")  # type: ignore[attr-defined]
        connection.commit()  # type: ignore[attr-defined]  # or it would end with the first transaction

    return engine


def _postgresql_url(address: str) -> URL:
    remedy = "Set it to postgresql://user:password@host/database, or remove it to use SQLite."
    try:
        url = make_url(address)
    except (ArgumentError, ValueError) as error:
        # The address itself is not repeated: it may hold a password.
        raise AuditError("The setting AUDIT_DATABASE_URL is no database address.", remedy) from error
    if url.drivername not in POSTGRESQL:
        raise AuditError(f"AUDIT_DATABASE_URL names {url.drivername}, which cannot be used here.", remedy)
    return url.set(drivername="postgresql+psycopg")
