"""A Transformers causal model in this process: texts in, `TokenStats` out, one forward pass per window."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel

from auditlib.core import Alternatives, AuditError, Capability, ModelIdentity, Progress, TokenStats, text_names
from auditlib.models.encoding import EncodedText, TextEncoder
from auditlib.models.failures import explained, is_out_of_memory
from auditlib.models.generation import Generation
from auditlib.models.interruption import Interruption
from auditlib.models.prefixed import PrefixedModel
from auditlib.models.projection import find_projection, reads_left_to_right
from auditlib.models.sampling import Sampling
from auditlib.models.statistics import PositionStatistics, position_statistics
from auditlib.models.windows import Window, batches_of, windows_of

# Found by measuring (benchmarks/): on a CPU larger batches fall out of cache and are slower.
BATCH_TOKENS = {"cpu": 1024, "mps": 8192, "cuda": 32768}
LOGIT_ROWS = {"cpu": 512, "mps": 512, "cuda": 1024}
# A text longer than this is read in windows even by a model whose context is longer: attention's cost grows
# with the square of the window, and its memory with the window.
LONGEST_WINDOW = 8192
WINDOW_OVERLAP = 0.5
# Short batches run slower a token than the rest of a long text will.
FEWEST_TIMED_TOKENS = 128
MOST_FAILURES_NAMED = 5

Forward = Callable[[list[Window]], list[PositionStatistics]]
"""One forward pass: the statistics of each window's scored tokens."""


class LocalModel:
    """A `TargetModel` held by this process; safe to use from several threads at once.

    Texts of several callers interleave batch by batch; each caller's numbers are as if it were alone.
    """

    capabilities = frozenset(
        {
            Capability.TOKEN_LOGPROBS,
            Capability.FULL_DISTRIBUTION,
            Capability.RANK,
            Capability.ALTERNATIVES,
            Capability.GENERATE,
        }
    )

    def __init__(
        self,
        model: PreTrainedModel,
        encoder: TextEncoder,
        identity: ModelIdentity,
        batch_tokens: int | None = None,
        window_tokens: int | None = None,
    ) -> None:
        """`window_tokens` and `batch_tokens` replace what the model and the device suggest."""
        self.identity = identity
        self.device = model.device
        self._model = model.eval()
        self._encoder = encoder
        self._one_at_a_time = threading.Lock()
        self._interruption = Interruption(model, self._one_at_a_time)
        with explained(f"The model {identity.name} loads but does not run"):
            self.projection = find_projection(model)
            is_causal = reads_left_to_right(model, self.projection)
        if not is_causal:
            raise AuditError(
                f"{identity.name} is not a left-to-right language model: later words change its view of earlier ones.",
                "Choose a causal language model (such as GPT, Llama, Pythia or SmolLM).",
            )
        self.context_length = _context_length(model)
        self.vocabulary_size = int(model.get_output_embeddings().weight.shape[0])
        self.window_tokens = window_tokens or min(_steady_length(model), self.context_length, LONGEST_WINDOW)
        kind = self.device.type
        self.batch_tokens = batch_tokens or BATCH_TOKENS.get(kind, BATCH_TOKENS["cpu"])
        self._logit_rows = LOGIT_ROWS.get(kind, LOGIT_ROWS["cpu"])
        self.longest_tried_prefix = 0  # tokens; see `PrefixedModel`, which tries once whether a prefix can be kept
        self.tokens_per_second: float | None = None  # of the last reading; None before the first

    @property
    def windowing(self) -> str:
        """How texts are given to the model, as far as that decides their numbers: names rows of the cache."""
        return f"window {self.window_tokens} overlap {WINDOW_OVERLAP:g}"

    @property
    def memory_bytes(self) -> int:
        """What the weights take."""
        return sum(p.numel() * p.element_size() for p in self._model.parameters())

    def token_ids(self, text: str) -> NDArray[np.int32]:
        """The text's tokens, first to last, nothing in front of them. Raises `AuditError` as `tokens_to_read` does."""
        return self._encoder.encode(text).token_ids

    def after(self, prefix: str) -> PrefixedModel:
        """The same model with `prefix` before every text, read once for all of them. Raises `AuditError`."""
        return PrefixedModel(self, self._encoder, self._model, prefix)

    def tokens_to_read(self, text: str, name: str = "The text") -> int:
        """Tokens that scoring `text` passes through the model, overlaps counted twice.

        Raises `AuditError` beginning with `name` where the text cannot be scored.
        """
        return sum(w.end - w.begin for w in self.windows(self._encoder.encode(text, name)))

    def giving_way(self, give_way: Callable[[], None]) -> AbstractContextManager[None]:
        """Within, what this thread reads calls `give_way` many times a second; it may wait there, or end it by raising.

        Meanwhile other threads may read with this model.
        """
        return self._interruption.by(give_way)

    def token_text(self, token_ids: Sequence[int]) -> list[str]:
        """What each token stands for, readable alone (bytes of a split character as hex)."""
        return [self._encoder.token_text(int(i)) for i in token_ids]

    def token_stats(
        self,
        texts: Sequence[str],
        top: int = 0,
        progress: Progress | None = None,
        names: Sequence[str] | None = None,
    ) -> Iterator[tuple[int, TokenStats]]:
        """Each text's index with its statistics, longest first (see `TargetModel`).

        A text of which the model makes no finite numbers is reported by an `AuditError` after all others were given.
        Nothing is truncated: a text longer than the window is read in windows that overlap by half. Where the
        tokenizer puts a BOS in front, every window begins with it, as models trained with one are lost without.
        """
        names = names or text_names(len(texts))
        encoded = [self._encoder.encode(text, name) for text, name in zip(texts, names, strict=True)]
        yield from self.stats_afresh(encoded, names, top, progress)

    def stats_afresh(
        self, encoded: Sequence[EncodedText], names: Sequence[str], top: int, progress: Progress | None
    ) -> Iterator[tuple[int, TokenStats]]:
        """`token_stats` of texts that are tokens already, what stands before each of them read with every window."""

        def read(batch: list[Window]) -> list[PositionStatistics]:
            return self._forward(batch, encoded, top)

        yield from self.stats_of(encoded, names, top, progress, read, lambda text: len(text.prefix_ids))

    def stats_of(
        self,
        encoded: Sequence[EncodedText],
        names: Sequence[str],
        top: int,
        progress: Progress | None,
        forward: Forward,
        passed_before: Callable[[EncodedText], int],
    ) -> Iterator[tuple[int, TokenStats]]:
        """`token_stats` of texts that are tokens already, by a forward pass of the caller's.

        `passed_before` says how many tokens in front of each window pass through the model with it.
        """
        windows = [w for i, text in enumerate(encoded) for w in self.windows(text, i)]
        collected = [_Collected.of(text, top) for text in encoded]
        lengths = [passed_before(encoded[w.text]) + w.end - w.begin for w in windows]
        done, total = 0, sum(lengths)
        failed: list[AuditError] = []
        for indices in batches_of(lengths, self.batch_tokens):
            batch = [windows[i] for i in indices]
            for window, found in zip(batch, self._read(batch, forward), strict=True):
                collected[window.text].put(window, found)
            done += sum(lengths[i] for i in indices)
            if progress is not None:
                progress(done, total)
            for text in dict.fromkeys(w.text for w in batch):
                if not collected[text].is_complete:
                    continue
                try:
                    stats = collected[text].finished(names[text])
                except AuditError as error:
                    failed.append(error)  # raised when the other texts have been given
                else:
                    yield text, stats
        if failed:
            raise AuditError(" ".join(error.wrong for error in failed[:MOST_FAILURES_NAMED]), failed[0].remedy)

    def generate(
        self,
        prompts: Sequence[str],
        sampling: Sampling,
        progress: Progress | None = None,
        names: Sequence[str] | None = None,
    ) -> Iterator[tuple[int, int, str]]:
        """Continuations of prompts, each as soon as it has ended (see `GeneratingModel`)."""
        names = names or text_names(len(prompts), "prompt")
        yield from self._generation.generate(prompts, sampling, progress, names)

    def prompt_tokens(self, text: str, name: str = "The prompt") -> int:
        """Tokens that a prompt takes in the window."""
        return len(self._encoder.prompt_ids(text, name))

    @cached_property
    def _generation(self) -> Generation:
        return Generation(self._model, self._encoder, self.identity.name, self.window_tokens, self._one_at_a_time)

    def windows(self, encoded: EncodedText, text: int = 0) -> list[Window]:
        """How a text is cut for the model. Raises `AuditError` where nothing of it fits into a window."""
        room = self.window_tokens - len(encoded.prefix_ids)
        if room < 2:
            raise AuditError(
                f"The window of {self.identity.name} ({self.window_tokens} tokens) is too short to read any text.",
                "Choose another model.",
            )
        return windows_of(len(encoded.token_ids), encoded.first_scorable, room, WINDOW_OVERLAP, text)

    def _read(self, windows: list[Window], forward: Forward) -> list[PositionStatistics]:
        """One batch through the model; halved and tried again where the device's memory does not hold it."""
        try:
            with self._one_at_a_time:
                began = time.perf_counter() - self._interruption.waited()
                with explained(f"The model {self.identity.name} failed while reading"):
                    stats = forward(windows)
                seconds = time.perf_counter() - self._interruption.waited() - began
            n_read = sum(w.end - w.begin for w in windows)
            if n_read >= FEWEST_TIMED_TOKENS or self.tokens_per_second is None:
                self.tokens_per_second = n_read / max(seconds, 1e-9)
            return stats
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if len(windows) == 1:
                raise AuditError(
                    f"The memory of {self.device} does not hold {self.identity.name} and one window of text.",
                    "Choose a smaller model, a smaller data type or another device.",
                ) from error
        half = len(windows) // 2
        return self._read(windows[:half], forward) + self._read(windows[half:], forward)

    @torch.inference_mode()
    def _forward(self, windows: list[Window], encoded: Sequence[EncodedText], top: int) -> list[PositionStatistics]:
        """Statistics of each window's scored tokens.

        Padding stands on the right and needs no mask: a causal model's earlier positions cannot see it.
        """
        rows = [_ids(w, encoded[w.text]) for w in windows]
        ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        for row, tokens in enumerate(rows):
            ids[row, : len(tokens)] = torch.from_numpy(tokens)
        ids = ids.to(self.device)
        flat_states = self.projection.states(ids).flatten(0, 1)
        targets = [_scored_places(w, encoded[w.text]) for w in windows]
        # The state one place before a token is what predicts it.
        return self.statistics_at(lambda places: flat_states[places.to(flat_states.device) - 1], ids, targets, top)

    def statistics_at(
        self, before: Callable[[Tensor], Tensor], ids: Tensor, targets: Sequence[tuple[int, int]], top: int
    ) -> list[PositionStatistics]:
        """Statistics of the tokens at places `targets` (from, to) of each row of `ids` (b, l).

        `before` gives the states (m, d) that predict the tokens at places (m,) of the flattened rows.
        """
        places = torch.cat([row * ids.shape[1] + torch.arange(a, b) for row, (a, b) in enumerate(targets)])
        places, flat_ids = places.to(ids.device), ids.flatten()
        out = None
        if self.projection.takes_out and self.device.type == "cpu":
            out = torch.empty(min(self._logit_rows, len(places)), self.vocabulary_size)
        slices = []
        for part in places.split(self._logit_rows):
            logits = self.projection.logits(before(part), out)  # on whichever device the head is
            slices.append(position_statistics(logits, flat_ids[part].to(logits.device), top))
        counts = [b - a for a, b in targets]
        columns = []
        for name in PositionStatistics.__dataclass_fields__:
            parts = [getattr(s, name) for s in slices]
            columns.append([None] * len(counts) if parts[0] is None else torch.cat(parts).cpu().split(counts))
        return [PositionStatistics(*row) for row in zip(*columns, strict=True)]


@dataclass
class _Collected:
    """A text's statistics while its windows come in, in whatever order."""

    encoded: EncodedText
    columns: dict[str, NDArray[Any]]
    n_missing: int

    @classmethod
    def of(cls, encoded: EncodedText, top: int) -> _Collected:
        n = encoded.n_scorable
        columns: dict[str, NDArray[Any]] = {
            name: np.full(n, np.nan, dtype=np.float32) for name in ("logprob", "expected", "variance")
        }
        columns["rank"] = np.zeros(n, dtype=np.int32)
        if top:
            columns["top_ids"] = np.zeros((n, top), dtype=np.int32)
            columns["top_logprob"] = np.full((n, top), np.nan, dtype=np.float32)
        return cls(encoded, columns, n)

    @property
    def is_complete(self) -> bool:
        return self.n_missing == 0

    def put(self, window: Window, stats: PositionStatistics) -> None:
        first = window.first_scored - self.encoded.first_scorable
        place = slice(first, first + window.end - window.first_scored)
        for name, column in self.columns.items():
            column[place] = getattr(stats, name).numpy()
        self.n_missing -= window.end - window.first_scored

    def finished(self, name: str) -> TokenStats:
        values = [self.columns[c] for c in ("logprob", "expected", "variance")]
        broken = ~np.all([np.isfinite(v) for v in values], axis=0)
        if broken.any():
            raise AuditError(
                f"{name} has {int(broken.sum())} of {len(broken)} tokens for which the model gave no finite "
                "log-probability.",
                "The weights may be damaged, or the data type too small for this model: try float32.",
            )
        scored = slice(self.encoded.first_scorable, None)
        return TokenStats(
            token_ids=self.encoded.token_ids[scored],
            start=self.encoded.start[scored],
            end=self.encoded.end[scored],
            logprob=self.columns["logprob"],
            expected=self.columns["expected"],
            variance=self.columns["variance"],
            rank=self.columns["rank"],
            alternatives=Alternatives(self.columns["top_ids"], self.columns["top_logprob"])
            if "top_ids" in self.columns
            else None,
        )


def _ids(window: Window, encoded: EncodedText) -> NDArray[np.int64]:
    return np.concatenate([encoded.prefix_ids, encoded.token_ids[window.begin : window.end]]).astype(np.int64)


def _scored_places(window: Window, encoded: EncodedText) -> tuple[int, int]:
    """Places in the window's row (prefix counted) of its scored tokens, from and to."""
    shift = len(encoded.prefix_ids) - window.begin
    return window.first_scored + shift, window.end + shift


def _context_length(model: PreTrainedModel) -> int:
    """What the configuration says, under the names that architectures give it."""
    config = model.config.get_text_config()
    for name in ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length"):
        value = getattr(config, name, None)
        if isinstance(value, int) and value >= 2:
            return value
    return LONGEST_WINDOW  # none that it names (recurrent models, relative positions)


def _steady_length(model: PreTrainedModel) -> int:
    """The longest window in which a text's numbers do not depend on the length of its batch.

    Models with "longrope" positions (Phi-3 and its kin) change all positions once any row is longer than this.
    """
    config = model.config.get_text_config()
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    original = rope.get("original_max_position_embeddings") if isinstance(rope, dict) else None
    original = original or getattr(config, "original_max_position_embeddings", None)
    is_long = isinstance(rope, dict) and "longrope" in (rope.get("rope_type"), rope.get("type"))
    return original if is_long and isinstance(original, int) else LONGEST_WINDOW
