"""A table beside the files that says what each is: file, title, author, year, label. Any column but `file` may lack."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from auditlib.core import AuditError, Document, Label
from auditlib.documents.names import display_name, year_of

COLUMNS = ("file", "title", "author", "year", "label")
LARGEST_BYTES = 16 * 2**20
_LABELS = {
    "": Label.UNKNOWN,
    "unknown": Label.UNKNOWN,
    "audited": Label.UNKNOWN,
    "member": Label.MEMBER,
    "members": Label.MEMBER,
    "seen": Label.MEMBER,
    "1": Label.MEMBER,
    "non-member": Label.NON_MEMBER,
    "non-members": Label.NON_MEMBER,
    "nonmember": Label.NON_MEMBER,
    "non_member": Label.NON_MEMBER,
    "unseen": Label.NON_MEMBER,
    "0": Label.NON_MEMBER,
}


@dataclass(frozen=True)
class Entry:
    """What the table says of one file; None where it says nothing."""

    title: str | None
    author: str | None
    year: int | None
    label: Label | None


def read_catalogue(data: bytes, name: str) -> dict[str, Entry]:
    """Entries by file name, without folders. Raises `AuditError`, naming the row, for what cannot be meant."""
    if len(data) > LARGEST_BYTES:
        raise AuditError(f"“{name}” is too large for a table of books.", "Bring one row for each file.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise AuditError(f"“{name}” is not in UTF-8.", "Save it as CSV in UTF-8.") from error
    rows = csv.DictReader(io.StringIO(text), delimiter=_delimiter(text))
    try:
        names = {(column or "").strip().lower(): column for column in rows.fieldnames or ()}
        if "file" not in names:
            raise AuditError(
                f"“{name}” has no column “file”.", f"Give it a first row with the columns {', '.join(COLUMNS)}."
            )
        known = {column: names[column] for column in COLUMNS if column in names}
        entries: dict[str, Entry] = {}
        for number, row in enumerate(rows, start=2):
            said = {column: " ".join((row[original] or "").split()) for column, original in known.items()}
            if not any(said.values()):
                continue
            file = _plain_name(said["file"])
            where = f"Row {number} of “{name}”"
            if not file:
                raise AuditError(f"{where} names no file.", "Fill its column “file”, or take the row out.")
            if file in entries:
                raise AuditError(f"{where} names “{display_name(file)}” again.", "Leave one row for each file.")
            entries[file] = _entry(said, where)
    except csv.Error as error:
        raise AuditError(f"“{name}” is not a table ({str(error)[:80]}).", "Save it as CSV in UTF-8.") from error
    return entries


def with_catalogue(document: Document, entries: Mapping[str, Entry]) -> Document:
    """The document with what the table says of its file in the place of what the file says."""
    entry = entries.get(_plain_name(document.source_name))
    if entry is None:
        return document
    title = entry.title or document.title
    return replace(
        document,
        title=title,
        group=title if document.group in ("", document.title) else document.group,
        author=entry.author if entry.author is not None else document.author,
        year=entry.year if entry.year is not None else document.year,
        label=entry.label if entry.label is not None else document.label,
    )


def _entry(said: Mapping[str, str], where: str) -> Entry:
    year = said.get("year") or None
    if year is not None and year_of(year) is None:
        raise AuditError(
            f"{where} has the year “{display_name(year)}”.", "Write a year from 1000 to 2099, or leave it empty."
        )
    label = said.get("label") or None
    if label is not None and label.lower() not in _LABELS:
        raise AuditError(
            f"{where} has the label “{display_name(label)}”.",
            "Write member, non-member, or nothing for an audited one.",
        )
    return Entry(
        display_name(said["title"]) if said.get("title") else None,
        display_name(said["author"]) if said.get("author") else None,
        None if year is None else year_of(year),
        None if label is None else _LABELS[label.lower()],
    )


def _delimiter(text: str) -> str:
    """Spreadsheet programs write semicolons where the comma divides decimals."""
    first = text.partition("\n")[0]
    return max(",;\t", key=first.count)


def _plain_name(file: str) -> str:
    return PurePosixPath(file.replace("\\", "/")).name
