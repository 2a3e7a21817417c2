"""How long to go on asking a server that does not answer as it should."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_ASKED_WAIT = 120.0  # seconds; who is told to wait longer can resume the run later


@dataclass(frozen=True)
class Patience:
    """Tries for one request, and the waits between them in seconds: each twice the one before, up to the longest."""

    tries: int = 8
    first_wait: float = 0.5
    longest_wait: float = 20.0

    def wait(self, failures: int, asked: float | None, chance: random.Random) -> float:
        """Seconds to wait after so many failures (1 at the first): what the server asked for, or the usual.

        The usual is drawn between half of its length and all of it, so that requests that failed together do not
        come back together; a wait that the server asked for is never cut short.
        """
        usual = min(self.first_wait * 2 ** (failures - 1), self.longest_wait)
        usual *= 0.5 + 0.5 * chance.random()
        return float(usual if asked is None else max(asked, min(usual, self.first_wait)))


def asked_wait(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that a server asks to be left alone, by Retry-After (a number or a date); None where it asks nothing."""
    said = headers.get("retry-after", "").strip()
    try:
        seconds = float(said)
    except ValueError:
        try:
            until = parsedate_to_datetime(said)
        except (ValueError, TypeError):
            return None
        if until.tzinfo is None:
            until = until.replace(tzinfo=UTC)
        seconds = (until - (now or datetime.now(UTC))).total_seconds()
    return max(0.0, seconds) if seconds < float("inf") else None  # NaN fails this too
