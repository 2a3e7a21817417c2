"""What `calibrate` writes to disk: the table of scores, the calibration, and the evidence package."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from rich.markup import escape

from auditlib.audits.calibration import length_classes, null_runs
from auditlib.audits.sets import ReadSets, score_table
from auditlib.cli.calibration_result import Shown
from auditlib.cli.common import said
from auditlib.core import AuditError
from auditlib.reports.calibration_facts import Preparation, facts_of
from auditlib.reports.calibration_package import calibration_evidence, rerun_command
from auditlib.reports.package import make_package

TABLES = {".csv": "to_csv", ".parquet": "to_parquet"}


def write_package(
    file: Path, shown: Shown, prepared: Preparation, adapter: str | None, name: str, with_texts: bool
) -> None:
    """The report, and all that is needed to check and to repeat it. Raises `AuditError`."""
    read, found, method = shown.read, shown.found, shown.method
    with said.status("Writing the report, and printing it …"):
        facts = facts_of(
            read,
            found,
            shown.score,
            name=name,
            made=datetime.now(UTC),
            command=rerun_command(read.identity, adapter, prepared.texts),
            sweep=shown.sweep if shown.swept == shown.score and not isinstance(shown.sweep, AuditError) else None,
            nulls=null_runs(read, found.words, method, found.alpha, found.seed),
            length_classes=tuple(length_classes(read, method.scores, found.seed)),
            preparation=prepared,
        )
        made = make_package(calibration_evidence(facts, read, with_texts))
    _write(file, made.data)
    said.print(f"Wrote the evidence package to {escape(str(file))}.", soft_wrap=True)
    if made.without_pdf:
        said.print(f"There is no PDF in it: {escape(made.without_pdf)}", soft_wrap=True)


def write_table(file: Path, read: ReadSets, k: float) -> None:
    """Every text with its scores. Raises `AuditError`."""
    rows = score_table(read, k)
    try:
        getattr(rows, TABLES[file.suffix.lower()])(file, index=False)
    except OSError as error:
        raise AuditError(f"{file} cannot be written ({error.strerror or error}).", "Choose another place.") from error
    said.print(f"Wrote the scores of {len(rows):,} texts to {escape(str(file))}.", soft_wrap=True)


def write_text(file: Path, text: str) -> None:
    """Raises `AuditError`."""
    _write(file, text.encode())


def _write(file: Path, data: bytes) -> None:
    try:
        file.write_bytes(data)
    except OSError as error:
        raise AuditError(f"{file} cannot be written ({error.strerror or error}).", "Choose another place.") from error
