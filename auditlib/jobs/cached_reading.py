"""A model whose readings are kept: what the cache holds is not read again, the rest is read batch by batch.

The numbers of a text agree within 1e-4 whatever batch it is read in, but not bit by bit. So the batches of a run are
fixed once, from all of its texts, and a batch is read as a whole or not at all: then a run that was interrupted ends
with the same bytes as one that was not, however often that was.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from auditlib.core import AuditError, Capability, ModelIdentity, Progress, TargetModel, TokenStats, text_names
from auditlib.models.sampling import GeneratingModel, Sampling
from auditlib.models.windows import batches_of
from auditlib.store import TokenCache

logger = logging.getLogger(__name__)

BYTES_A_TOKEN = 20  # in the cache, rounded up; see auditlib/store/packing.py
MOST_REPAIRS = 3
TEXTS_AT_ONCE = 1000  # out of the cache, some 10 MB: a run of 500 books must not hold all that was ever read of them


class CacheableModel(TargetModel, Protocol):
    """A model that says what its readings depend on besides itself, and how much it likes to read at once."""

    @property
    def windowing(self) -> str:
        """How a text is given to the model."""
        ...

    @property
    def batch_tokens(self) -> int:
        """Tokens in one forward pass."""
        ...

    def giving_way(self, give_way: Callable[[], None]) -> AbstractContextManager[None]:
        """Within, what this thread reads calls `give_way` now and then, which may wait, or end it by raising."""
        ...


class OpenedModel(CacheableModel, Protocol):
    """A model as it was opened, with nothing before its texts yet."""

    def after(self, prefix: str) -> CacheableModel:
        """The same model with `prefix` before every text. Raises `AuditError` where it cannot be so."""
        ...

    def token_ids(self, text: str) -> NDArray[np.int32]:
        """The text's tokens. (n,) Raises `AuditError` where the model does not tell them."""
        ...


@dataclass(frozen=True)
class ReadingPlan:
    """Which texts are read together.

    windowing  how the model is given texts
    texts      SHA-256 of each distinct text, in the order they were asked for
    batches    places in `texts`; texts that the cache held when the plan was made are in none
    tokens     of each batch
    """

    windowing: str
    texts: tuple[str, ...]
    batches: tuple[tuple[int, ...], ...]
    tokens: tuple[int, ...]

    @property
    def n_cached(self) -> int:
        """Texts that were not to be read."""
        return len(self.texts) - sum(map(len, self.batches))


class Reading(Protocol):
    """What stands around the reading of a run: where its plan is kept, and what makes a batch durable."""

    def plan(self, part: str) -> ReadingPlan | None:
        """The plan that was kept for a part of the run, if one was."""
        ...

    def keep_plan(self, part: str, plan: ReadingPlan) -> None:
        """Keeps it, in place of that part's one before."""
        ...

    def step(self, name: str, work: Callable[[], int]) -> int:
        """Does `work`, or, where that was done before, gives its result."""
        ...

    def breathe(self) -> None:
        """Called between two forward passes: others may go first, and the run may be stopped by an exception."""
        ...

    def scored(self, tokens: int) -> None:
        """So many tokens have just passed through the model."""
        ...

    def tell(self, note: str) -> None:
        """A sentence for the person, such as that a damaged row was read again."""
        ...


class CachedModel:
    """A `TargetModel` on top of another that keeps what it has read in `cache`.

    `part` names what it reads within the run: each part keeps a plan of its own.
    """

    def __init__(
        self, model: CacheableModel, cache: TokenCache, cache_bytes: int, reading: Reading, part: str = ""
    ) -> None:
        self._model = model
        self._cache = cache
        self._cache_bytes = cache_bytes
        self._reading = reading
        self._part = part
        self._lengths: dict[str, int] = {}

    @property
    def identity(self) -> ModelIdentity:
        """The model's own."""
        return self._model.identity

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The model's own."""
        return self._model.capabilities

    @property
    def context_length(self) -> int:
        """The model's own."""
        return self._model.context_length

    @property
    def vocabulary_size(self) -> int:
        """The model's own."""
        return self._model.vocabulary_size

    def tokens_to_read(self, text: str, name: str = "The text") -> int:
        """The model's own count, made once a text."""
        key = text_key(text)
        if key not in self._lengths:
            self._lengths[key] = self._model.tokens_to_read(text, name)
        return self._lengths[key]

    def after(self, prefix: str, part: str) -> CachedModel:
        """The same model with `prefix` before every text. Raises `AuditError` where it cannot be so."""
        return CachedModel(
            cast(OpenedModel, self._model).after(prefix), self._cache, self._cache_bytes, self._reading, part
        )

    def reading_apart(self, part: str) -> CachedModel:
        """The same model for other texts, with a plan of their own."""
        return CachedModel(self._model, self._cache, self._cache_bytes, self._reading, part)

    def token_ids(self, text: str) -> NDArray[np.int32]:
        """The model's own. Raises `AuditError` where it does not tell them."""
        return cast(OpenedModel, self._model).token_ids(text)

    def token_text(self, token_ids: Sequence[int]) -> list[str]:
        """The model's own."""
        return self._model.token_text(token_ids)

    @property
    def window_tokens(self) -> int:
        """The model's own, for continuing texts. Raises `AuditError` for a model that cannot."""
        return self._generating().window_tokens

    def prompt_tokens(self, text: str, name: str = "The prompt") -> int:
        """The model's own count. Raises `AuditError` likewise."""
        return self._generating().prompt_tokens(text, name)

    def generate(
        self,
        prompts: Sequence[str],
        sampling: Sampling,
        progress: Progress | None = None,
        names: Sequence[str] | None = None,
    ) -> Iterator[tuple[int, int, str]]:
        """As `GeneratingModel` says; nothing of it is kept here (see `kept_generation.py`)."""
        with self._model.giving_way(self._reading.breathe):
            yield from self._generating().generate(prompts, sampling, progress, names)

    def _generating(self) -> GeneratingModel:
        if Capability.GENERATE not in self.capabilities:
            raise AuditError(f"{self.identity.name} cannot continue texts here.", "Choose a model on this machine.")
        return cast(GeneratingModel, self._model)

    def token_stats(
        self,
        texts: Sequence[str],
        top: int = 0,
        progress: Progress | None = None,
        names: Sequence[str] | None = None,
    ) -> Iterator[tuple[int, TokenStats]]:
        """As `TargetModel` says. `progress` hears of the tokens that this run has to read, cached ones not counted.

        Alternatives are not kept: with `top` every text is read.
        """
        if top:
            self._reading.breathe()
            with self._model.giving_way(self._reading.breathe):
                yield from self._model.token_stats(texts, top, progress, names)
            return
        names = names or text_names(len(texts))
        keys = [text_key(text) for text in texts]
        wanted = dict(zip(keys, zip(texts, names, strict=True), strict=True))
        for text, name in wanted.values():
            self.tokens_to_read(text, name)  # a text that cannot be scored is refused before hours of reading
        self._refuse_too_much(wanted)
        plan = self._plan(tuple(wanted))
        self._read_batches(plan, wanted, progress)
        for start in range(0, len(keys), TEXTS_AT_ONCE):
            own = keys[start : start + TEXTS_AT_ONCE]
            plan, found = self._all_of(plan, own, wanted, progress)
            for index, key in enumerate(own, start):
                yield index, found[key]

    def _plan(self, keys: tuple[str, ...]) -> ReadingPlan:
        kept = self._reading.plan(self._part)
        if kept is not None and kept.texts == keys and kept.windowing == self._model.windowing:
            return kept
        before = self._cache.n_corrupt
        there: set[str] = set()
        for start in range(0, len(keys), TEXTS_AT_ONCE):
            there |= self._cache.get(self.identity, self._model.windowing, keys[start : start + TEXTS_AT_ONCE]).keys()
        self._tell_of_damage(before)
        missing = [place for place, key in enumerate(keys) if key not in there]
        plan = self._with_batches(ReadingPlan(self._model.windowing, keys, (), ()), missing)
        self._reading.keep_plan(self._part, plan)
        return plan

    def _with_batches(self, plan: ReadingPlan, places: Sequence[int]) -> ReadingPlan:
        lengths = [self._lengths[plan.texts[place]] for place in places]
        packed = batches_of(lengths, self._model.batch_tokens)
        return replace(
            plan,
            batches=plan.batches + tuple(tuple(places[i] for i in batch) for batch in packed),
            tokens=plan.tokens + tuple(sum(lengths[i] for i in batch) for batch in packed),
        )

    def _read_batches(
        self, plan: ReadingPlan, wanted: dict[str, tuple[str, str]], progress: Progress | None, first: int = 0
    ) -> None:
        done, total = sum(plan.tokens[:first]), sum(plan.tokens)
        for number in range(first, len(plan.batches)):
            self._reading.breathe()

            def within(read: int, of: int, before: int = done, own: int = plan.tokens[number]) -> None:
                if progress is not None and read < of:
                    progress(before + own * read // of, total)

            work = partial(self._read_batch, plan, number, wanted, within)
            self._reading.step(f"batch {number + 1}", work)
            done += plan.tokens[number]
            if progress is not None:
                progress(done, total)

    def _read_batch(self, plan: ReadingPlan, number: int, wanted: dict[str, tuple[str, str]], within: Progress) -> int:
        """Tokens that passed through the model: all of the batch, or none where it was kept before."""
        keys = [plan.texts[place] for place in plan.batches[number]]
        if len(self._cache.get(self.identity, plan.windowing, keys)) == len(keys):
            return 0
        logger.info("reading batch %d of %d", number + 1, len(plan.batches))
        texts, names = zip(*(wanted[key] for key in keys), strict=True)
        heard = 0

        def hear(read: int, of: int) -> None:
            nonlocal heard
            self._reading.scored(read - heard)
            heard = read
            within(read, of)
            if read < of:  # a batch that has just been read whole is kept before anything else
                self._reading.breathe()

        with self._model.giving_way(self._reading.breathe):
            stats = {keys[i]: found for i, found in self._model.token_stats(texts, progress=hear, names=names)}
        self._cache.put(self.identity, plan.windowing, stats)
        return plan.tokens[number]

    def _all_of(
        self, plan: ReadingPlan, keys: list[str], wanted: dict[str, tuple[str, str]], progress: Progress | None
    ) -> tuple[ReadingPlan, dict[str, TokenStats]]:
        """The statistics of all of `keys`; what was dropped or damaged since it was read is read again.

        The plan comes back with the batches that this took.
        """
        for _ in range(MOST_REPAIRS):
            before = self._cache.n_corrupt
            found = self._cache.get(self.identity, plan.windowing, keys)
            self._tell_of_damage(before)
            if all(key in found for key in keys):
                return plan, found
            own = set(keys)
            lost = {place for place, key in enumerate(plan.texts) if key in own and key not in found}
            again = [n for n, batch in enumerate(plan.batches) if lost & set(batch)]
            for number in again:
                lost -= set(plan.batches[number])
                self._reading.breathe()
                self._read_batch(plan, number, wanted, lambda _done, _total: None)
            if lost:
                known = len(plan.batches)
                plan = self._with_batches(plan, sorted(lost))
                self._reading.keep_plan(self._part, plan)
                self._read_batches(plan, wanted, progress, known)
        raise AuditError(
            "The cache of token statistics lost this run's readings as fast as they were made.",
            "Raise AUDIT_CACHE_BYTES, or wait until other runs have ended.",
        )

    def _refuse_too_much(self, keys: dict[str, tuple[str, str]]) -> None:
        needed = sum(self._lengths[key] for key in keys) * BYTES_A_TOKEN
        if needed > self._cache_bytes:
            raise AuditError(
                f"What the model makes of these texts takes about {needed / 1e9:,.2f} GB, and the cache may hold "
                f"{self._cache_bytes / 1e9:,.2f} GB.",
                "Raise AUDIT_CACHE_BYTES, or take fewer texts.",
            )

    def _tell_of_damage(self, before: int) -> None:
        n = self._cache.n_corrupt - before
        if n:
            self._reading.tell(
                f"{n:,} kept reading{' was' if n == 1 else 's were'} damaged on the disk, so "
                f"{'that text was' if n == 1 else 'these texts were'} read again."
            )


def text_key(text: str) -> str:
    """What names a text in the cache."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
