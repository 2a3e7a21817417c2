"""All that a report on an unlearning audit says, in one value: the report is a pure function of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from auditlib.audits.unlearning import ForgottenWord, Role, UnlearningResult
from auditlib.audits.unlearning.gallery import Gallery

ROLE_WORDS = {
    Role.FORGET: "Works to be forgotten",
    Role.KEEP: "Works to be kept",
    Role.HELD_OUT: "Works never seen",
}


@dataclass(frozen=True)
class UnlearningFacts:
    """A finished audit and what it was made of.

    speed    tokens drawn, and the seconds that took
    by       who ran it; empty where nobody said
    command  what reruns it from a shell
    """

    name: str
    result: UnlearningResult
    gallery: Gallery
    speed: tuple[int, float]
    made: datetime
    by: str
    command: str
    run: str
    version: str
    versions: Mapping[str, str]

    @property
    def works(self) -> list[tuple[str, Role, int, str]]:
        """Title, role, chunks and SHA-256 of each work."""
        found: dict[tuple[str, Role, str], int] = {}
        for line in self.result.screening.lines:
            key = (line.work, line.role, line.document_id)
            found[key] = found.get(key, 0) + 1
        return [(work, role, n, sha) for (work, role, sha), n in found.items()]


def forgotten_sentence(word: ForgottenWord) -> str:
    """What the word means here, in plain words."""
    match word:
        case ForgottenWord.FORGOTTEN:
            return (
                "These tests find no trace of the works to be forgotten in the unlearned model, and would have found "
                "those that the original has."
            )
        case ForgottenWord.NOT_FORGOTTEN:
            return "These tests find the works to be forgotten still in the unlearned model, in whole or in part."
        case ForgottenWord.INCONCLUSIVE:
            return "The tests could not tell whether the works were forgotten: at least one condition does not hold."
