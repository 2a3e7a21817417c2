"""The evidence package of a run: the report, and all that somebody else needs to check or repeat it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from auditlib.core import AuditError
from auditlib.reports.archive import pack
from auditlib.reports.blocks import Report
from auditlib.reports.html import Paper, to_html
from auditlib.reports.pdf import to_pdf

FORMAT = 1  # of what run.json, parameters.json and inputs.json say
# A text column is written as it is where no value of it could be taken for a formula or hide anything.
_HARMLESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]*|")


@dataclass(frozen=True)
class InputText:
    """One text that was examined, and where in which document it stands.

    `sha256` is of this text, `document` that of the whole document. `text` is given only where the person ticked it.
    """

    sha256: str
    title: str
    label: str
    n_words: int
    document: str
    first_word: int
    text: str | None = None


@dataclass(frozen=True)
class Evidence:
    """All that a package is made of.

    tables       by name; each becomes NAME.csv and NAME.parquet
    parameters   what was asked for
    numbers      by name, those that a rerun compares; None where there is none
    identities   the models, by what they were used as
    calibration  the text of its own file, where the run made or used one
    command      what reruns it from a shell
    """

    kind: str
    report: Report
    tables: Mapping[str, pd.DataFrame]
    parameters: Mapping[str, Any]
    numbers: Mapping[str, float | None]
    identities: Mapping[str, Mapping[str, str | None]]
    inputs: Sequence[InputText]
    seed: int
    versions: Mapping[str, str]
    command: str
    calibration: str | None = None
    notes: Sequence[str] = field(default_factory=tuple)


@dataclass(frozen=True)
class Package:
    """A finished package: the bytes of the zip, of the reports in it, and why there is no PDF where there is none."""

    data: bytes
    html: bytes
    pdf: bytes | None = None
    without_pdf: str = ""


def make_package(
    evidence: Evidence, with_pdf: bool = True, paper: Paper = "A4", browser: Path | None = None
) -> Package:
    """The package. Where no browser can print the PDF it has none and says why."""
    files, why = package_files(evidence), ""
    if with_pdf:
        try:
            files["report.pdf"] = to_pdf(evidence.report, paper, browser)
        except AuditError as error:
            why = f"{error.wrong} {error.remedy}"
    files["README.txt"] = _readme(evidence, files, why).encode()
    return Package(pack(files), files["report.html"], files.get("report.pdf"), why)


def package_files(evidence: Evidence) -> dict[str, bytes]:
    """Every file of the package but its PDF, README and manifest, by name."""
    run = {
        "format": FORMAT,
        "kind": evidence.kind,
        "made": evidence.report.made.isoformat(),
        "parameters": dict(evidence.parameters),
        "identities": {role: dict(identity) for role, identity in evidence.identities.items()},
        "seed": evidence.seed,
        "numbers": {name: finite(value) for name, value in evidence.numbers.items()},
        "command": evidence.command,
    }
    inputs = [{name: value for name, value in asdict(one).items() if name != "text"} for one in evidence.inputs]
    files = {
        "report.html": to_html(evidence.report).encode(),
        "parameters.json": _json(dict(evidence.parameters)),
        "inputs.json": _json(inputs),
        "versions.json": _json(dict(evidence.versions)),
        "run.json": _json(run),
    }
    for name, table in evidence.tables.items():
        files[f"{name}.csv"] = spreadsheet_csv(table)
        files[f"{name}.parquet"] = _parquet(table)
    if evidence.calibration is not None:
        files["calibration.json"] = evidence.calibration.encode()
    ticked = [{"sha256": one.sha256, "text": one.text} for one in evidence.inputs if one.text is not None]
    if ticked:
        files["texts.jsonl"] = "".join(json.dumps(one) + "\n" for one in ticked).encode()
    return files


def spreadsheet_csv(table: pd.DataFrame) -> bytes:
    """CSV that spreadsheet programs open as UTF-8 and take no cell of for a formula.

    A text column in which some value has more than letters, figures, spaces, dots and dashes, or starts with
    anything but a letter or figure, is written as JSON strings: `"=1+1"` with its quotation marks.
    """
    quoted = {}
    for name in table.columns:
        values = table[name]
        if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
            continue
        texts = [None if pd.isna(value) else str(value) for value in values]
        if not all(text is None or _HARMLESS.fullmatch(text) for text in texts):
            quoted[name] = [None if text is None else json.dumps(text, ensure_ascii=False) for text in texts]
    csv: str = table.assign(**quoted).to_csv(index=False, lineterminator="\n")
    return csv.encode("utf-8-sig", "replace")


def _parquet(table: pd.DataFrame) -> bytes:
    target = BytesIO()
    table.to_parquet(target, index=False)
    return target.getvalue()


def _json(value: Any) -> bytes:
    """Readable and in a fixed order; ASCII, so that no program misreads it."""
    return (json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()


def finite(value: float | None) -> float | None:
    """`value`, or None where it is not finite: JSON has no word for that."""
    return value if value is not None and math.isfinite(value) else None


def _readme(evidence: Evidence, files: Mapping[str, bytes], without_pdf: str) -> str:
    about = {
        "report.html": "the report; opens in any browser, without a network",
        "report.pdf": "the same report, for printing and filing",
        "parameters.json": "the settings of the run",
        "calibration.json": "the calibration, as this program imports it",
        "inputs.json": "the texts that were examined: fingerprint (SHA-256), title, label, length",
        "texts.jsonl": "the texts themselves, as the person who made this package chose",
        "versions.json": "versions of the programs that made the numbers",
        "run.json": "what was run: kind, settings, models, seed, and the numbers that a rerun compares",
    }
    for name in evidence.tables:
        about[f"{name}.csv"] = (
            "every score, for spreadsheet programs; text that they could misread is in quotation marks"
        )
        about[f"{name}.parquet"] = "the same table, exactly, for programs"
    here = [(name, about[name]) for name in about if name in files]
    width = max(len(name) for name, _ in here)
    lines = [
        "EVIDENCE PACKAGE",
        "",
        f"{_one_line(evidence.report.title)}",
        f"{_one_line(evidence.report.subtitle)}",
        f"Made {evidence.report.made.isoformat(timespec='minutes')} with Pretraining Audit {evidence.report.version}.",
        "",
        "WHAT IS IN IT",
        "",
        *(f"  {name:<{width}}  {what}" for name, what in here),
        f"  {'MANIFEST.sha256':<{width}}  the SHA-256 of each file",
        "",
        *([f"There is no report.pdf: {_one_line(without_pdf)}", ""] if without_pdf else []),
        *([] if "texts.jsonl" in files else ["The examined texts themselves are not in this package.", ""]),
        "HOW TO CHECK THAT NOTHING WAS CHANGED",
        "",
        "  python -m auditlib verify PACKAGE.zip",
        "",
        "or, with the files unpacked, and no program of ours:",
        "",
        "  sha256sum --check MANIFEST.sha256",
        "",
        "This shows whether a file was changed after the package was made. It does not show who made it: for that,",
        "note the fingerprint that the first command prints, in a place where others cannot change it.",
        "",
        "HOW TO REPEAT IT",
        "",
        f"  {_one_line(evidence.command) or 'No command was recorded for this run.'}",
        "",
        "With the same texts, model, settings and seed the numbers in run.json come out the same.",
        "",
        *(["NOTES", "", *(f"  {_one_line(note)}" for note in evidence.notes), ""] if evidence.notes else []),
    ]
    return "\n".join(lines)


def _one_line(text: str) -> str:
    """`text` without line breaks, so that no title can add a paragraph of its own."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
