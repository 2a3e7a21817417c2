"""Min-K%: the mean over the least expected tokens. A text the model has seen holds few real surprises."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from auditlib.scoring.base import Reading, score


def bottom_count(n_tokens: int, k: float) -> int:
    """How many of n tokens the bottom k percent are: floor(k n / 100), and never fewer than one."""
    if not 0 < k <= 100:
        raise ValueError(f"k must be above 0 and at most 100 percent, not {k}")
    return max(1, math.floor(k * n_tokens / 100))


def bottom_mean(values: NDArray[np.float32], k: float) -> float:
    """Mean of the lowest k percent of `values` (n,)."""
    count = bottom_count(len(values), k)
    return float(np.mean(np.partition(values, count - 1)[:count], dtype=np.float64))


def bottom_means(values: NDArray[np.float32], ks: Sequence[float]) -> list[float]:
    """`bottom_mean` of `values` (n,) for each of `ks` percent, sorting once."""
    percent = np.asarray(ks, dtype=np.float64)
    if not np.all((percent > 0) & (percent <= 100)):
        raise ValueError(f"k must be above 0 and at most 100 percent, not one of {list(ks)}")
    counts = np.maximum(1, np.floor(percent * len(values) / 100)).astype(np.int64)  # as in bottom_count
    means: list[float] = (np.cumsum(np.sort(values), dtype=np.float64)[counts - 1] / counts).tolist()
    return means


def bottom_mask(values: NDArray[np.float32], k: float) -> NDArray[np.bool_]:
    """Which of `values` (n,) are the lowest k percent; of equal values the earlier come first."""
    mask = np.zeros(len(values), dtype=np.bool_)
    mask[np.argsort(values, kind="stable")[: bottom_count(len(values), k)]] = True
    return mask


@score(
    name="min_k",
    label="Min-K%",
    unit="nats",
    meaning="Mean log-probability of the k% of tokens that the model expected least.",
    direction="Higher (nearer 0): even its oddest words were foreseen, more like the texts the model was trained on.",
)
def min_k(reading: Reading) -> float:
    """Mean of the k% lowest log-probabilities, nats, at most 0 (Shi et al. 2024, Equation 1).

    The paper's Algorithm 1 prints a sum; its Equation 1 and its results are of the mean.
    """
    return bottom_mean(reading.stats.logprob, reading.k)
