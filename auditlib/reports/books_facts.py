"""All that a report on a book audit says, in one value: the report and its package are pure functions of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from auditlib import __version__
from auditlib.audits.books import BookAudit, BookResult, ReadBooks, Shelf, Work
from auditlib.core import ModelIdentity, library_versions
from auditlib.evidence import Word
from auditlib.reports.blocks import Quotation
from auditlib.scoring import SCORES


@dataclass(frozen=True)
class BooksFacts:
    """A finished book audit and what it was made of.

    read        works, places and numbers; no texts
    steps       sets of cleaning steps that the documents went through
    texts       where they came from: "documents", "files" or "demo"
    by          who ran it; empty where nobody said
    command     what reruns it from a shell
    run         id of the run that it was; empty where it was none
    quotations  what the person ticked to be quoted
    """

    name: str
    read: ReadBooks
    found: BookAudit
    steps: tuple[tuple[str, ...], ...]
    texts: str
    made: datetime
    by: str
    command: str
    run: str = ""
    quotations: tuple[Quotation, ...] = ()
    version: str = __version__
    versions: Mapping[str, str] = field(default_factory=library_versions)

    @property
    def model(self) -> ModelIdentity:
        """The audited model."""
        return self.read.placed.identity

    @property
    def score_label(self) -> str:
        """The chosen score as people call it."""
        return SCORES[self.found.settings.score].label

    def work_of(self, book: BookResult) -> Work:
        """The work that a result is about."""
        return self.read.placed.works[book.work]

    @property
    def ordered(self) -> list[BookResult]:
        """Books from the smallest p to the largest; those without one last."""
        return sorted(
            self.found.judged.books,
            key=lambda book: (
                2.0 if book.p is None else book.p,
                -(-1e9 if book.mean is None else book.mean),
                book.work,
            ),
        )

    def with_word(self, word: Word) -> list[BookResult]:
        """Books with this verdict, likewise."""
        return [book for book in self.ordered if book.verdict.word is word]

    def works_on(self, shelf: Shelf) -> list[Work]:
        """The works of one shelf."""
        return [self.read.placed.works[place] for place in self.read.placed.on(shelf)]
