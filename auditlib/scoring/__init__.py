"""Scores: `TokenStats` in, one number out, higher = more like what the model was trained on."""

from auditlib.scoring import (  # noqa: F401  fill SCORES
    loss,
    lowercase,
    min_k,
    min_k_plus_plus,
    neighbour,
    pdd,
    recall,
    reference,
    surp,
    zlib_score,
)
from auditlib.scoring.allowed import needed_besides, not_allowed_because
from auditlib.scoring.base import DEFAULT_K, SCORES, Companion, Neighbours, Reading, Score
from auditlib.scoring.companions import Beside, Companions, read_beside, with_companions
from auditlib.scoring.frequencies import FrequencyTable, frequency_table
from auditlib.scoring.prefixes import drawn_prefix
from auditlib.scoring.reading import all_scores, checked_k, read_texts

__all__ = [
    "DEFAULT_K",
    "SCORES",
    "Beside",
    "Companion",
    "Companions",
    "FrequencyTable",
    "Neighbours",
    "Reading",
    "Score",
    "all_scores",
    "checked_k",
    "drawn_prefix",
    "frequency_table",
    "needed_besides",
    "not_allowed_because",
    "read_beside",
    "read_texts",
    "with_companions",
]
