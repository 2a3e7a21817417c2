"""The token-statistics cache: what a model made of a text, kept so that no text passes through a model twice.

A row is found by the model's identity, by how the text was windowed, and by the text's SHA-256. Which rows go first
when there are too many is decided by a clock of the cache's own, which counts bytes put in: the machine's clock may be
set back, this one cannot. A row is marked as used only when its mark has fallen behind by a hundredth of the limit, so
that reading rows hardly ever writes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Select, delete, func, insert, select, text, update
from sqlalchemy.orm import Session

from auditlib.core import AuditError, ModelIdentity, TokenStats
from auditlib.store.database import Store
from auditlib.store.packing import pack, unpack
from auditlib.store.tables import ReadingRow, TokenStatsRow, TotalsRow

T = TypeVar("T")
logger = logging.getLogger(__name__)

ROWS_AT_ONCE = 500  # keys in one statement
FEWEST_CLEARED_AT_ONCE = 500  # rows; between two slices others may write
MOST_CLEARED_AT_ONCE = 20_000
SLICE_SECONDS = 0.3  # that a slice of a clearing is to take: rows are of very different lengths, and so are disks
PAUSE_SECONDS = 0.11  # between two slices: SQLite's waiting writers look every 0.1 s whether it is their turn
MARKS_PER_LIMIT = 100  # how finely "last used" is told: hundredths of the limit
CHECKSUM_BYTES = 16


@dataclass(frozen=True)
class CacheSize:
    """What the cache holds: texts, and bytes of their packed statistics, to which a database adds a few percent."""

    rows: int
    bytes: int


class _Found(NamedTuple):
    key: int
    text_sha256: bytes
    last_used: int
    checksum: bytes
    payload: bytes


class TokenCache:
    """Token statistics in the store's database, at most `limit_bytes` of them. Threads and processes may share it.

    n_corrupt  damaged rows that this object has met: deleted, and absent to whoever asked
    """

    def __init__(self, store: Store, limit_bytes: int) -> None:
        self._store = store
        self._limit_bytes = limit_bytes
        self.n_corrupt = 0

    def get(self, identity: ModelIdentity, windowing: str, text_sha256s: Iterable[str]) -> dict[str, TokenStats]:
        """Those of the texts (hashes in hex) that are there, bit for bit as they were put, without alternatives.

        windowing  names how a text was given to the model: context window and overlap
        """
        seal = _Seal(identity, windowing)
        wanted = [bytes.fromhex(sha) for sha in dict.fromkeys(text_sha256s)]
        found: dict[str, TokenStats] = {}
        stale: list[int] = []
        corrupt: list[int] = []
        with self._store.reading() as session:
            reading = session.scalar(_reading(identity, windowing))
            clock = session.scalar(select(TotalsRow.clock)) or 0
            for row in _rows(session, reading, wanted) if reading is not None else ():
                stats = _unpacked(row, seal)
                if stats is None:
                    corrupt.append(row.key)
                    continue
                found[row.text_sha256.hex()] = stats
                if clock - row.last_used > self._limit_bytes // MARKS_PER_LIMIT:
                    stale.append(row.key)
        if stale or corrupt:
            self._tidy(stale, corrupt)
        return found

    def put(self, identity: ModelIdentity, windowing: str, stats: Mapping[str, TokenStats]) -> None:
        """Keeps statistics by text hash (hex); what is there already stays. Makes room by dropping the least used.

        All of them are kept, or, where that fails with an `AuditError`, none.
        """
        seal = _Seal(identity, windowing)
        packed = {bytes.fromhex(sha): pack(one) for sha, one in stats.items()}
        with self._store.writing() as session:
            totals = _lock(session)
            reading = session.scalar(_reading(identity, windowing)) or _new_reading(session, identity, windowing)
            for shas in _chunks(list(packed)):
                there = session.scalars(
                    select(TokenStatsRow.text_sha256).where(
                        TokenStatsRow.reading_key == reading, TokenStatsRow.text_sha256.in_(shas)
                    )
                )
                missing = set(shas).difference(there)
                rows = [
                    {
                        "reading_key": reading,
                        "text_sha256": sha,
                        "last_used": totals.clock,
                        "n_bytes": len(packed[sha]),
                        "checksum": seal.of(sha, packed[sha]),
                        "payload": packed[sha],
                    }
                    for sha in shas
                    if sha in missing
                ]
                if rows:
                    session.connection().execute(insert(TokenStatsRow), rows)
                added = sum(len(packed[sha]) for sha in missing)
                totals.n_rows += len(rows)
                totals.n_bytes += added
                totals.clock += added
            _evict(session, totals, self._limit_bytes)

    def size(self) -> CacheSize:
        """What is held now; takes no longer for a million rows than for one."""
        with self._store.reading() as session:
            totals = session.scalars(select(TotalsRow)).one()
            return CacheSize(totals.n_rows, totals.n_bytes)

    def clear(self, progress: Callable[[int, int], None] = lambda done, total: None) -> None:
        """Forgets everything that was there at the start, and gives its room back to the disk.

        In slices, between which others may write; `progress` hears of rows forgotten and rows in all. What `progress`
        raises ends the clearing, and what is left stays as it was.
        """
        total = self.size().rows
        if self._store.is_sqlite:
            with self._store.reading() as session:
                last = session.scalar(select(func.max(TokenStatsRow.key))) or 0
            done, at_once = 0, FEWEST_CLEARED_AT_ONCE
            began = time.monotonic()
            while cleared := self._clear_some(last, at_once):
                done += cleared
                faster = SLICE_SECONDS / max(1e-3, time.monotonic() - began)
                at_once = int(min(MOST_CLEARED_AT_ONCE, max(FEWEST_CLEARED_AT_ONCE, at_once * min(2.0, faster))))
                progress(done, max(done, total))
                time.sleep(PAUSE_SECONDS)
                began = time.monotonic()
        else:
            with self._store.writing() as session:
                totals = _lock(session)
                session.execute(text("TRUNCATE token_stats"))
                totals.n_rows = totals.n_bytes = 0
        try:
            self._store.compact()
        except AuditError as error:  # others are busy: the room is used again before the file grows
            logger.warning("The database file keeps its size for now: %s", error.wrong)

    def _clear_some(self, last: int, most: int) -> int:
        """Forgets at most `most` rows of those up to the key `last`, and says how many that were."""
        row = TokenStatsRow
        with self._store.writing() as session:
            totals = _lock(session)
            keys = session.scalars(select(row.key).where(row.key <= last).order_by(row.key).limit(most)).all()
            if keys:
                _delete_where(session, totals, row.key <= keys[-1])
            return len(keys)

    def _tidy(self, stale: Sequence[int], corrupt: Sequence[int]) -> None:
        """Marks rows as used and deletes damaged ones: a reader need not fail where this cannot be written."""
        self.n_corrupt += len(corrupt)
        try:
            with self._store.writing() as session:
                totals = _lock(session)
                for keys in _chunks(stale):
                    session.execute(
                        update(TokenStatsRow)
                        .where(TokenStatsRow.key.in_(keys))
                        .values(last_used=totals.clock)
                        .execution_options(synchronize_session=False)
                    )
                _delete(session, totals, corrupt)
        except AuditError as error:
            logger.warning("The cache could not be tidied: %s", error)


def _reading(identity: ModelIdentity, windowing: str) -> Select[int]:
    return select(ReadingRow.key).where(
        ReadingRow.identity_sha256 == identity.digest, ReadingRow.windowing == windowing
    )


def _new_reading(session: Session, identity: ModelIdentity, windowing: str) -> int:
    row = ReadingRow(identity_sha256=identity.digest, windowing=windowing)
    session.add(row)
    session.flush()
    return row.key


def _lock(session: Session) -> TotalsRow:
    """The totals, for one writer at a time: on PostgreSQL by this row, on SQLite by the transaction itself."""
    return session.scalars(select(TotalsRow).with_for_update()).one()


def _rows(session: Session, reading: int, shas: Sequence[bytes]) -> Iterator[_Found]:
    row = TokenStatsRow
    columns = select(row.key, row.text_sha256, row.last_used, row.checksum, row.payload)
    for chunk in _chunks(shas):
        for found in session.execute(columns.where(row.reading_key == reading, row.text_sha256.in_(chunk))):
            yield _Found(*found)


class _Seal:
    """Checksums over rows and their keys: a sound row in a wrong place is as wrong as a damaged one."""

    def __init__(self, identity: ModelIdentity, windowing: str) -> None:
        self._reading = sha256(f"{identity.digest} {windowing}".encode())

    def of(self, text_sha256: bytes, payload: bytes) -> bytes:
        seal = self._reading.copy()
        seal.update(text_sha256)
        seal.update(payload)
        return seal.digest()[:CHECKSUM_BYTES]


def _unpacked(row: _Found, seal: _Seal) -> TokenStats | None:
    """A row's statistics; None where it is damaged."""
    if seal.of(row.text_sha256, row.payload) != row.checksum:
        return None
    try:
        return unpack(row.payload)
    except ValueError:
        return None


def _evict(session: Session, totals: TotalsRow, limit_bytes: int) -> None:
    while totals.n_bytes > limit_bytes:
        oldest = session.execute(
            select(TokenStatsRow.key, TokenStatsRow.n_bytes).order_by(TokenStatsRow.last_used).limit(ROWS_AT_ONCE)
        ).all()
        excess = totals.n_bytes - limit_bytes
        keys = []
        for key, n_bytes in oldest:
            if excess <= 0:
                break
            keys.append(key)
            excess -= n_bytes
        if not keys:
            return
        _delete(session, totals, keys)


def _delete(session: Session, totals: TotalsRow, keys: Sequence[int]) -> None:
    for chunk in _chunks(keys):
        _delete_where(session, totals, TokenStatsRow.key.in_(chunk))


def _delete_where(session: Session, totals: TotalsRow, condition: ColumnElement[bool]) -> None:
    """Deletes those of the rows that are still there, and takes them off the totals."""
    counted = select(func.count(), func.coalesce(func.sum(TokenStatsRow.n_bytes), 0)).where(condition)
    n_rows, n_bytes = session.execute(counted).one()
    session.execute(delete(TokenStatsRow).where(condition).execution_options(synchronize_session=False))
    totals.n_rows -= n_rows
    totals.n_bytes -= int(n_bytes)


def _chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for at in range(0, len(items), ROWS_AT_ONCE):
        yield items[at : at + ROWS_AT_ONCE]
