"""Reading through the cache, in this process and without a queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from auditlib.core import AuditError, TokenStats
from auditlib.jobs.cached_reading import CachedModel, ReadingPlan, text_key
from auditlib.models.local import LocalModel
from auditlib.scoring import read_texts
from auditlib.store import Store, TokenCache
from auditlib.store.packing import pack
from tests.jobs.conftest import documents
from tests.tiny import byte_level_tokenizer, llama_config, local_model

LIMIT = 10**8


class Noted:
    """What stands around a reading, here kept in lists."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.plans: dict[str, ReadingPlan] = {}
        self.read: list[str] = []
        self.notes: list[str] = []
        self.tokens = 0
        self._stop_after = stop_after

    @property
    def kept(self) -> ReadingPlan | None:
        return self.plans.get("")

    def plan(self, part: str) -> ReadingPlan | None:
        return self.plans.get(part)

    def keep_plan(self, part: str, plan: ReadingPlan) -> None:
        self.plans[part] = plan

    def step(self, name: str, work: Callable[[], int]) -> int:
        if self._stop_after is not None and len(self.read) >= self._stop_after:
            raise KeyboardInterrupt
        tokens = work()
        if tokens:
            self.read.append(name)
        return tokens

    def breathe(self) -> None: ...

    def scored(self, tokens: int) -> None:
        self.tokens += tokens

    def tell(self, note: str) -> None:
        self.notes.append(note)


@pytest.fixture
def model() -> LocalModel:
    return local_model(llama_config(context=256), byte_level_tokenizer(), batch_tokens=192)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "home")
    yield opened
    opened.close()


@pytest.fixture
def texts() -> list[str]:
    return [document.text for document in documents(24)]


def packed(found: Iterator[tuple[int, TokenStats]]) -> dict[int, bytes]:
    return {index: pack(stats) for index, stats in found}


def test_what_was_read_is_not_read_again_and_is_the_same(model: LocalModel, store: Store, texts: list[str]) -> None:
    cache = TokenCache(store, LIMIT)
    first, second = Noted(), Noted()
    one = packed(CachedModel(model, cache, LIMIT, first).token_stats(texts))
    two = packed(CachedModel(model, cache, LIMIT, second).token_stats(texts))
    assert one == two
    assert len(first.read) > 3
    assert second.read == []
    assert second.tokens == 0


def test_an_interrupted_reading_goes_on_with_the_same_batches(
    model: LocalModel, store: Store, texts: list[str], tmp_path: Path
) -> None:
    other = Store(tmp_path / "other")
    whole = packed(CachedModel(model, TokenCache(other, LIMIT), LIMIT, Noted()).token_stats(texts))
    other.close()
    cache = TokenCache(store, LIMIT)
    broken = Noted(stop_after=3)
    with pytest.raises(KeyboardInterrupt):
        list(CachedModel(model, cache, LIMIT, broken).token_stats(texts))
    resumed = Noted()
    resumed.plans = broken.plans
    assert packed(CachedModel(model, cache, LIMIT, resumed).token_stats(texts)) == whole
    assert set(resumed.read).isdisjoint(broken.read)


def test_each_batch_stays_within_the_budget(model: LocalModel, store: Store, texts: list[str]) -> None:
    noted = Noted()
    list(CachedModel(model, TokenCache(store, LIMIT), LIMIT, noted).token_stats(texts))
    assert noted.kept is not None
    assert max(noted.kept.tokens) <= model.batch_tokens
    assert sorted(place for batch in noted.kept.batches for place in batch) == list(range(len(set(texts))))


def test_a_text_that_stands_twice_is_read_once(model: LocalModel, store: Store, texts: list[str]) -> None:
    noted = Noted()
    found = dict(CachedModel(model, TokenCache(store, LIMIT), LIMIT, noted).token_stats([texts[0], texts[0]]))
    assert noted.tokens == model.tokens_to_read(texts[0])
    assert np.array_equal(found[0].logprob, found[1].logprob)


def test_lower_case_is_read_through_the_cache_too(model: LocalModel, store: Store, texts: list[str]) -> None:
    cache = TokenCache(store, LIMIT)
    plain = dict(read_texts(model, texts))
    list(read_texts(CachedModel(model, cache, LIMIT, Noted()), texts))
    again = Noted()
    kept = dict(read_texts(CachedModel(model, cache, LIMIT, again), texts))
    assert again.tokens == 0
    for index, reading in plain.items():
        lower, expected = kept[index].lowercased, reading.lowercased
        assert lower is not None
        assert expected is not None
        assert np.allclose(lower.logprob, expected.logprob, atol=1e-4)


def test_a_damaged_row_is_read_again_and_told(model: LocalModel, store: Store, texts: list[str]) -> None:
    cache = TokenCache(store, LIMIT)
    before = packed(CachedModel(model, cache, LIMIT, Noted()).token_stats(texts))
    _damage(store)
    noted = Noted()
    after = packed(CachedModel(model, TokenCache(store, LIMIT), LIMIT, noted).token_stats(texts))
    assert len(noted.notes) == 1
    assert noted.notes[0] == "1 kept reading was damaged on the disk, so that text was read again."
    assert sum(before[i] != after[i] for i in before) <= 1  # in another batch: the same within 1e-4
    assert noted.tokens > 0


def test_a_row_damaged_after_its_batch_is_read_again_with_its_batch(
    model: LocalModel, store: Store, texts: list[str], tmp_path: Path
) -> None:
    other = Store(tmp_path / "other")
    whole = packed(CachedModel(model, TokenCache(other, LIMIT), LIMIT, Noted()).token_stats(texts))
    other.close()

    class DamagedAtTheEnd(Noted):
        done = 0

        def step(self, name: str, work: Callable[[], int]) -> int:
            tokens = super().step(name, work)
            self.done += 1
            if self.kept is not None and self.done == len(self.kept.batches):
                _damage(store)
            return tokens

    noted = DamagedAtTheEnd()
    assert packed(CachedModel(model, TokenCache(store, LIMIT), LIMIT, noted).token_stats(texts)) == whole
    assert len(noted.notes) == 1


def test_a_run_larger_than_the_cache_is_refused_before_it_reads(
    model: LocalModel, store: Store, texts: list[str]
) -> None:
    noted = Noted()
    with pytest.raises(AuditError, match="the cache may hold"):
        list(CachedModel(model, TokenCache(store, 1000), 1000, noted).token_stats(texts))
    assert noted.tokens == 0


def test_a_text_that_cannot_be_scored_is_refused_before_any_is_read(
    model: LocalModel, store: Store, texts: list[str]
) -> None:
    noted = Noted()
    reader = CachedModel(model, TokenCache(store, LIMIT), LIMIT, noted)
    names = [f"Chapter {i}" for i in range(4)]
    with pytest.raises(AuditError, match="Chapter 3 is empty"):
        list(reader.token_stats([*texts[:3], " "], names=names))
    assert noted.tokens == 0


def test_other_windows_are_other_readings(store: Store, texts: list[str]) -> None:
    cache = TokenCache(store, LIMIT)
    long, short = (local_model(llama_config(context=256), byte_level_tokenizer(), window_tokens=w) for w in (256, 40))
    list(CachedModel(long, cache, LIMIT, Noted()).token_stats(texts))
    noted = Noted()
    list(CachedModel(short, cache, LIMIT, noted).token_stats(texts))
    assert noted.tokens > 0
    assert long.windowing != short.windowing
    assert len(cache.get(long.identity, long.windowing, [text_key(text) for text in texts])) == len(set(texts))


def _damage(store: Store) -> None:
    with store.writing() as session:
        session.connection().exec_driver_sql(
            "UPDATE token_stats SET payload = zeroblob(length(payload)) WHERE key = (SELECT min(key) FROM token_stats)"
        )
