"""Verbatim extraction: how likely a model is to continue a text's passages word for word.

From the same token log-probabilities as every score; nothing is generated (Hayes et al. 2024; Cooper et al. 2025).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, expm1, inf, log1p

import numpy as np
from numpy.typing import ArrayLike

from auditlib.evidence.arrays import FloatArray, IntArray

THRESHOLDS = (0.001, 0.01, 0.5)


@dataclass(frozen=True)
class Windows:
    """Windows of prefix + suffix along a text.

    start   (w,) first scored token of each window's prefix
    log_p   (w,) log-probability of its suffix given all before it, nats
    """

    start: IntArray
    log_p: FloatArray


@dataclass(frozen=True)
class ExtractionSummary:
    """What share of windows reaches each threshold of p_z, and the longest run of neighbouring ones that do.

    median_log_p  of the middle window, nats; None where there is none. It tells a text that was half learnt, of which
                  nothing could be had word for word, from one that is new
    """

    n_windows: int
    thresholds: tuple[float, ...]
    shares: tuple[float, ...]
    longest_runs: tuple[int, ...]  # windows in a row
    median_log_p: float | None = None


def extraction_windows(logprob: ArrayLike, prefix: int = 50, suffix: int = 50, step: int = 10) -> Windows:
    """Suffix log-probabilities along `logprob` (n,), nats, one for each scored token and none for others.

    Greedy and top-k sampling would make the passages likelier than sampling as the model gives them, which this is.
    A text of fewer than prefix + suffix scored tokens has no windows.
    """
    if prefix < 0 or suffix < 1 or step < 1:
        raise ValueError(f"no windows of {prefix} + {suffix} tokens, sliding by {step}")
    values = np.asarray(logprob, dtype=np.float64)
    if values.ndim != 1 or not np.all(np.isfinite(values)) or np.any(values > 1e-6):
        raise ValueError("logprob must be one row of finite log-probabilities, none above 0")
    start = np.arange(0, len(values) - prefix - suffix + 1, step, dtype=np.int64)
    running = np.concatenate([[0.0], np.cumsum(values)])
    log_p = running[start + prefix + suffix] - running[start + prefix]
    return Windows(start, np.minimum(log_p, 0.0))


def extraction_probability(log_p: float, n: int) -> float:
    """Chance that n samples hold the passage at least once: 1 - (1 - p)^n, exact also for tiny p (nats in)."""
    if log_p > 0 or n < 0:
        raise ValueError("log_p must be at most 0, and n at least 0")
    if n == 0 or log_p == -inf:
        return 0.0
    p = exp(log_p)
    return 1.0 if p == 1.0 else -expm1(n * log1p(-p))


def extraction_summary(log_p: ArrayLike, thresholds: tuple[float, ...] = THRESHOLDS) -> ExtractionSummary:
    """Shares and longest runs of windows (w,), in their order along the text, with p_z at each threshold or above."""
    values = np.asarray(log_p, dtype=np.float64)
    reached = [values >= np.log(threshold) for threshold in thresholds]
    shares = tuple(float(flags.mean()) if len(flags) else 0.0 for flags in reached)
    middle = float(np.median(values)) if len(values) else None
    return ExtractionSummary(len(values), thresholds, shares, tuple(_longest_run(flags) for flags in reached), middle)


def extraction_of_pieces(pieces: Sequence[ArrayLike], thresholds: tuple[float, ...] = THRESHOLDS) -> ExtractionSummary:
    """The same over several pieces of a work or shelf: no run goes on from one piece to the next."""
    own = [extraction_summary(piece, thresholds) for piece in pieces if len(np.asarray(piece))]
    n = sum(one.n_windows for one in own)
    shares = tuple(
        sum(one.shares[place] * one.n_windows for one in own) / max(1, n) for place in range(len(thresholds))
    )
    longest = tuple(max((one.longest_runs[place] for one in own), default=0) for place in range(len(thresholds)))
    middle = float(np.median(np.concatenate([np.asarray(piece) for piece in pieces]))) if n else None
    return ExtractionSummary(n, thresholds, shares, longest, middle)


def _longest_run(flags: np.ndarray) -> int:
    edges = np.diff(np.concatenate([[0], flags.astype(np.int64), [0]]))
    lengths = np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)
    return int(lengths.max()) if len(lengths) else 0
