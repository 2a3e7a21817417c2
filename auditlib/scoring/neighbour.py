"""The loss, set against that of the text with a few words replaced: what is known by heart is known word by word."""

from __future__ import annotations

from statistics import fmean

from auditlib.scoring.base import Companion, Reading, score
from auditlib.scoring.loss import negative_log_likelihood


@score(
    name="neighbour",
    label="Neighbour",
    unit="nats per token",
    meaning="How much better the model foresaw the text than variants of it in which some words were replaced.",
    direction="Higher: these very words are far better known than others that would do as well.",
    reads=frozenset({Companion.NEIGHBOURS}),
)
def neighbour_difference(reading: Reading) -> float:
    """mean_j NLL(neighbour_j) - NLL(text), nats per token (Mattern et al. 2023). The mean, not the best neighbour."""
    if reading.neighbours is None:
        raise ValueError("no neighbours were read")
    return fmean(reading.neighbours.nll) - negative_log_likelihood(reading.stats.logprob)
