"""A way to cut documents into snippets, as a person chooses it and a run keeps it."""

from __future__ import annotations

from dataclasses import dataclass

from auditlib.core import AuditError, Document
from auditlib.documents.snippets import SNIPPETS, WORDS, Cut, sample, tile, truncate, whole

METHODS = {
    "whole": "whole texts",
    "sample": "a random sample of each",
    "tile": "all of each, piece by piece",
    "truncate": "the first words of each",
}


@dataclass(frozen=True)
class Cutting:
    """One way to cut: `method` is a key of METHODS; `count` and `seed` are of the random sample only."""

    method: str = "whole"
    count: int = SNIPPETS
    words: int = WORDS
    seed: int = 0

    def cut(self, document: Document) -> Cut:
        """The document's snippets. Raises `AuditError` for a method that there is not."""
        if self.method not in METHODS:
            raise AuditError(f"There is no way to cut called {self.method[:40]!r}.", f"Choose of {', '.join(METHODS)}.")
        if self.method == "sample":
            return sample(document, self.count, self.words, self.seed)
        if self.method == "tile":
            return tile(document, self.words)
        return truncate(document, self.words) if self.method == "truncate" else whole(document)
