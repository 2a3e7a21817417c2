"""One file as brought, to the texts in it: unpacks archives entry by entry and picks each file's reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from zipfile import ZipFile, ZipInfo

from auditlib.core import AuditError
from auditlib.documents.archives import is_clutter, open_archive, read_entry, refuse_unsafe_name
from auditlib.documents.formats import KIND_NAMES, kind_of
from auditlib.documents.limits import TEXT_CHARACTERS
from auditlib.documents.names import display_name, suffix_of
from auditlib.documents.readers import READERS, SUFFIXES, TABLES
from auditlib.documents.readers.table import TableColumns, guess_from
from auditlib.documents.reading import Reading, Source
from auditlib.documents.refusals import no_text, too_much_text


@dataclass(frozen=True)
class Part:
    """One file to be read: a file as brought, or an entry of an archive. `load` raises `AuditError`."""

    name: str
    n_bytes: int
    load: Callable[[], Source]


def parts_of(source: Source) -> Iterator[Part]:
    """The file itself, or the files in it if it is an archive. Raises `AuditError` for an archive refused."""
    if kind_of(source)[0] != "zip":
        yield Part(source.name, len(source.data), lambda: source)
        return
    with open_archive(source.data, source.name, KIND_NAMES["zip"]) as archive:
        entries = [entry for entry in archive.infolist() if not is_clutter(entry)]
        if not entries:
            raise AuditError(f"“{source.name}” is an archive with no files in it.", "Check that it is the right file.")
        for entry in entries:
            name = display_name(f"{source.name}/{entry.filename}")
            yield Part(name, entry.file_size, partial(_unpacked, archive, entry, source, name))


def readings_of(source: Source) -> Iterator[Reading]:
    """The texts of one file that is no archive. Raises `AuditError`."""
    kind, warnings = kind_of(source)
    if kind == "zip":
        raise AuditError(
            f"“{source.name}” is an archive inside an archive, which is not opened.",
            "Unpack it and bring the files in it.",
        )
    for reading in READERS[kind](source):
        if not reading.text.strip():
            raise no_text(source.name)
        if len(reading.text) > TEXT_CHARACTERS:
            raise too_much_text(source.name, TEXT_CHARACTERS)
        yield replace(reading, warnings=(*warnings, *reading.warnings))


def columns_of(source: Source) -> TableColumns | None:
    """A table's columns with a guess, or None for a file that is no table. Raises `AuditError`."""
    kind, _ = kind_of(source)
    if kind not in TABLES:
        return None
    table = TABLES[kind](source)
    return TableColumns(table.names, guess_from(table, source.name))


def _unpacked(archive: ZipFile, entry: ZipInfo, source: Source, name: str) -> Source:
    refuse_unsafe_name(entry, source.name)
    kind = KIND_NAMES.get(SUFFIXES.get(suffix_of(name), ""), "a file")
    return Source(read_entry(archive, entry, name, kind), name, source.columns)
