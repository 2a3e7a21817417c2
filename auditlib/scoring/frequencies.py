"""How common each token is in a corpus that an auditor names: what a model's expectations are measured against."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from auditlib.core import AuditError

FEWEST_TOKENS = 1000


class CountsTokens(Protocol):
    """A model that says which tokens a text has."""

    @property
    def vocabulary_size(self) -> int:
        """Tokens that there are."""
        ...

    def token_ids(self, text: str) -> NDArray[np.int32]:
        """The text's tokens. (n,)"""
        ...


@dataclass(frozen=True)
class FrequencyTable:
    """Tokens of a corpus, counted with one model's tokenizer. `corpus` names it for people."""

    corpus: str
    counts: NDArray[np.int64]  # (V,)

    @property
    def total(self) -> int:
        """Tokens in the corpus."""
        return int(self.counts.sum())

    def log_frequency(self, token_ids: NDArray[np.int32]) -> NDArray[np.float64]:
        """log((count + 1) / (total + V)) of each token (n,), nats: as if every token had been seen once more."""
        return np.asarray(np.log(self.counts[token_ids] + 1.0) - np.log(self.total + len(self.counts)))


def frequency_table(model: CountsTokens, texts: Iterable[str], corpus: str) -> FrequencyTable:
    """Counts `texts` with the tokenizer of `model`. Raises `AuditError` where there is hardly anything to count."""
    counts = np.zeros(model.vocabulary_size, dtype=np.int64)
    for text in texts:
        if text.strip():
            np.add.at(counts, model.token_ids(text), 1)
    table = FrequencyTable(corpus, counts)
    if table.total < FEWEST_TOKENS:
        raise AuditError(
            f"The corpus “{corpus[:60]}” has {table.total:,} tokens, too few to say how common words are.",
            f"Name a corpus of ordinary texts, of {FEWEST_TOKENS:,} tokens at the very least and better a million.",
        )
    return table
