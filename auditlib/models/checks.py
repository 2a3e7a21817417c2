"""What a check of a model server says: apart from the code that checks, because pages show it and need no more."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. A failed one that `decides` means that the server is not used."""

    name: str
    outcome: Outcome
    sentence: str
    decides: bool = True
