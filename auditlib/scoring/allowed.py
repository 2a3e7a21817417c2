"""Which scores a model allows, told from what it gives and before any text is read."""

from __future__ import annotations

from collections.abc import Collection

from auditlib.core import Capability
from auditlib.scoring.base import Companion, Score

BESIDES = {
    Companion.REFERENCE: "a reference model",
    Companion.NEIGHBOURS: "variants of each text",
    Companion.AFTER_NON_MEMBERS: "a few texts known to be new to it, as a prefix",
    Companion.AFTER_MEMBERS: "a few texts known to it, as a prefix",
    Companion.FREQUENCIES: "a corpus to count words in",
}
"""What has to be chosen for a score besides the model. The lower-case reading is made whenever it is needed."""


def not_allowed_because(
    score: Score, capabilities: Collection[Capability], takes_prefixes: bool, vocabulary_size: int
) -> str | None:
    """Why a model cannot have this score, in words for people; None where it can. 0 is a vocabulary nobody told."""
    if lacking := score.needs - frozenset(capabilities):
        return f"This model does not give {', '.join(sorted(lacking))}."
    if not takes_prefixes and score.reads & {Companion.AFTER_NON_MEMBERS, Companion.AFTER_MEMBERS}:
        return "Without a tokenizer nobody can tell where a prefix ends. Give the folder of the model's tokenizer."
    if not vocabulary_size and Companion.FREQUENCIES in score.reads:
        return "The server does not tell its vocabulary. Give the folder of the model's tokenizer."
    return None


def needed_besides(score: Score) -> str:
    """What has to be chosen besides, for people; empty where nothing has."""
    return ", ".join(BESIDES[one] for one in Companion if one in score.reads and one in BESIDES)
