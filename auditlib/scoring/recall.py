"""ReCaLL and Con-ReCall: how a text's likelihood changes when texts of known membership stand before it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from auditlib.core import TokenStats
from auditlib.scoring.base import Companion, Reading, score
from auditlib.scoring.loss import negative_log_likelihood

GAMMA = 0.5
SMALLEST_NLL = 1e-9  # a text foreseen with certainty; keeps the ratio finite and changes no other value


def log_likelihood_after(after: NDArray[np.float32], alone: TokenStats) -> float:
    """Mean log-probability, nats per token, of the tokens that were scored both after a prefix and alone.

    Alone, a text without a BOS has no number for its first token; after a prefix it has, and it is left out here.
    """
    if len(after) < alone.n_tokens:
        raise ValueError(f"{len(after)} tokens after the prefix and {alone.n_tokens} without")
    return -negative_log_likelihood(after[len(after) - alone.n_tokens :])


@score(
    name="recall",
    label="ReCaLL",
    unit="ratio",
    meaning="Log-likelihood of the text after known non-members, over its log-likelihood alone.",
    direction="Higher: texts that it has not seen disturb the model in foreseeing this one, as they disturb what it "
    "knows and help with what it does not.",
    reads=frozenset({Companion.AFTER_NON_MEMBERS}),
)
def recall(reading: Reading) -> float:
    """LL(text given non-members) / LL(text), no unit, above 0; means over the text's tokens (Xie et al. 2024)."""
    if reading.after_non_members is None:
        raise ValueError("the text was not read after non-members")
    return -log_likelihood_after(reading.after_non_members, reading.stats) / _nll(reading)


@score(
    name="con_recall",
    label="Con-ReCall",
    unit="ratio",
    meaning="Log-likelihood of the text after known non-members, less half of that after known members, over its "
    "log-likelihood alone.",
    direction="Higher: non-members disturb the model in foreseeing this text, and members do less.",
    reads=frozenset({Companion.AFTER_NON_MEMBERS, Companion.AFTER_MEMBERS}),
)
def con_recall(reading: Reading) -> float:
    """(LL(x given non-members) - 0.5 LL(x given members)) / LL(x), no unit (Wang et al. 2024)."""
    if reading.after_non_members is None or reading.after_members is None:
        raise ValueError("the text was not read after both prefixes")
    after_non_members = log_likelihood_after(reading.after_non_members, reading.stats)
    after_members = log_likelihood_after(reading.after_members, reading.stats)
    return -(after_non_members - GAMMA * after_members) / _nll(reading)


def _nll(reading: Reading) -> float:
    return max(negative_log_likelihood(reading.stats.logprob), SMALLEST_NLL)
