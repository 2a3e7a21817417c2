"""A run kind: the book audit, from its books' names to its numbers and files."""

from __future__ import annotations

import json
from collections.abc import Iterator

from auditlib.audits.books import (
    Shelf,
    audit_books,
    examine_words,
    numbers_to_parquet,
    read_books,
)
from auditlib.audits.saved_calibration import refuse_other_model, to_json
from auditlib.core import Document, library_versions
from auditlib.jobs.books_files import NUMBERS, PLACEBO, SUMMARY, USED_CALIBRATION, BooksSummary
from auditlib.jobs.books_report import run_evidence
from auditlib.jobs.books_texts import (
    BooksParameters,
    arranged_with_prefixes,
    books_parameters,
    chosen_calibration,
    shelved_documents,
)
from auditlib.jobs.cached_reading import text_key
from auditlib.jobs.companions import identities_of, opened_companions
from auditlib.jobs.kinds import RunContext, run_kind
from auditlib.jobs.plain import to_plain

KIND = "books"


@run_kind(name=KIND, label="Books", check=books_parameters, evidence=run_evidence)
def execute_books(context: RunContext) -> str:
    """Shelves, model, readings, numbers, files."""
    parameters = books_parameters(context.run.parameters)
    calibration = chosen_calibration(parameters, context.store, context.run.workspace)
    # Before the model: what is wrong with the shelves should not wait for gigabytes to be loaded.
    context.stage("looking through the books")
    steps: set[tuple[str, ...]] = set()
    shelves, prefixes = arranged_with_prefixes(_noting_steps(context, parameters, steps), parameters)
    model = context.open_model(parameters.model)
    if calibration is not None:
        refuse_other_model(calibration, model.identity)
    asked = parameters.companions
    companions = opened_companions(context, asked, model, prefixes, parameters.settings.seed)
    placebo = context.open_model(asked.placebo, "placebo") if asked.placebo is not None else None
    keys = tuple(text_key(snippet.text) for snippet in shelves.snippets)
    context.record(
        identities_of(model, companions, placebo),
        {snippet.id: key for snippet, key in zip(shelves.snippets, keys, strict=True)},
    )
    context.stage("reading")
    settings = parameters.settings
    read = read_books(model, shelves, None, settings.score, settings.k, context.progress, companions, placebo)
    if calibration is None:
        context.stage("trying the words alone")
        read = read.judged_beside(examine_words(shelves, settings.seed))
    context.stage("computing")
    found = audit_books(read, settings, calibration)
    context.stage("writing")
    if calibration is not None:
        context.put(USED_CALIBRATION, "application/json", to_json(calibration).encode())
    context.put(NUMBERS, "application/vnd.apache.parquet", numbers_to_parquet(read.numbers))
    if read.placebo is not None:
        context.put(PLACEBO, "application/vnd.apache.parquet", numbers_to_parquet(read.placebo))
    texts = "files" if parameters.texts == "brought" else parameters.texts
    summary = BooksSummary(read.placed, found, keys, tuple(sorted(steps)), texts, dict(library_versions()))
    context.put(SUMMARY, "application/json", json.dumps(to_plain(summary), allow_nan=False).encode())
    return SUMMARY


def _noting_steps(
    context: RunContext, parameters: BooksParameters, steps: set[tuple[str, ...]]
) -> Iterator[tuple[Shelf, Document]]:
    """The run's documents, one at a time: their steps are kept, they are not."""
    for shelf, document in shelved_documents(parameters, context.store, context.run):
        if not parameters.calibration or shelf is Shelf.AUDITED:
            steps.add(document.steps)
            yield shelf, document
