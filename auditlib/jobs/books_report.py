"""Report and evidence package of a finished book audit, out of the files that the run kept."""

from __future__ import annotations

from auditlib.audits.books import BookAudit, ReadBooks
from auditlib.audits.saved_calibration import to_json
from auditlib.core import AuditError
from auditlib.jobs.books_files import BooksSummary, load_books, load_read_books, load_used_calibration
from auditlib.jobs.books_texts import books_parameters, shelves_of
from auditlib.jobs.cached_reading import text_key
from auditlib.reports.books_facts import BooksFacts
from auditlib.reports.books_package import books_command, books_evidence
from auditlib.reports.package import Evidence
from auditlib.store import Run, Store


def run_evidence(store: Store, run: Run, with_texts: bool = False) -> Evidence:
    """All that goes into report and package; the same for the same run, whenever it is asked for.

    Raises `AuditError` where a file of the run is gone or altered, and `with_texts` where a document is.
    """
    summary = load_books(store, run)
    return evidence_as_shown(
        store, run, summary, load_read_books(store, run, summary), summary.found, run.who, with_texts
    )


def evidence_as_shown(
    store: Store, run: Run, summary: BooksSummary, read: ReadBooks, found: BookAudit, by: str, with_texts: bool = False
) -> Evidence:
    """The same at other settings, as a page shows them. `by` stands on the report. Raises `AuditError` likewise."""
    parameters = books_parameters(run.parameters)
    texts = {}
    if with_texts:
        shelves = shelves_of(parameters, store, run)
        if shelves.digest != summary.placed.shelves_sha256:
            raise AuditError(
                "The texts are no longer those that the run examined.", "Make the package without the texts."
            )
        texts = {text_key(snippet.text): snippet.text for snippet in shelves.snippets}
    calibration = load_used_calibration(store, run)
    facts = BooksFacts(
        name=run.name,
        read=read,
        found=found,
        steps=summary.steps,
        texts=summary.texts,
        made=run.created,
        by=by,
        command=books_command(read.placed, found, parameters.model.adapter, summary.texts),
        run=run.id,
        version=summary.versions["pretraining-audit"],
        versions=summary.versions,
    )
    return books_evidence(facts, summary.snippets_sha256, None if calibration is None else to_json(calibration), texts)
