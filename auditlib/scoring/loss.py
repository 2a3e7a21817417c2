"""The simplest score: how predictable the text is as a whole."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from auditlib.scoring.base import Reading, score


def negative_log_likelihood(logprob: NDArray[np.float32]) -> float:
    """NLL = -mean(logprob), nats per token; logprob (n,), n >= 1."""
    return -float(np.mean(logprob, dtype=np.float64))


def perplexity(logprob: NDArray[np.float32]) -> float:
    """exp(NLL), as which the loss is shown to people; 1 is a text that was fully foreseen."""
    return math.exp(negative_log_likelihood(logprob))


@score(
    name="loss",
    label="Loss",
    unit="nats per token",
    meaning="Mean log-probability of all tokens: how well the model foresaw the text as a whole.",
    direction="Higher (perplexity lower): more like the texts the model was trained on, or simply easier prose.",
)
def loss(reading: Reading) -> float:
    """-NLL, nats per token, at most 0 (Yeom et al. 2018; "PPL" in Shi et al. 2024)."""
    return -negative_log_likelihood(reading.stats.logprob)
