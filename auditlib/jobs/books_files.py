"""What a finished book audit keeps and how it is read again: numbers, places, fingerprints, and none of the texts."""

from __future__ import annotations

import json
from dataclasses import dataclass

from auditlib.audits.books import BookAudit, PlacedWorks, ReadBooks, numbers_from_parquet
from auditlib.audits.saved_calibration import Calibration, from_json
from auditlib.core import AuditError
from auditlib.jobs.plain import from_plain
from auditlib.store import Artifacts, Run, Store

SUMMARY = "summary.json"
NUMBERS = "numbers.parquet"
PLACEBO = "placebo-numbers.parquet"
USED_CALIBRATION = "calibration.json"
FORMAT = 1


@dataclass(frozen=True)
class BooksSummary:
    """Everything a finished book audit shows, without its texts and without the model.

    snippets_sha256  of the text of each snippet, in the order of `placed`
    steps            sets of cleaning steps that the documents went through
    texts            where these came from: "documents", "files" or "demo"
    """

    placed: PlacedWorks
    found: BookAudit
    snippets_sha256: tuple[str, ...]
    steps: tuple[tuple[str, ...], ...]
    texts: str
    versions: dict[str, str]
    format: int = FORMAT


def load_books(store: Store, run: Run) -> BooksSummary:
    """What a finished run found. Raises `AuditError` where its file is gone, altered, or of another version."""
    data = Artifacts(store).read(run.id, SUMMARY)
    try:
        return from_plain(BooksSummary, json.loads(data))
    except ValueError as error:
        raise AuditError(
            f"The result of this run was written by another version of the program ({str(error)[:100]}).",
            "Duplicate the run: its texts are not read again as long as the cache holds them.",
        ) from error


def load_read_books(store: Store, run: Run, summary: BooksSummary) -> ReadBooks:
    """All that another k, rule or score is computed from. Raises `AuditError` likewise."""
    artifacts = Artifacts(store)
    placebo = PLACEBO if any(artifact.name == PLACEBO for artifact in artifacts.of(run.id)) else None
    return ReadBooks(
        summary.placed,
        numbers_from_parquet(artifacts.read(run.id, NUMBERS)),
        numbers_from_parquet(artifacts.read(run.id, placebo)) if placebo is not None else None,
    )


def load_used_calibration(store: Store, run: Run) -> Calibration | None:
    """The calibration that took the place of a reference shelf, if one did. Raises `AuditError` likewise."""
    if not any(artifact.name == USED_CALIBRATION for artifact in Artifacts(store).of(run.id)):
        return None
    return from_json(Artifacts(store).read(run.id, USED_CALIBRATION), USED_CALIBRATION)
