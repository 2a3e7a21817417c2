"""JSON Lines: one object a line, its keys the columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from io import StringIO

from auditlib.core import AuditError
from auditlib.documents.decoding import decode
from auditlib.documents.readers.table import Table, check_columns
from auditlib.documents.reading import Source

_ROWS_FOR_NAMES = 100  # objects may differ in their keys; the first so many name the columns


def open_jsonl(source: Source) -> Table:
    """A table whose columns are the keys of the first hundred objects."""
    decoded = decode(source.data, source.name)
    names: dict[str, None] = {}
    for row, (_, record) in enumerate(_records(decoded.text, source.name)):
        if row >= _ROWS_FOR_NAMES:
            break
        names.update(dict.fromkeys(record))
    check_columns(list(names), source.name)

    def rows(wanted: Sequence[str]) -> Iterator[tuple[int, list[object]]]:
        for number, record in _records(decoded.text, source.name):
            yield number, [record.get(name) for name in wanted]

    return Table(tuple(names), rows, "application/jsonl", decoded.warnings)


def _records(text: str, name: str) -> Iterator[tuple[int, dict[str, object]]]:
    for number, line in enumerate(StringIO(text), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise AuditError(
                f"Line {number:,} of “{name}” is not valid JSON.", "Each line must be one JSON object."
            ) from error
        if not isinstance(record, dict):
            raise AuditError(
                f"Line {number:,} of “{name}” is JSON but not an object.",
                'Each line must be an object such as {"text": "..."}.',
            )
        yield number, record
