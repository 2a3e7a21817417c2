"""How much a text loses when its capitals are taken away."""

from __future__ import annotations

from auditlib.scoring.base import Companion, Reading, score
from auditlib.scoring.loss import negative_log_likelihood


@score(
    name="lowercase",
    label="Lowercase",
    unit="ratio",
    meaning="Loss of the text as it stands against its loss in lower case: a text known by heart is known "
    "with its capitals.",
    direction="Higher (nearer 0): the text's own spelling is far better known than the lower-case one.",
    reads=frozenset({Companion.LOWERCASED}),
)
def lowercase_ratio(reading: Reading) -> float:
    """-NLL(text) / NLL(text.lower()), no unit, at most 0; -1 for a text without capitals (Carlini et al. 2021)."""
    if reading.lowercased is None:
        raise ValueError("the lower-cased text was not read")
    # A text foreseen with certainty has NLL 0; the floor keeps the ratio finite and changes no other value.
    lowercased_nll = max(negative_log_likelihood(reading.lowercased.logprob), 1e-9)
    return -negative_log_likelihood(reading.stats.logprob) / lowercased_nll
