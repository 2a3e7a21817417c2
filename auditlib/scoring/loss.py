"""The simplest score: how predictable the text is as a whole."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from auditlib.scoring.base import Reading, score

LARGEST_EXPONENT = 700.0  # exp of more does not fit a float64


def negative_log_likelihood(logprob: NDArray[np.float32]) -> float:
    """NLL = -mean(logprob), nats per token; logprob (n,), n >= 1."""
    return -float(np.mean(logprob, dtype=np.float64))


def perplexity(logprob: NDArray[np.float32]) -> float:
    """exp(NLL), as which the loss is shown to people; 1 is a text that was fully foreseen, inf beyond all numbers."""
    nll = negative_log_likelihood(logprob)
    return math.exp(nll) if nll < LARGEST_EXPONENT else math.inf


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
