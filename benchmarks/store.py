"""How fast the token-statistics cache is, what a token takes in it, and whether a full one slows the list of runs.

    python -m benchmarks.store                     # SQLite, in a temporary folder
    python -m benchmarks.store --database-url postgresql://...

Statistics are made up, with the spread of real ones. First 10,000 texts of 700 tokens are put and read back, 100 a
batch as an audit does; then the cache is filled up to a million rows of `--row-tokens` tokens, and 500 runs are listed.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import numpy as np

from auditlib.core import ModelIdentity, TokenStats
from auditlib.store import Runs, Store, TokenCache

MODEL = ModelIdentity("made up", "made up", None, "0" * 64, "0" * 64, "0" * 64, "float32", "none")
WINDOWING = "8192 tokens, half overlapping"
TEXTS = 10_000
TOKENS = 700
BATCH = 100
ROWS = 1_000_000
RUNS = 500
VOCABULARY = 49_152
ARRAYS = ("token_ids", "start", "end", "logprob", "expected", "variance", "rank")


def stats_of(seed: int, n: int) -> TokenStats:
    """A text of `n` tokens as a model of the bundled one's size might read it."""
    generator = np.random.default_rng(seed)
    end = np.cumsum(generator.integers(1, 10, n), dtype=np.int32)
    logprob = -generator.exponential(3, n).astype(np.float32)
    expected = -generator.exponential(3, n).astype(np.float32)
    variance = generator.gamma(4, 2, n).astype(np.float32)
    ids = generator.integers(0, VOCABULARY, n).astype(np.int32)
    rank = np.minimum(generator.geometric(0.01, n), VOCABULARY).astype(np.int32)
    return TokenStats(ids, end - 1, end, logprob, expected, variance, rank)


def keys(start: int, stop: int) -> list[str]:
    """Hashes of texts by number."""
    return [sha256(str(n).encode()).hexdigest() for n in range(start, stop)]


@contextmanager
def timed(what: str, n: int) -> Iterator[None]:
    began = time.perf_counter()
    yield
    seconds = time.perf_counter() - began
    print(f"{what:44} {seconds:8.2f} s  {n / seconds:10,.0f} texts/s", flush=True)


def median_ms(call: Callable[[], object], rounds: int = 9) -> float:
    """Milliseconds that `call` takes, the median of some rounds."""
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        took.append(1000 * (time.perf_counter() - began))
    return statistics.median(took)


def disk_bytes(store: Store) -> int:
    """What the SQLite database takes on the disk."""
    store.close()  # so that the log is written into the file
    return sum(file.stat().st_size for file in store.home.glob("audit.db*"))


def speed(store: Store, cache: TokenCache) -> None:
    samples = [stats_of(seed, TOKENS) for seed in range(BATCH)]
    empty = disk_bytes(store)
    with timed(f"put {TEXTS:,} texts of {TOKENS} tokens", TEXTS):
        for at in range(0, TEXTS, BATCH):
            cache.put(MODEL, WINDOWING, dict(zip(keys(at, at + BATCH), samples, strict=True)))
    with timed("get them, 100 a call", TEXTS):
        for at in range(0, TEXTS, BATCH):
            assert len(cache.get(MODEL, WINDOWING, keys(at, at + BATCH))) == BATCH
    with timed("get them in one call", TEXTS):
        found = cache.get(MODEL, WINDOWING, keys(0, TEXTS))
    assert all(
        np.array_equal(getattr(found[key], name), getattr(samples[n % BATCH], name))
        for n, key in enumerate(keys(0, TEXTS))
        for name in ARRAYS
    )
    tokens = TEXTS * TOKENS
    raw = sum(getattr(samples[0], name).nbytes for name in ARRAYS) / TOKENS
    print(f"bytes a token: {cache.size().bytes / tokens:.2f} packed, {raw:.0f} as arrays", end="")
    print(f", {(disk_bytes(store) - empty) / tokens:.2f} on the disk" if store.is_sqlite else "")


def full(store: Store, cache: TokenCache, row_tokens: int, database_url: str | None) -> None:
    runs = Runs(store)
    now = datetime.now(UTC)
    parameters = {"documents": list(range(100)), "k": 20, "snippet_words": 512}
    inputs = {key: key for key in keys(0, 1_000)}
    for number in range(RUNS):
        run = runs.add("calibration", f"run {number}", parameters, seed=number, who="benchmark", now=now)
        runs.record(run.id, {"target": MODEL.as_dict()}, {"torch": "2.13.0"}, inputs)
    before = median_ms(runs.all)
    sample = stats_of(0, row_tokens)
    first = cache.size().rows
    with timed(f"fill up to {ROWS:,} rows of {row_tokens} tokens", ROWS - first):
        for at in range(first, ROWS, 1000):
            cache.put(MODEL, WINDOWING, dict.fromkeys(keys(at, at + 1000), sample))
    print(f"list {RUNS} runs: {before:.1f} ms before, {median_ms(runs.all):.1f} ms with {cache.size().rows:,} rows")
    print(f"size of the cache: {median_ms(cache.size):.2f} ms")
    last = keys(ROWS - BATCH, ROWS)
    print(f"get {BATCH} texts: {median_ms(lambda: cache.get(MODEL, WINDOWING, last)):.1f} ms")
    more = iter(range(ROWS, ROWS + 100_000, BATCH))

    def put() -> None:
        at = next(more)
        cache.put(MODEL, WINDOWING, dict.fromkeys(keys(at, at + BATCH), sample))

    print(f"put {BATCH} texts: {median_ms(put):.1f} ms")
    at_limit = TokenCache(store, cache.size().bytes)

    def put_and_evict() -> None:
        at = next(more)
        at_limit.put(MODEL, WINDOWING, dict.fromkeys(keys(at, at + BATCH), sample))

    print(f"put {BATCH} texts and drop as many: {median_ms(put_and_evict):.1f} ms")
    print(f"open: {median_ms(lambda: Store(store.home, database_url).close()):.1f} ms")
    with timed("clear", ROWS):
        cache.clear()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database-url", help="an empty PostgreSQL database")
    parser.add_argument("--row-tokens", type=int, default=20, help="tokens a row of the million (700: some 13 GB)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder), chosen.database_url)
        cache = TokenCache(store, limit_bytes=10**12)
        speed(store, cache)
        full(store, cache, chosen.row_tokens, chosen.database_url)
        store.close()


if __name__ == "__main__":
    main()
