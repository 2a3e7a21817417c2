"""SURP: surprising tokens, where the model was sure of what would come and something else came."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from auditlib.core import Capability, TokenStats
from auditlib.scoring.base import Reading, score

MOST_ENTROPY = 2.0  # nats: below it the model is sure
PERCENTILE = 20.0


def surprising(stats: TokenStats) -> NDArray[np.bool_]:
    """Which tokens (n,) are surprising: entropy below 2 nats, log-probability below the text's 20th percentile."""
    if stats.expected is None:
        raise ValueError("the model gave no entropy")
    is_sure = -stats.expected < MOST_ENTROPY
    is_unlikely = stats.logprob < np.percentile(stats.logprob.astype(np.float64), PERCENTILE)
    return np.asarray(is_sure & is_unlikely, dtype=np.bool_)


@score(
    name="surp",
    label="SURP",
    unit="nats",
    meaning="Mean log-probability of the tokens that came where the model was sure of others.",
    direction="Higher (nearer 0): where the model was sure it was seldom far wrong. 0 where there is no such token.",
    needs=frozenset({Capability.TOKEN_LOGPROBS, Capability.FULL_DISTRIBUTION}),
)
def surp(reading: Reading) -> float:
    """Mean log-probability, nats, at most 0, of the surprising tokens (Zhang and Wu 2024); 0 where there are none.

    Percentile and entropy limit are those of public code and do not follow k.
    """
    found = reading.stats.logprob[surprising(reading.stats)]
    return float(np.mean(found, dtype=np.float64)) if len(found) else 0.0
