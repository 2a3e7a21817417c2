"""CSV and TSV files, row by row."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from io import StringIO

from auditlib.core import AuditError
from auditlib.documents.decoding import decode
from auditlib.documents.limits import FILE_BYTES
from auditlib.documents.readers.table import Table, check_columns
from auditlib.documents.reading import Source


def open_csv(source: Source) -> Table:
    """A table whose delimiter is the commonest candidate in its first line."""
    return _open(source, None)


def open_tsv(source: Source) -> Table:
    """A table whose cells are apart by tabs."""
    return _open(source, "\t")


def _open(source: Source, delimiter: str | None) -> Table:
    decoded = decode(source.data, source.name)
    text = decoded.text
    csv.field_size_limit(FILE_BYTES)  # the library's own limit of 131,072 is shorter than a book
    first_line = text.partition("\n")[0]
    by_count = delimiter or max(",;\t|", key=first_line.count)
    try:
        names = [name.strip() for name in next(csv.reader(StringIO(text, newline=""), delimiter=by_count), [])]
    except csv.Error as error:
        raise _broken(source.name, 1) from error
    if any(names):  # columns without a name (spreadsheets leave them) get one, so that they can be picked
        names = [name or f"column {place}" for place, name in enumerate(names, start=1)]
    check_columns(names, source.name)

    def rows(wanted: Sequence[str]) -> Iterator[tuple[int, list[object]]]:
        places = [names.index(name) for name in wanted]
        reader = csv.reader(StringIO(text, newline=""), delimiter=by_count)
        number = 1
        try:
            for number, row in enumerate(reader, start=1):
                if number > 1 and row:
                    yield number, [row[place] if place < len(row) else None for place in places]
        except csv.Error as error:
            raise _broken(source.name, number + 1) from error

    media_type = "text/tab-separated-values" if by_count == "\t" else "text/csv"
    return Table(tuple(names), rows, media_type, decoded.warnings)


def _broken(name: str, row: int) -> AuditError:
    return AuditError(
        f"Row {row:,} of “{name}” cannot be read as a table row.", "Save the table again as CSV with UTF-8."
    )
