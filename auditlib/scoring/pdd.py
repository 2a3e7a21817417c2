"""DC-PDD: what a model expects, calibrated by how common each token is anyway."""

from __future__ import annotations

import numpy as np

from auditlib.scoring.base import Companion, Reading, score

CLIP = 0.01  # of one token's part, nats: so that no single token decides


@score(
    name="dc_pdd",
    label="DC-PDD",
    unit="nats",
    meaning="Probability that the model gave each token, weighted by how rare the token is in a corpus; first "
    "occurrences only, each part limited.",
    direction="Higher: the model expected words that are rare elsewhere.",
    reads=frozenset({Companion.FREQUENCIES}),
)
def dc_pdd(reading: Reading) -> float:
    """Mean over tokens at their first occurrence of min(-p log f, 0.01), nats (Zhang et al. 2024, Equations 3 to 5).

    p is the model's probability of the token at that place, f its frequency in the corpus. A token that is context
    only (the first, where nothing precedes) is not seen here, so its next occurrence counts as the first.
    """
    if reading.frequencies is None:
        raise ValueError("no corpus was counted")
    stats = reading.stats
    _, first = np.unique(stats.token_ids, return_index=True)
    probability = np.exp(stats.logprob[first].astype(np.float64))
    parts = -probability * reading.frequencies.log_frequency(stats.token_ids[first])
    return float(np.mean(np.minimum(parts, CLIP)))
