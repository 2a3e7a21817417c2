"""Scores: `TokenStats` in, one number out, higher = more like what the model was trained on."""

from auditlib.scoring import loss, lowercase, min_k, min_k_plus_plus, zlib_score  # noqa: F401  fill SCORES
from auditlib.scoring.base import DEFAULT_K, SCORES, Reading, Score
from auditlib.scoring.reading import all_scores, checked_k, read_texts

__all__ = ["DEFAULT_K", "SCORES", "Reading", "Score", "all_scores", "checked_k", "read_texts"]
