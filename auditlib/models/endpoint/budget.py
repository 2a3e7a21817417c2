"""What a server's readings may cost, in tokens and in money; seen to before a request is sent, not after."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from auditlib.core import AuditError

PRICED_TOKENS = 1_000_000


@dataclass(frozen=True)
class Estimate:
    """What a reading will take. `cost` is in the currency of the price that was given, None where none was.

    `is_exact` says whether the tokens were counted by the model's own tokenizer; else they are reckoned from lengths.
    """

    tokens: int
    cost: float | None
    is_exact: bool


class Budget:
    """Tokens sent to one server, and how many may be. Counts from when the server was connected.

    A request that failed may have been charged for all the same, so every one that was sent counts.
    """

    def __init__(self, most_tokens: int | None, most_cost: float | None, price: float | None) -> None:
        """`price` is for a million tokens of prompt, in the currency of `most_cost`."""
        self.price = price
        limits = [most_tokens] if most_tokens is not None else []
        if most_cost is not None and price:
            limits.append(int(most_cost / price * PRICED_TOKENS))
        self.most_tokens: int | None = min(limits) if limits else None
        self._spent = 0
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
            self._spent += tokens

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
            "Raise the budget and go on: what was read so far is kept and is not sent again.",
        )

    def _price_of(self, tokens: int) -> str:
        cost = self.cost_of(tokens)
        return "" if cost is None else f" (a cost of {cost:,.2f})"
