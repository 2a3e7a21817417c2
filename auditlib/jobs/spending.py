"""What a run has sent to servers: counted for the run and not for the connection, and kept over interruptions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from auditlib.core import AuditError
from auditlib.models.endpoint.address import checked_address
from auditlib.models.endpoint.budget import PRICED_TOKENS, Budget, budget_of
from auditlib.models.request import EndpointRequest
from auditlib.store import Artifacts, Store

SPENDING = "spending.json"


class Spending:
    """A budget for each served model of one run; a run that is resumed goes on counting."""

    def __init__(self, put: Callable[[bytes], None], spent: Mapping[str, tuple[int, float | None]]) -> None:
        """`put` keeps the account, `spent` is what it said when it was kept last."""
        self._put = put
        self._spent = dict(spent)
        self._budgets: dict[str, Budget] = {}

    def budget(self, endpoint: EndpointRequest) -> Budget:
        """What the run may still send to this model."""
        name = f"{endpoint.model} at {checked_address(endpoint.base_url).host}"

        def keep(tokens: int) -> None:
            cost = None if endpoint.price is None else tokens * endpoint.price / PRICED_TOKENS
            self._spent[name] = (tokens, cost)
            self._put(json.dumps(self._spent).encode())

        if name not in self._budgets:
            self._budgets[name] = budget_of(endpoint, self._spent.get(name, (0, None))[0], keep)
        return self._budgets[name]

    @contextmanager
    def settled(self) -> Iterator[None]:
        """At the end, however it comes, the account is exact."""
        try:
            yield
        finally:
            for budget in self._budgets.values():
                with suppress(AuditError):  # the run was deleted, or the database is what failed
                    budget.settle()


def kept_spending(store: Store, run_id: str) -> dict[str, tuple[int, float | None]]:
    """Tokens and cost by served model, as they were kept last; empty where the run asked no server."""
    try:
        kept = json.loads(Artifacts(store).read(run_id, SPENDING))
        return {str(name): (int(tokens), cost) for name, (tokens, cost) in kept.items()}
    except (AuditError, ValueError, TypeError, AttributeError):
        return {}


def spending_notes(store: Store, run_id: str) -> list[str]:
    """A sentence for each server that a run has asked."""
    return [
        f"{tokens:,} tokens were sent to {name}" + ("." if cost is None else f", at a cost of {cost:,.2f}.")
        for name, (tokens, cost) in kept_spending(store, run_id).items()
    ]
