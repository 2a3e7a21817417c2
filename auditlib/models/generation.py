"""Continuations of texts, many at once: prompts of like length side by side, each read once for all of its samples.

On a CPU a step of 32 rows takes little longer than a step of one, since most of it is the weights' way out of memory.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel

from auditlib.core import AuditError, Progress
from auditlib.models.decoding_steps import Steps, takes_padding
from auditlib.models.encoding import TextEncoder
from auditlib.models.failures import explained, is_out_of_memory
from auditlib.models.sampling import Rows, Sampling, sample_batches, step_keys

# Tokens of a batch, prompts and continuations together: what bounds the memory of keys and values.
GENERATED_TOKENS = {"cpu": 8192, "mps": 16384, "cuda": 131072}
# Rows that have ended are taken out once so many have: taking them out copies the cache.
SHARE_TO_DROP = 0.25
_CELLS_OF_NOISE = 98_304
# SplitMix64's constants as int64, which wraps around like the unsigned numbers that they are.
_GAMMA = 0x9E3779B97F4A7C15 - (1 << 64)
_MIXING = ((30, 0xBF58476D1CE4E5B9 - (1 << 64)), (27, 0x94D049BB133111EB - (1 << 64)))


class Generation:
    """Draws continuations from one model. `lock` is held during each forward pass and given back between two."""

    def __init__(
        self,
        model: PreTrainedModel,
        encoder: TextEncoder,
        name: str,
        window_tokens: int,
        lock: threading.Lock,
        batch_tokens: int | None = None,
    ) -> None:
        self._model = model
        self._encoder = encoder
        self._name = name
        self._window_tokens = window_tokens
        self._lock = lock
        self._batch_tokens = batch_tokens or GENERATED_TOKENS.get(model.device.type, GENERATED_TOKENS["cpu"])
        self._ends = _end_tokens(model)
        with self._lock:
            self._takes_padding = takes_padding(model)

    def generate(
        self, prompts: Sequence[str], sampling: Sampling, progress: Progress | None, names: Sequence[str]
    ) -> Iterator[tuple[int, int, str]]:
        """See `GeneratingModel`."""
        sampling.checked()
        ids = [self._encoder.prompt_ids(text, name) for text, name in zip(prompts, names, strict=True)]
        for row, name in zip(ids, names, strict=True):
            self._refuse_too_long(len(row), sampling.max_new_tokens, name)
        batches = sample_batches(
            [len(row) for row in ids],
            sampling.samples,
            sampling.max_new_tokens,
            self._batch_tokens,
            same_length=not self._takes_padding,
        )
        done, total = 0, len(prompts) * sampling.samples * sampling.max_new_tokens
        for batch in batches:
            own = sum(rows.count for rows in batch) * sampling.max_new_tokens
            for drawn in self._batch(batch, prompts, ids, sampling):
                if isinstance(drawn, int):
                    if progress is not None:
                        progress(done + min(drawn, own), total)
                else:
                    yield drawn
            done += own
            if progress is not None:
                progress(done, total)

    def _refuse_too_long(self, n_prompt: int, n_new: int, name: str) -> None:
        if n_prompt + n_new <= self._window_tokens:
            return
        raise AuditError(
            f"{name} has {n_prompt:,} tokens, and with {n_new:,} more it does not fit into the {self._window_tokens:,} "
            f"that {self._name} sees at once.",
            "Choose a shorter prompt or fewer new tokens, or a model with a longer context.",
        )

    def _batch(
        self, batch: list[Rows], prompts: Sequence[str], ids: Sequence[list[int]], sampling: Sampling
    ) -> Iterator[tuple[int, int, str] | int]:
        """Texts as they end, and after each step the tokens so far; halved where the memory does not hold it."""
        given: set[tuple[int, int]] = set()
        try:
            for drawn in self._draw(batch, prompts, ids, sampling):
                if not isinstance(drawn, int):
                    given.add(drawn[:2])
                yield drawn
            return
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if sum(rows.count for rows in batch) == 1:
                raise AuditError(
                    f"The memory of {self._model.device} does not hold {self._name} and one continuation.",
                    "Choose fewer new tokens, a smaller model or data type, or another device.",
                ) from error
        for half in _halves(batch):
            for drawn in self._batch(half, prompts, ids, sampling):
                if isinstance(drawn, int) or drawn[:2] not in given:
                    yield drawn

    def _draw(
        self, batch: list[Rows], prompts: Sequence[str], ids: Sequence[list[int]], sampling: Sampling
    ) -> Iterator[tuple[int, int, str] | int]:
        """One batch. Draws do not depend on it, so a batch can be begun anew in other company."""
        rows = [(own.prompt, sample) for own in batch for sample in range(own.first, own.last)]
        keys = np.stack([step_keys(sampling.seed, prompts[p], sample, sampling.max_new_tokens) for p, sample in rows])
        drawn: list[list[int]] = [[] for _ in rows]
        active = list(range(len(rows)))  # the row of `rows` that stands in each row of the model's batch
        ended = [False] * len(rows)
        steps, place_of = Steps(self._model), {own.prompt: place for place, own in enumerate(batch)}
        with self._forward():
            first = steps.start([ids[own.prompt] for own in batch])
            shared = [place_of[prompt] for prompt, _ in rows]
            steps.keep(shared)
            logits = first[torch.tensor(shared, device=first.device)]
        n_drawn = 0
        for step in range(sampling.max_new_tokens):
            tokens = self._tokens(logits, keys[active, step], sampling, rows[active[0]][0])
            for row, token in zip(active, tokens.tolist(), strict=True):
                if ended[row]:
                    continue
                ended[row] = token in self._ends or step + 1 == sampling.max_new_tokens
                if token not in self._ends:
                    drawn[row].append(token)
                if ended[row]:
                    prompt, sample = rows[row]
                    n_drawn += sampling.max_new_tokens - step - 1
                    yield prompt, sample, self._encoder.continuation(ids[prompt], drawn[row])
                n_drawn += 1
            yield n_drawn
            left = [place for place, row in enumerate(active) if not ended[row]]
            if not left:
                return
            with self._forward():
                if len(left) <= (1 - SHARE_TO_DROP) * len(active):
                    steps.keep(left)
                    tokens = tokens[torch.tensor(left, device=tokens.device)]
                    active = [active[place] for place in left]
                logits = steps.step(tokens)

    def _tokens(self, logits: Tensor, keys: NDArray[np.int64], sampling: Sampling, prompt: int) -> Tensor:
        if not bool(torch.isfinite(logits.amax(dim=-1)).all()):
            raise AuditError(
                f"{self._name} gave no finite numbers for the next token of prompt {prompt + 1}.",
                "The weights may be damaged, or the data type too small for this model: try float32.",
            )
        return drawn_tokens(logits, torch.from_numpy(keys), sampling.temperature, sampling.top_p)

    def _forward(self) -> _Forward:
        return _Forward(self._lock, f"The model {self._name} failed while continuing a text")


class _Forward:
    """The lock, and failures explained, around one forward pass."""

    def __init__(self, lock: threading.Lock, what: str) -> None:
        self._lock = lock
        self._explained = explained(what)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._lock.release()
        self._explained.__exit__(kind, error, trace)


@torch.inference_mode()
def drawn_tokens(logits: Tensor, keys: Tensor, temperature: float = 1.0, top_p: float = 1.0) -> Tensor:
    """A token of each row of `logits` (rows, V), with its probability as its chance; `keys` int64 (rows,) decide.

    Every token has an exponential waiting time, made from the key and its number alone, and is run at the speed of its
    probability: the first to arrive is drawn (the exponential race, which is Gumbel's maximum by another name). When a
    batch's rounding moves probabilities by 1e-6, one draw in a million changes; a point on the cumulated probabilities
    of 50,000 tokens would come to lie in another one's stretch hundreds of times as often.

    With `top_p` below 1 only the likeliest tokens that together reach it can be drawn.
    """
    values = logits.cpu() if logits.device.type == "mps" else logits  # which has no float64
    chance = torch.softmax(values.double() / temperature, dim=-1)
    if top_p < 1:
        ordered, order = chance.sort(dim=-1, descending=True, stable=True)
        ordered[ordered.cumsum(dim=-1) - ordered >= top_p] = 0
        chance = torch.zeros_like(chance).scatter_(-1, order, ordered)
    keys = keys.to(chance.device)[:, None]
    # Few rows at a time: on a CPU these many passes over one array are made within its cache.
    rows = max(1, _CELLS_OF_NOISE // chance.shape[-1]) if chance.device.type == "cpu" else len(chance)
    blocks = zip(chance.split(rows), keys.split(rows), strict=True)
    found = [(own.div_(_waiting_times(key, own.shape[-1]))).argmax(dim=-1) for own, key in blocks]
    return torch.cat(found).to(logits.device)


def _waiting_times(keys: Tensor, n: int) -> Tensor:
    """Exponential numbers (rows, n), by the finalizer of SplitMix64 (Steele et al. 2014) from key and place."""
    bits = keys + torch.arange(n, device=keys.device) * _GAMMA
    for shift, factor in _MIXING:
        bits.bitwise_xor_((bits >> shift).bitwise_and_((1 << (64 - shift)) - 1)).mul_(factor)
    bits.bitwise_xor_((bits >> 31).bitwise_and_((1 << 33) - 1))
    return (bits >> 11).bitwise_and_((1 << 53) - 1).double().add_(0.5).mul_(2.0**-53).log_().neg_()


def _end_tokens(model: PreTrainedModel) -> frozenset[int]:
    """Tokens by which the model ends a text, as its generation settings or its configuration name them."""
    ends: set[int] = set()
    for settings in (getattr(model, "generation_config", None), model.config, model.config.get_text_config()):
        said = getattr(settings, "eos_token_id", None)
        ends.update([said] if isinstance(said, int) else said or [])
    return frozenset(ends)


def _halves(batch: list[Rows]) -> tuple[list[Rows], list[Rows]]:
    """The batch in two of about as many rows; a prompt's samples may come to lie in both."""
    half = sum(rows.count for rows in batch) // 2
    first: list[Rows] = []
    second: list[Rows] = []
    for rows in batch:
        cut = min(rows.last, rows.first + max(0, half))
        if cut > rows.first:
            first.append(Rows(rows.prompt, rows.first, cut))
        if cut < rows.last:
            second.append(Rows(rows.prompt, cut, rows.last))
        half -= cut - rows.first
    return first, second
