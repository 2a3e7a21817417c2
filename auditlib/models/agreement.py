"""How far two models' readings of one text agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auditlib.core import TokenStats


@dataclass(frozen=True)
class Agreement:
    """Two readings of one text. `mean` and `largest` are absolute differences of log-probabilities, nats a token.

    Both are None where the models cut the text into other tokens: then there are no pairs to compare. `first` and
    `second` are each model's negative log-likelihood in nats a character, which other tokens leave comparable.
    """

    mean: float | None
    largest: float | None
    first: float
    second: float

    @property
    def same_tokens(self) -> bool:
        """Whether both models cut the text at the same places."""
        return self.mean is not None


def agreement(first: TokenStats, second: TokenStats) -> Agreement:
    """Of two readings of the same text."""
    differences = None
    if np.array_equal(first.end, second.end):
        differences = np.abs(first.logprob.astype(np.float64) - second.logprob)
    return Agreement(
        None if differences is None else float(differences.mean()),
        None if differences is None else float(differences.max()),
        _nats_a_character(first),
        _nats_a_character(second),
    )


def _nats_a_character(stats: TokenStats) -> float:
    return -float(stats.logprob.sum(dtype=np.float64)) / max(1, int(stats.end[-1]) - int(stats.start[0]))
