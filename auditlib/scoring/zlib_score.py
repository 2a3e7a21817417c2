"""The loss, set against how far the text can be compressed without any model."""

from __future__ import annotations

import zlib

from auditlib.scoring.base import Reading, score
from auditlib.scoring.loss import negative_log_likelihood

ZLIB_LEVEL = 6


@score(
    name="zlib",
    label="Zlib",
    unit="nats per token per byte",
    meaning="Loss divided by the text's compressed size, so that repetitive text earns no credit for being easy.",
    direction="Higher (nearer 0): more foreseen than its compressed size explains. Longer texts lie nearer 0, "
    "so compare texts of like length only.",
)
def zlib_ratio(reading: Reading) -> float:
    """-NLL / (bytes of zlib level 6 of the UTF-8 text), nats per token per byte, at most 0 (Carlini et al. 2021)."""
    compressed_bytes = len(zlib.compress(reading.text.encode("utf-8"), level=ZLIB_LEVEL))
    return -negative_log_likelihood(reading.stats.logprob) / compressed_bytes
