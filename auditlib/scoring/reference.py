"""The loss, set against that of another model: what any model finds easy counts for nothing."""

from __future__ import annotations

from auditlib.scoring.base import Companion, Reading, score
from auditlib.scoring.loss import negative_log_likelihood


@score(
    name="reference",
    label="Reference",
    unit="nats per token",
    meaning="How much better the model foresaw the text than a reference model did that has not been trained on it.",
    direction="Higher: the model knows something about this text that the reference model does not. A reference that "
    "cuts texts into other tokens shifts all scores alike.",
    reads=frozenset({Companion.REFERENCE}),
)
def reference_difference(reading: Reading) -> float:
    """NLL_ref(text) - NLL(text), nats per token, each over its own model's tokens (Carlini et al. 2021).

    A difference and not a ratio, so that 0 means that both foresaw the text equally well.
    """
    if reading.reference is None:
        raise ValueError("no reference model has read the text")
    return reading.reference - negative_log_likelihood(reading.stats.logprob)
