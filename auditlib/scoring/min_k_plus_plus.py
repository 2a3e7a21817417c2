"""Min-K%++: Min-K% with each token measured against what was to be expected at its place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from auditlib.core import Capability, TokenStats
from auditlib.scoring.base import Reading, score
from auditlib.scoring.min_k import bottom_mean


def standardized_logprob(stats: TokenStats) -> NDArray[np.float32]:
    """z (n,) = (logprob - expected) / sqrt(variance): standard deviations above the mean log-probability that a
    token drawn from the model itself would have there. Raises ValueError where the backend gave no distribution.
    """
    if stats.expected is None or stats.variance is None:
        raise ValueError("the model gave no expected log-probability or variance")
    return np.asarray((stats.logprob - stats.expected) / np.sqrt(stats.variance), dtype=np.float32)


@score(
    name="min_k_plus_plus",
    label="Min-K%++",
    unit="standard deviations",
    meaning="As Min-K%, each token first compared with the model's own spread of expectations at that place.",
    direction="Higher: the text's words stand out as likely even where many others would have done.",
    needs=frozenset({Capability.TOKEN_LOGPROBS, Capability.FULL_DISTRIBUTION}),
)
def min_k_plus_plus(reading: Reading) -> float:
    """Mean of the k% lowest z, in standard deviations (Zhang et al. 2024, Equation 3).

    Mean and variance are over the model's own distribution, never an unweighted mean over the vocabulary.
    """
    return bottom_mean(standardized_logprob(reading.stats), reading.k)
