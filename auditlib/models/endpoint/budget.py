"""What a server's readings may cost, in tokens and in money; seen to before a request is sent, not after."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from auditlib.core import AuditError
from auditlib.models.request import EndpointRequest

PRICED_TOKENS = 1_000_000
KEPT_AHEAD = 20_000  # tokens between two notes of what was spent, where there is no limit
PARTS = 50  # of a limit, likewise


@dataclass(frozen=True)
class Estimate:
    """What a reading will take. `cost` is in the currency of the price that was given, None where none was.

    `is_exact` says whether the tokens were counted by the model's own tokenizer; else they are reckoned from lengths.
    """

    tokens: int
    cost: float | None
    is_exact: bool


class Budget:
    """Tokens sent to one server for one purpose (a run, a question, the checks on connecting), and how many may be.

    A request that failed may have been charged for all the same, so every one that was sent counts. What comes out of
    the cache was not sent and costs nothing.
    """

    def __init__(
        self,
        most_tokens: int | None,
        most_cost: float | None,
        price: float | None,
        spent: int = 0,
        keep: Callable[[int], None] | None = None,
    ) -> None:
        """`price` is for a million tokens of prompt, in the currency of `most_cost`.

        spent  tokens that were sent before, by the same run
        keep   told a number of tokens that is reached soon, before it is: what is interrupted by force counts a
               little too much and never too little
        """
        self.price = price
        limits = [most_tokens] if most_tokens is not None else []
        if most_cost is not None and price:
            limits.append(int(most_cost / price * PRICED_TOKENS))
        self.most_tokens: int | None = min(limits) if limits else None
        self._ahead = KEPT_AHEAD if self.most_tokens is None else min(KEPT_AHEAD, 1 + self.most_tokens // PARTS)
        self._spent = self._kept = spent
        self._keep = keep
        self._touching = threading.Lock()

    @property
    def spent_tokens(self) -> int:
        """Tokens sent so far."""
        with self._touching:
            return self._spent

    def cost_of(self, tokens: int) -> float | None:
        """What so many tokens cost; None where no price is known."""
        return None if self.price is None else tokens * self.price / PRICED_TOKENS

    def spend(self, tokens: int) -> None:
        """Counts tokens that are about to be sent. Raises `AuditError`, and counts nothing, where they are too many."""
        with self._touching:
            self._refuse(tokens)
            if self._keep is not None and self._spent + tokens > self._kept:
                self._kept = self._spent + tokens + self._ahead
                self._keep(self._kept)
            self._spent += tokens

    def settle(self) -> None:
        """Has exactly what was spent kept: for whoever ends, and has not been killed."""
        with self._touching:
            if self._keep is not None and self._kept != self._spent:
                self._kept = self._spent
                self._keep(self._spent)

    def refuse_too_much(self, tokens: int) -> None:
        """Raises `AuditError` where so many tokens more would be too many."""
        with self._touching:
            self._refuse(tokens)

    def _refuse(self, tokens: int) -> None:
        if self.most_tokens is None or self._spent + tokens <= self.most_tokens:
            return
        raise AuditError(
            f"The budget of this server ends here: {self._spent:,} tokens were sent{self._price_of(self._spent)}, the "
            f"next {tokens:,} would go beyond the {self.most_tokens:,}{self._price_of(self.most_tokens)} that were "
            "allowed.",
            "Ask again with a larger budget (copy a run for that): what was read so far is kept and is not sent again.",
        )

    def _price_of(self, tokens: int) -> str:
        cost = self.cost_of(tokens)
        return "" if cost is None else f" (a cost of {cost:,.2f})"


def budget_of(endpoint: EndpointRequest, spent: int = 0, keep: Callable[[int], None] | None = None) -> Budget:
    """What one run, or one question, may spend on a server. See `Budget`."""
    return Budget(endpoint.most_tokens, endpoint.most_cost, endpoint.price, spent, keep)
