"""What reading texts over a server will take, told before any of them is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from auditlib.models.endpoint.budget import budget_of
from auditlib.models.request import EndpointRequest

BYTES_A_TOKEN = 4.0  # of English under most tokenizers, where nobody has counted
SAMPLED = 50  # texts that are counted; the others are told from these

OPEN_TO_READERS = (
    "This address begins with http:// and is another machine: whoever sits between here and there can read texts and "
    "key. Use https://, or a tunnel to this machine."
)

Count = Callable[[Sequence[str]], Sequence[int | None]]
"""Tokens of each text; None for one that cannot be scored."""


Reads = Sequence[tuple[str, int]]
"""Texts, each with how often a model will read it."""


@dataclass(frozen=True)
class SendingEstimate:
    """At most what is sent: readings that are kept already are not asked for again.

    cost       in the currency of the price, None where no price is known
    is_within  whether the budget of one run holds all of it
    """

    tokens: int
    cost: float | None
    is_within: bool


def estimate_sending(endpoint: EndpointRequest, reads: Reads, count: Count | None = None) -> SendingEstimate:
    """For these readings. `count` counts without sending; without it lengths alone are gone by."""
    n_bytes = sum(_n_bytes(text) * times for text, times in reads)
    tokens = round(n_bytes * _tokens_a_byte([text for text, _ in reads], count))
    budget = budget_of(endpoint)
    is_within = budget.most_tokens is None or tokens <= budget.most_tokens
    return SendingEstimate(tokens, budget.cost_of(tokens), is_within)


def _tokens_a_byte(texts: Sequence[str], count: Count | None) -> float:
    sampled = list(texts[:: max(1, len(texts) // SAMPLED)])
    pairs = [] if count is None else list(zip(sampled, count(sampled), strict=True))
    n_bytes = sum(_n_bytes(text) for text, n in pairs if n is not None)
    return sum(n for _, n in pairs if n is not None) / n_bytes if n_bytes else 1 / BYTES_A_TOKEN


def _n_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
