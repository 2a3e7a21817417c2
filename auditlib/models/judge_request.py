"""Which judge a person asks for, apart from the code that asks it: pages need the one long before the other."""

from __future__ import annotations

import math
from dataclasses import dataclass

from auditlib.core import AuditError
from auditlib.models.endpoint.address import checked_address
from auditlib.models.endpoint.keys import checked_variable

KEY_VARIABLE = "AUDIT_JUDGE_KEY"
MOST_AT_ONCE = 32


@dataclass(frozen=True)
class JudgeRequest:
    """Which judge, and what it may cost: all of it may be kept and shown, as the key is not in it.

    price   of a million tokens, question and answer alike, in any one currency
    most_tokens, most_cost   what one run may spend; None for no limit. `most_cost` needs a price
    """

    base_url: str
    model: str
    at_once: int = 4
    price: float | None = None
    most_tokens: int | None = None
    most_cost: float | None = None
    key_variable: str = KEY_VARIABLE

    def __post_init__(self) -> None:
        checked_address(self.base_url)
        checked_variable(self.key_variable)
        if not self.model.strip() or len(self.model) > 300 or not self.model.isprintable():
            raise AuditError("The judge model has no name.", "Give the name by which its server knows it.")
        if not 1 <= self.at_once <= MOST_AT_ONCE:
            raise AuditError(f"{self.at_once} questions at once cannot be asked.", f"Choose 1 to {MOST_AT_ONCE}.")
        for value in (self.price, self.most_tokens, self.most_cost):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise AuditError("A price or a limit of the judge is not above 0.", "Correct it, or leave it out.")
        if self.most_cost is not None and self.price is None:
            raise AuditError("A limit of cost was given and no price.", "Give the price of a million tokens.")
