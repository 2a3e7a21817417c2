"""The token-statistics cache: what was put comes back, damage is noticed, and the least used goes first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import func, select, text, update

from auditlib.core import AuditError, ModelIdentity, TokenStats
from auditlib.store import CacheSize, Clearing, ClearingState, Store, TokenCache, token_cache
from auditlib.store.packing import pack
from auditlib.store.tables import TokenStatsRow, TotalsRow
from tests.store.conftest import OpenStore
from tests.store.test_packing import assert_same_bits

MODEL = ModelIdentity("tiny", "built in a test", None, "0" * 64, "0" * 64, "0" * 64, "float32", "transformers")
WINDOWING = "8192 tokens, half overlapping"
LIMIT = 10**9
ROOT = Path(__file__).parents[2]


def stats_of(seed: int, n: int = 20) -> TokenStats:
    generator = np.random.default_rng(seed)
    end = np.cumsum(generator.integers(1, 9, n), dtype=np.int32)
    floats = [generator.normal(size=n).astype(np.float32) for _ in range(3)]
    ids = generator.integers(0, 50_000, n).astype(np.int32)
    return TokenStats(ids, end - 1, end, *floats, ids + 1)


def sha(number: int) -> str:
    return sha256(str(number).encode()).hexdigest()


def some(numbers: Iterable[int], n: int = 20) -> dict[str, TokenStats]:
    return {sha(number): stats_of(number, n) for number in numbers}


def kept(cache: TokenCache, numbers: Iterable[int]) -> set[int]:
    """Which of the numbers are there, without marking them as used."""
    with cache._store.reading() as session:
        there = set(session.scalars(select(TokenStatsRow.text_sha256)))
    return {number for number in numbers if bytes.fromhex(sha(number)) in there}


def assert_totals_are_true(store: Store) -> None:
    row = TokenStatsRow
    with store.reading() as session:
        counted = session.execute(select(func.count(), func.sum(func.length(row.payload)))).one()
        totals = session.scalars(select(TotalsRow)).one()
        assert (totals.n_rows, totals.n_bytes) == (counted[0], counted[1] or 0)


@pytest.fixture
def cache(store: Store) -> TokenCache:
    return TokenCache(store, LIMIT)


def test_statistics_come_back_bit_for_bit_and_only_those_that_are_there(cache: TokenCache) -> None:
    put = some(range(5)) | {sha(5): replace(stats_of(5), expected=None, variance=None, rank=None)}
    cache.put(MODEL, WINDOWING, put)
    got = cache.get(MODEL, WINDOWING, [sha(number) for number in range(10)])
    assert set(got) == set(put)
    for key, stats in put.items():
        assert_same_bits(got[key], stats)


def test_more_texts_than_one_statement_holds(cache: TokenCache) -> None:
    put = some(range(1201), n=2)
    cache.put(MODEL, WINDOWING, put)
    assert set(cache.get(MODEL, WINDOWING, put)) == set(put)
    assert cache.size() == CacheSize(1201, sum(len(pack(s)) for s in put.values()))


def test_another_model_or_windowing_has_its_own_rows(cache: TokenCache) -> None:
    cache.put(MODEL, WINDOWING, some([1]))
    assert cache.get(replace(MODEL, dtype="bfloat16"), WINDOWING, [sha(1)]) == {}
    assert cache.get(replace(MODEL, adapter="a" * 64), WINDOWING, [sha(1)]) == {}
    assert cache.get(MODEL, "1024 tokens, half overlapping", [sha(1)]) == {}


def test_same_weights_under_another_name_are_the_same_model(cache: TokenCache) -> None:
    cache.put(MODEL, WINDOWING, some([1]))
    assert cache.get(replace(MODEL, name="other", source="/elsewhere", revision="abc"), WINDOWING, [sha(1)])


@pytest.mark.parametrize("field", [f.name for f in fields(ModelIdentity)])
def test_digest_tells_models_apart_by_what_decides_their_numbers(field: str) -> None:
    decides = field not in ("name", "source", "revision")
    assert (replace(MODEL, **{field: "else"}).digest != MODEL.digest) == decides


def test_putting_again_changes_nothing(cache: TokenCache) -> None:
    cache.put(MODEL, WINDOWING, some([1]))
    size = cache.size()
    cache.put(MODEL, WINDOWING, {sha(1): stats_of(99)})
    assert cache.size() == size
    assert_same_bits(cache.get(MODEL, WINDOWING, [sha(1)])[sha(1)], stats_of(1))


@pytest.mark.parametrize("damage", ["a flipped bit", "cut", "moved to another text", "a lost checksum"])
def test_damaged_row_is_absent_counted_deleted_and_can_be_put_again(
    cache: TokenCache, store: Store, damage: str
) -> None:
    cache.put(MODEL, WINDOWING, some([1, 2]))
    with store.writing() as session:
        row = session.scalars(select(TokenStatsRow).where(TokenStatsRow.text_sha256 == bytes.fromhex(sha(1)))).one()
        if damage == "a flipped bit":
            row.payload = row.payload[:40] + bytes([row.payload[40] ^ 1]) + row.payload[41:]
        elif damage == "cut":
            row.payload = row.payload[:-1]
        elif damage == "moved to another text":
            row.text_sha256 = bytes.fromhex(sha(3))
        else:
            row.checksum = b""
    looked_for = 3 if damage == "moved to another text" else 1
    assert set(cache.get(MODEL, WINDOWING, [sha(looked_for), sha(2)])) == {sha(2)}
    assert cache.n_corrupt == 1
    assert cache.size().rows == 1
    cache.put(MODEL, WINDOWING, some([1]))
    assert_same_bits(cache.get(MODEL, WINDOWING, [sha(1)])[sha(1)], stats_of(1))
    assert cache.n_corrupt == 1


def test_byte_that_changed_on_the_disk_is_noticed(tmp_path: Path) -> None:
    store = Store(tmp_path)
    TokenCache(store, LIMIT).put(MODEL, WINDOWING, some([1, 2], n=700))
    store.close()
    file = tmp_path / "audit.db"
    data = bytearray(file.read_bytes())
    data[data.index(stats_of(1, 700).logprob[50:60].tobytes())] ^= 1
    file.write_bytes(data)
    cache = TokenCache(Store(tmp_path), LIMIT)
    assert set(cache.get(MODEL, WINDOWING, [sha(1), sha(2)])) == {sha(2)}
    assert cache.n_corrupt == 1


def test_reading_does_not_fail_where_nothing_can_be_written(open_store: OpenStore) -> None:
    TokenCache(open_store(), LIMIT).put(MODEL, WINDOWING, some([1, 2]))
    with open_store().writing() as session:  # so that reading would like to mark the row
        session.execute(update(TotalsRow).values(clock=TotalsRow.clock + LIMIT))
    cache = TokenCache(open_store(busy_seconds=0.1), LIMIT)
    with open_store().writing() as session:
        session.execute(update(TotalsRow).values(clock=TotalsRow.clock))
        assert set(cache.get(MODEL, WINDOWING, [sha(1)])) == {sha(1)}


ROW = len(pack(stats_of(0)))  # bytes of one of our rows


def test_least_recently_used_go_first_when_the_limit_is_reached(store: Store) -> None:
    cache = TokenCache(store, 10 * ROW)
    for number in range(10):
        cache.put(MODEL, WINDOWING, some([number]))
    assert set(cache.get(MODEL, WINDOWING, [sha(0), sha(1)])) == {sha(0), sha(1)}
    cache.put(MODEL, WINDOWING, some(range(10, 14)))
    assert kept(cache, range(14)) == {0, 1, *range(6, 14)}
    assert cache.size() == CacheSize(10, 10 * ROW)
    assert_totals_are_true(store)


def test_limit_that_was_lowered_holds_from_the_next_put(store: Store) -> None:
    TokenCache(store, LIMIT).put(MODEL, WINDOWING, some(range(1200), n=20))
    cache = TokenCache(store, 10 * ROW)
    cache.put(MODEL, WINDOWING, some([5000]))
    assert cache.size().rows == 10
    assert kept(cache, [5000]) == {5000}
    assert_totals_are_true(store)


def test_limit_of_nothing_keeps_nothing(store: Store) -> None:
    cache = TokenCache(store, 0)
    cache.put(MODEL, WINDOWING, some(range(3)))
    assert cache.size() == CacheSize(0, 0)


def test_machine_clock_has_no_say_in_what_goes_first(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = TokenCache(store, 4 * ROW)
    for number, clock in enumerate([4e9, 3e9, 2e9, 1e9, 0.0]):
        monkeypatch.setattr(time, "time", lambda clock=clock: clock)
        cache.put(MODEL, WINDOWING, some([number]))
    assert kept(cache, range(5)) == {1, 2, 3, 4}


def test_clearing_forgets_all_and_gives_the_room_back(cache: TokenCache, store: Store) -> None:
    cache.put(MODEL, WINDOWING, some(range(6000), n=50))
    cache.clear()
    assert cache.size() == CacheSize(0, 0)
    assert cache.get(MODEL, WINDOWING, [sha(1)]) == {}
    if store.is_sqlite:
        assert sum(f.stat().st_size for f in store.home.glob("audit.db*")) < 1_000_000
    cache.put(MODEL, WINDOWING, some([1]))
    assert_totals_are_true(store)


def test_clearing_works_while_somebody_reads(cache: TokenCache, open_store: OpenStore) -> None:
    cache.put(MODEL, WINDOWING, some(range(3)))
    mine = TokenCache(open_store(busy_seconds=0.2), LIMIT)
    with open_store().reading() as session:
        session.scalar(text("SELECT count(*) FROM token_totals"))
        mine.clear()
    assert mine.size() == CacheSize(0, 0)


def test_clearing_goes_in_slices_says_how_far_and_lets_others_write(
    cache: TokenCache, open_store: OpenStore, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not store.is_sqlite:
        pytest.skip("PostgreSQL empties the table at once")
    monkeypatch.setattr(token_cache, "FEWEST_CLEARED_AT_ONCE", 10)
    monkeypatch.setattr(token_cache, "MOST_CLEARED_AT_ONCE", 10)
    cache.put(MODEL, WINDOWING, some(range(200)))
    other = TokenCache(open_store(), LIMIT)
    heard: list[tuple[int, int]] = []
    began, failures = threading.Event(), []

    def write() -> None:
        began.wait(60)
        try:
            for number in range(1000, 1003):
                other.put(MODEL, WINDOWING, some([number]))
                written.append(len(heard))
        except BaseException as error:
            failures.append(error)

    written: list[int] = []
    writer = threading.Thread(target=write)
    writer.start()

    def hear(done: int, total: int) -> None:
        heard.append((done, total))
        began.set()

    cache.clear(hear)
    writer.join()
    assert failures == []
    assert heard == [(10 * n, 200) for n in range(1, 21)]
    assert len(written) == 3
    assert written[-1] < 20  # not only when all was over
    assert kept(cache, range(1100)) == {1000, 1001, 1002}  # they came after the start
    assert_totals_are_true(store)


def test_clearing_that_is_stopped_leaves_the_rest_usable(
    cache: TokenCache, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not store.is_sqlite:
        pytest.skip("PostgreSQL empties the table at once")
    monkeypatch.setattr(token_cache, "FEWEST_CLEARED_AT_ONCE", 10)
    cache.put(MODEL, WINDOWING, some(range(100)))

    def stop(done: int, total: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        cache.clear(stop)
    assert cache.size().rows == 90
    assert len(cache.get(MODEL, WINDOWING, [sha(number) for number in range(100)])) == 90
    assert_totals_are_true(store)


def test_clearing_in_the_background_is_one_at_a_time_and_says_how_it_ended(
    cache: TokenCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.put(MODEL, WINDOWING, some(range(30)))
    may_go, clear = threading.Event(), TokenCache.clear

    def held(self: TokenCache, progress: Callable[[int, int], None]) -> None:
        may_go.wait(60)
        clear(self, progress)

    monkeypatch.setattr(TokenCache, "clear", held)
    clearing = Clearing(cache)
    assert clearing.start()
    assert clearing.state == ClearingState(True, 0, 30)
    assert not clearing.start()
    may_go.set()
    wait_for_end(clearing)
    assert clearing.state == ClearingState(False, 30, 30)
    assert cache.size() == CacheSize(0, 0)

    def fails(self: TokenCache, progress: Callable[[int, int], None]) -> None:
        progress(3, 10)
        raise AuditError("The disk is full.", "Make room.")

    monkeypatch.setattr(TokenCache, "clear", fails)
    assert clearing.start()
    wait_for_end(clearing)
    problem = clearing.state.problem
    assert problem is not None
    assert problem.wrong == "The disk is full."
    assert clearing.state.done == 3


def wait_for_end(clearing: Clearing) -> None:
    until = time.monotonic() + 60
    while clearing.state.is_running:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_two_writers_at_once_keep_each_row_once(open_store: OpenStore) -> None:
    caches = [TokenCache(open_store(), LIMIT) for _ in range(2)]
    failures: list[BaseException] = []

    def write(cache: TokenCache, order: range) -> None:
        try:
            for number in order:
                cache.put(MODEL, WINDOWING, some([number, number + 1]))
        except BaseException as error:
            failures.append(error)

    threads = [
        threading.Thread(target=write, args=(caches[0], range(60))),
        threading.Thread(target=write, args=(caches[1], range(59, -1, -1))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert caches[0].size() == CacheSize(61, 61 * ROW)
    assert_totals_are_true(open_store())


def test_writer_that_is_killed_leaves_whole_batches_and_true_totals(
    database_url: str | None, open_store: OpenStore
) -> None:
    store = open_store()
    program = (
        "import sys, pathlib; from itertools import count\n"
        "from auditlib.store import Store, TokenCache; from tests.store.test_token_cache import *\n"
        "cache = TokenCache(Store(pathlib.Path(sys.argv[1]), sys.argv[2]), LIMIT)\n"
        "for batch in count(): cache.put(MODEL, WINDOWING, some(range(7 * batch, 7 * batch + 7))); print(flush=True)"
    )
    command = [sys.executable, "-c", program, str(store.home), database_url or ""]
    for _ in range(3):
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        for _ in range(5):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    rows = TokenCache(store, LIMIT).size().rows
    assert rows >= 35
    assert rows % 7 == 0
    assert_totals_are_true(store)


def test_full_disk_leaves_the_cache_as_it_was(small_disk: Path) -> None:
    store = Store(small_disk / "home")
    cache = TokenCache(store, LIMIT)
    written = []

    def write() -> None:
        for batch in range(0, 100_000, 100):
            cache.put(MODEL, WINDOWING, some(range(batch, batch + 100), n=700))
            written.extend(range(batch, batch + 100))

    with pytest.raises(AuditError, match="no room left"):
        write()
    assert written
    assert cache.size().rows == len(written)
    assert len(cache.get(MODEL, WINDOWING, map(sha, written))) == len(written)
    assert_totals_are_true(store)
