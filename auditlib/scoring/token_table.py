"""Every token of a reading as a row: what is exported as CSV and Parquet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from auditlib.scoring.base import Reading
from auditlib.scoring.min_k import bottom_mask
from auditlib.scoring.min_k_plus_plus import standardized_logprob


def token_table(reading: Reading, tokens: Sequence[str]) -> pd.DataFrame:
    """One row per scored token, in reading order; `tokens` says what each token id stands for alone.

    Columns: position (from 0), start, end (characters of the text), text (those characters), token_id, token,
    logprob and entropy (nats), probability, expected (nats), variance (nats squared), z (standard deviations),
    rank, in_bottom_k. Columns that the model cannot give are left out.
    """
    stats = reading.stats
    columns: dict[str, object] = {
        "position": np.arange(stats.n_tokens, dtype=np.int32),
        "start": stats.start,
        "end": stats.end,
        "text": [reading.text[a:b] for a, b in zip(stats.start, stats.end, strict=True)],
        "token_id": stats.token_ids,
        "token": list(tokens),
        "logprob": stats.logprob,
        "probability": np.exp(stats.logprob),
    }
    if stats.rank is not None:
        columns["rank"] = stats.rank
    if stats.expected is not None and stats.variance is not None:
        columns["expected"] = stats.expected
        columns["variance"] = stats.variance
        columns["entropy"] = -stats.expected
        columns["z"] = standardized_logprob(stats)
    columns["in_bottom_k"] = bottom_mask(stats.logprob, reading.k)
    return pd.DataFrame(columns)
