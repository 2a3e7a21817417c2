"""What a book audit is asked for, and where its texts come from: a run names its books and does not copy them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from auditlib.audits.books import (
    BookSettings,
    Shelf,
    Shelves,
    arrange,
    checked_settings,
    refuse_unusable,
    without_prefix_works,
)
from auditlib.audits.books.known import refuse_other_settings
from auditlib.audits.companions import (
    CompanionSettings,
    Prefixes,
    checked_companions,
    refuse_score_without,
    refuse_with_calibration,
)
from auditlib.audits.demo import demo_books, demo_passages, planted_request
from auditlib.audits.saved_calibration import Calibration, from_json
from auditlib.core import AuditError, Document, Label
from auditlib.documents.cutting import Cutting
from auditlib.documents.snippets import excerpts
from auditlib.jobs.asked import checked_method, document_keys, parameters_of
from auditlib.jobs.brought import brought_documents
from auditlib.models.request import ModelRequest
from auditlib.store import Calibrations, Run, Store, Workspace

SHELF_OF = {Label.MEMBER: Shelf.MEMBERS, Label.NON_MEMBER: Shelf.NON_MEMBERS, Label.UNKNOWN: Shelf.AUDITED}
DEMO_WORDS = 96


@dataclass(frozen=True)
class ShelvedDocument:
    """A document of the workspace (`id` is its text's SHA-256), where it stands, and what is said of it.

    Empty strings and None leave what the document itself says. Documents of one group on one shelf are one work.
    """

    id: str
    shelf: Shelf
    group: str = ""
    title: str = ""
    author: str = ""
    year: int | None = None


@dataclass(frozen=True)
class BooksParameters:
    """All that decides a book audit, so that the same parameters give the same numbers.

    texts        "documents" of the workspace, those "brought" with the run (by label: those without one are audited),
                 or the "demo" that comes with the program
    calibration  name of a saved one that takes the place of the reference shelf; empty for none
    companions   what is read besides, for scores that need more; nothing where a saved calibration judges
    """

    model: ModelRequest
    texts: Literal["documents", "brought", "demo"] = "documents"
    documents: tuple[ShelvedDocument, ...] = ()
    calibration: str = ""
    cutting: Cutting = field(default_factory=lambda: Cutting("sample"))
    settings: BookSettings = field(default_factory=BookSettings)
    companions: CompanionSettings = field(default_factory=CompanionSettings)


def demo_books_request() -> BooksParameters:
    """The audit of the four demo books, with settings that can carry a verdict.

    The reference shelf is the 80 passages as works, of 99 to 127 words each: snippets of 96 words give every passage
    one, and every book eighteen. With 40 known non-members p can be 1/41 at the least, and Benjamini-Hochberg over
    four books asks 2 x 0.05/4 = 1/40 of two: the two planted books can just carry it together.
    """
    return BooksParameters(planted_request(), "demo", cutting=Cutting("sample", words=DEMO_WORDS))


def books_parameters(plain: Mapping[str, Any]) -> BooksParameters:
    """Parameters as a run keeps them, checked. Raises `AuditError` where they make no sense."""
    parameters = parameters_of(BooksParameters, plain)
    checked_settings(parameters.settings)
    checked_method(parameters.cutting)
    refuse_score_without(checked_companions(parameters.companions), parameters.settings.score)
    if parameters.calibration:
        refuse_with_calibration(parameters.companions)
    if parameters.cutting.words < 1 or parameters.cutting.count < 1:
        raise AuditError("A book gives at least one snippet of at least one word.", "The paper takes 100 of 512.")
    if parameters.texts == "documents":
        shelves = {one.shelf for one in parameters.documents}
        needed = {Shelf.AUDITED} if parameters.calibration else set(Shelf)
        for shelf in Shelf:
            if shelf in needed - shelves:
                raise AuditError(
                    f"No document stands on the shelf “{shelf.value}”.",
                    "Put books on it"
                    + ("." if shelf is Shelf.AUDITED else ", or judge by a saved calibration in place of a shelf."),
                )
    return parameters


def planned_shelves(parameters: BooksParameters, store: Store, workspace: str) -> Shelves:
    """The shelves as a run that is not there yet would have them, texts of the workspace or the demo's. As below."""
    documents = _demo() if parameters.texts == "demo" else _documents(parameters, Workspace(store, workspace))
    return _arranged(documents, parameters)


def shelves_of(parameters: BooksParameters, store: Store, run: Run) -> Shelves:
    """The shelves, cut. Raises `AuditError` where a document was deleted or changed since, or too little is there."""
    return _arranged(shelved_documents(parameters, store, run), parameters)


def _arranged(documents: Iterator[tuple[Shelf, Document]], parameters: BooksParameters) -> Shelves:
    return arranged_with_prefixes(documents, parameters)[0]


def arranged_with_prefixes(
    documents: Iterator[tuple[Shelf, Document]], parameters: BooksParameters
) -> tuple[Shelves, Prefixes | None]:
    """The shelves without what stands before texts in a prefix, and the prefixes. Raises `AuditError` likewise."""
    if parameters.calibration:
        documents = (pair for pair in documents if pair[0] is Shelf.AUDITED)
    shelves = arrange(documents, parameters.cutting)
    refuse_unusable(shelves, with_reference=not parameters.calibration)
    return without_prefix_works(shelves, parameters.companions.shots, parameters.settings.seed)


def snippet_text(
    parameters: BooksParameters, store: Store, run: Run, document_id: str, first_word: int, words: int
) -> str | None:
    """One snippet of one document, without the others; None where the document has no such words."""
    for _, document in shelved_documents(parameters, store, run):
        if document.id == document_id:
            (piece,) = excerpts(document, [(first_word, words)])
            return None if piece is None else piece.text
    return None


def shelved_documents(parameters: BooksParameters, store: Store, run: Run) -> Iterator[tuple[Shelf, Document]]:
    """Every document and where it stands, one at a time. Raises `AuditError` likewise."""
    if parameters.texts == "demo":
        yield from _demo()
    elif parameters.texts == "brought":
        for document in brought_documents(store, run):
            yield SHELF_OF[document.label], document
    else:
        yield from _documents(parameters, Workspace(store, run.workspace))


def chosen_calibration(parameters: BooksParameters, store: Store, workspace: str) -> Calibration | None:
    """The saved calibration that was asked for. Raises `AuditError` where it is gone, or does not fit the settings."""
    if not parameters.calibration:
        return None
    stored = Calibrations(store, workspace).open(parameters.calibration)
    calibration = from_json(json.dumps(stored.value), f"The calibration “{stored.name}”")
    refuse_other_settings(calibration, parameters.cutting, parameters.settings.score, parameters.settings.k)
    return calibration


def _demo() -> Iterator[tuple[Shelf, Document]]:
    for passage in demo_passages():
        yield SHELF_OF[passage.label], passage
    for book in demo_books():
        yield Shelf.AUDITED, book


def _documents(parameters: BooksParameters, workspace: Workspace) -> Iterator[tuple[Shelf, Document]]:
    keys = document_keys((one.id for one in parameters.documents), workspace)
    for one in parameters.documents:
        document = workspace.open(keys[one.id])
        yield (
            one.shelf,
            replace(
                document,
                title=one.title or document.title,
                group=one.group or one.title or document.group,
                author=one.author or document.author,
                year=document.year if one.year is None else one.year,
            ),
        )
