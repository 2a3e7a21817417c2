"""A model with a prefix before every text: the prefix is read once, and its keys and values serve all texts.

What scores like ReCaLL need. Read afresh, a prefix of 500 tokens would be most of the work for every text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer

from auditlib.core import AuditError, Progress, TokenStats, text_names
from auditlib.models.encoding import EncodedText
from auditlib.models.failures import explained, is_out_of_memory
from auditlib.models.projection import TOLERANCE
from auditlib.models.statistics import PositionStatistics
from auditlib.models.windows import Window

if TYPE_CHECKING:
    from auditlib.models.local import LocalModel

PROBE_TOKENS = 8
# A window must hold more of the text than of what stands before it, or else long texts take many windows.
LARGEST_SHARE = 0.5


class Tokens(Protocol):
    """Whatever cuts a text into tokens with places."""

    def encode(self, text: str, name: str = "The text") -> EncodedText:
        """Tokens of `text`."""
        ...


class PrefixedTokens:
    """A tokenizer that puts the tokens of `prefix` before every text, as context only.

    Prefix and text are cut into tokens apart, so that a text has the same tokens with a prefix and without.
    """

    def __init__(self, tokens: Tokens, prefix: str, window_tokens: int) -> None:
        """Raises `AuditError` where the prefix leaves too little of the window."""
        self._tokens = tokens
        encoded = tokens.encode(prefix, "The prefix")
        self.prefix_ids = (*encoded.prefix_ids, *encoded.token_ids.tolist())
        if len(self.prefix_ids) > LARGEST_SHARE * window_tokens:
            raise AuditError(
                f"The prefix has {len(self.prefix_ids):,} tokens, and the window only {window_tokens:,}.",
                "Take fewer or shorter texts for the prefix: at most half of the window.",
            )
        self.digest = sha256(np.array(self.prefix_ids, dtype="<i4").tobytes()).hexdigest()

    def encode(self, text: str, name: str = "The text") -> EncodedText:
        """Tokens of `text` with the prefix in front; all of them can be scored."""
        return replace(self._tokens.encode(text, name), prefix_ids=self.prefix_ids)


class PrefixedModel:
    """A `LocalModel` whose texts all follow one prefix. Its own windowing keeps its readings apart in the cache."""

    def __init__(self, model: LocalModel, tokens: Tokens, network: PreTrainedModel, prefix: str) -> None:
        self.identity = model.identity
        self.capabilities = model.capabilities
        self.context_length = model.context_length
        self.vocabulary_size = model.vocabulary_size
        self.batch_tokens = model.batch_tokens
        self.device = model.device
        self.memory_bytes = model.memory_bytes
        self._model = model
        self._network = network
        self._tokens = PrefixedTokens(tokens, prefix, model.window_tokens)
        self.windowing = f"{model.windowing} after {self._tokens.digest[:16]}"
        with explained(f"The prefix cannot be read by {model.identity.name}"), torch.inference_mode():
            self._kept, self._last_state = self._read_prefix()

    @property
    def reuses_prefix(self) -> bool:
        """Whether the prefix is read once for all; else (recurrent models) with every text."""
        return self._kept is not None

    @property
    def tokens_per_second(self) -> float | None:
        """Of the last reading."""
        return self._model.tokens_per_second

    def giving_way(self, give_way: Callable[[], None]) -> AbstractContextManager[None]:
        """See `LocalModel`."""
        return self._model.giving_way(give_way)

    def token_text(self, token_ids: Sequence[int]) -> list[str]:
        """See `LocalModel`."""
        return self._model.token_text(token_ids)

    def tokens_to_read(self, text: str, name: str = "The text") -> int:
        """Tokens that reading `text` passes through the model. Raises `AuditError` where it cannot be scored."""
        encoded = self._tokens.encode(text, name)
        return sum(self._passed_before(encoded) + w.end - w.begin for w in self._model.windows(encoded))

    def token_stats(
        self,
        texts: Sequence[str],
        top: int = 0,
        progress: Progress | None = None,
        names: Sequence[str] | None = None,
    ) -> Iterator[tuple[int, TokenStats]]:
        """As `TargetModel` says. A text's first token is scored too, as the prefix precedes it."""
        names = names or text_names(len(texts))
        encoded = [self._tokens.encode(text, name) for text, name in zip(texts, names, strict=True)]

        def read(batch: list[Window]) -> list[PositionStatistics]:
            return self._forward(batch, encoded, top)

        if self.reuses_prefix:
            yield from self._model.stats_of(encoded, names, top, progress, read, self._passed_before)
        else:
            yield from self._model.stats_afresh(encoded, names, top, progress)

    def _passed_before(self, encoded: EncodedText) -> int:
        return 0 if self.reuses_prefix else len(encoded.prefix_ids)

    @torch.inference_mode()
    def _forward(self, windows: list[Window], encoded: Sequence[EncodedText], top: int) -> list[PositionStatistics]:
        """Statistics of each window's scored tokens, the prefix taken from what was kept."""
        rows = [encoded[w.text].token_ids[w.begin : w.end].astype(np.int64) for w in windows]
        ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        for row, tokens in enumerate(rows):
            ids[row, : len(tokens)] = torch.from_numpy(tokens)
        ids = ids.to(self.device)
        states = self._model.projection.states_with(ids, self._kept)
        # The last state of the prefix predicts the first token of each row.
        first = self._last_state.expand(len(rows), 1, -1)
        before = torch.cat([first, states[:, :-1]], dim=1).flatten(0, 1)
        targets = [(w.first_scored - w.begin, w.end - w.begin) for w in windows]
        return self._model.statistics_at(lambda places: before[places.to(before.device)], ids, targets, top)

    def _read_prefix(self) -> tuple[Cache | None, Tensor]:
        """The prefix's keys and values, and the state of its last token. No cache where it cannot be kept so."""
        ids = torch.tensor([self._tokens.prefix_ids], device=self.device)
        cache = DynamicCache()
        try:
            states = self._model.projection.states_with(ids, cache)
            if not all(type(layer) is DynamicLayer for layer in cache.layers):
                return None, states
            kept = Cache(layers=[_KeptLayer(layer) for layer in cache.layers])
            if ids.shape[1] > self._model.longest_tried_prefix and not self._serves(kept, ids):
                return None, states
        except (RuntimeError, TypeError, ValueError, AttributeError, NotImplementedError) as error:
            if is_out_of_memory(error):
                raise
            return None, torch.empty(0)  # an architecture that keeps something else
        self._model.longest_tried_prefix = max(self._model.longest_tried_prefix, ids.shape[1])
        return kept, states[:, -1:]

    def _serves(self, kept: Cache, ids: Tensor) -> bool:
        """Whether tokens read after what was kept have the numbers of tokens read after the prefix itself."""
        projection, probe = self._model.projection, ids[:, :PROBE_TOKENS]
        found = projection.logits(projection.states_with(probe.expand(2, -1), kept).flatten(0, 1), None)
        afresh = projection.states(torch.cat([ids, probe], dim=1))[:, ids.shape[1] :]
        truth = projection.logits(afresh.flatten(0, 1), None).repeat(2, 1)
        error = float((found - truth).abs().max() / truth.abs().max().clamp(min=1.0))
        return error <= TOLERANCE[self._network.dtype]


class _KeptLayer(DynamicLayer):  # type: ignore[misc]  # its library is not typed
    """A layer of the prefix that is never added to: each row of a batch sees it before its own tokens."""

    def __init__(self, layer: DynamicLayer) -> None:
        super().__init__()
        self.dtype, self.device = layer.dtype, layer.device
        self.keys, self.values, self.is_initialized = layer.keys, layer.values, True

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """The prefix's keys and values with those of the rows behind them; nothing is kept."""
        rows = key_states.shape[0]
        return (
            torch.cat([self.keys.expand(rows, -1, -1, -1), key_states], dim=-2),
            torch.cat([self.values.expand(rows, -1, -1, -1), value_states], dim=-2),
        )
