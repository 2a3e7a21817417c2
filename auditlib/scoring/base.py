"""What a score is, and the registry that holds every one. A new score is one decorated function in one file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from auditlib.core import Capability, TokenStats
from auditlib.scoring.frequencies import FrequencyTable

DEFAULT_K = 20.0


class Companion(StrEnum):
    """What some scores look at besides the text under the model: the name of the field of `Reading` that holds it."""

    LOWERCASED = "lowercased"
    REFERENCE = "reference"
    NEIGHBOURS = "neighbours"
    AFTER_NON_MEMBERS = "after_non_members"
    AFTER_MEMBERS = "after_members"
    FREQUENCIES = "frequencies"


MISSING = {
    Companion.LOWERCASED: "The text was not read in lower case, or is too short then.",
    Companion.REFERENCE: "No reference model has read the text.",
    Companion.NEIGHBOURS: "No variants of the text were made.",
    Companion.AFTER_NON_MEMBERS: "The text was not read after known non-members.",
    Companion.AFTER_MEMBERS: "The text was not read after known members.",
    Companion.FREQUENCIES: "No corpus was named to count words in, or the model does not tell which tokens it reads.",
}


@dataclass(frozen=True)
class Neighbours:
    """Variants of a text under the same model: the NLL of each, nats per token. `made_by` says what made them."""

    nll: tuple[float, ...]
    made_by: str


@dataclass(frozen=True)
class Reading:
    """A text as a model read it, and what else was read for it: all that a score may look at.

    k                  in percent
    lowercased         the statistics of `text.lower()`
    reference          NLL under another model, nats per token of its own, which may be others
    after_non_members, after_members   log-probabilities of the tokens after a prefix of such texts, nats. (n,), or
                       (n + 1,) where the first token has a number only there
    """

    text: str
    stats: TokenStats
    k: float = DEFAULT_K
    lowercased: TokenStats | None = None
    reference: float | None = None
    neighbours: Neighbours | None = None
    after_non_members: NDArray[np.float32] | None = None
    after_members: NDArray[np.float32] | None = None
    frequencies: FrequencyTable | None = None


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
    reads: frozenset[Companion]
    compute: Callable[[Reading], float]

    @property
    def reads_lowercased(self) -> bool:
        """Whether the text must be read in lower case too."""
        return Companion.LOWERCASED in self.reads

    @property
    def needs_a_second_look(self) -> bool:
        """Whether it needs more than the audited model reading the text alone: another model, a prefix, a corpus."""
        return bool(self.reads - {Companion.LOWERCASED})

    def unavailable_because(self, reading: Reading, capabilities: frozenset[Capability]) -> str | None:
        """Why this score cannot be had for this reading, in words for people; None where it can."""
        if lacking := self.needs - capabilities:
            return f"This model does not give {', '.join(sorted(lacking))}."
        lacking_too = [companion for companion in Companion if companion in self.reads and not _has(reading, companion)]
        return MISSING[lacking_too[0]] if lacking_too else None


def _has(reading: Reading, companion: Companion) -> bool:
    return getattr(reading, companion.value) is not None


SCORES: dict[str, Score] = {}


def score(
    name: str,
    label: str,
    unit: str,
    meaning: str,
    direction: str,
    needs: frozenset[Capability] = frozenset({Capability.TOKEN_LOGPROBS}),
    reads: frozenset[Companion] = frozenset(),
) -> Callable[[Callable[[Reading], float]], Callable[[Reading], float]]:
    """Registers the decorated function in `SCORES` under `name`."""

    def register(compute: Callable[[Reading], float]) -> Callable[[Reading], float]:
        SCORES[name] = Score(name, label, unit, meaning, direction, needs, reads, compute)
        return compute

    return register
