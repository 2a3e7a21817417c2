"""What a score is, and the registry that holds every one. A new score is one decorated function in one file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from auditlib.core import Capability, TokenStats

DEFAULT_K = 20.0


@dataclass(frozen=True)
class Reading:
    """A text as a model read it: all that a score may look at.

    `k` is in percent. `lowercased` are the statistics of `text.lower()`, for scores that compare with it.
    """

    text: str
    stats: TokenStats
    k: float = DEFAULT_K
    lowercased: TokenStats | None = None


@dataclass(frozen=True)
class Score:
    """One number about a text, oriented so that higher = more like what the model was trained on.

    `meaning` says in plain words what is measured, `direction` what a high value suggests.
    """

    name: str
    label: str
    unit: str
    meaning: str
    direction: str
    needs: frozenset[Capability]
    reads_lowercased: bool
    compute: Callable[[Reading], float]

    def unavailable_because(self, reading: Reading, capabilities: frozenset[Capability]) -> str | None:
        """Why this score cannot be had for this reading, in words for people; None where it can."""
        if lacking := self.needs - capabilities:
            return f"This model does not give {', '.join(sorted(lacking))}."
        if self.reads_lowercased and reading.lowercased is None:
            return "The text was not read in lower case, or is too short then."
        return None


SCORES: dict[str, Score] = {}


def score(
    name: str,
    label: str,
    unit: str,
    meaning: str,
    direction: str,
    needs: frozenset[Capability] = frozenset({Capability.TOKEN_LOGPROBS}),
    reads_lowercased: bool = False,
) -> Callable[[Callable[[Reading], float]], Callable[[Reading], float]]:
    """Registers the decorated function in `SCORES` under `name`."""

    def register(compute: Callable[[Reading], float]) -> Callable[[Reading], float]:
        SCORES[name] = Score(name, label, unit, meaning, direction, needs, reads_lowercased, compute)
        return compute

    return register
