"""What every table has in common: named columns, a guess which is which, and a text from each row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from auditlib.core import AuditError, Label
from auditlib.documents.limits import FILE_CHARACTERS, FILE_ROWS, TABLE_COLUMNS
from auditlib.documents.names import display_name
from auditlib.documents.reading import Columns, Reader, Reading, Source
from auditlib.documents.refusals import no_text, too_much_text

Rows = Callable[[Sequence[str]], Iterator[tuple[int, list[object]]]]
"""Asked for columns by name, gives each row's number (as a person counts them) and its cells."""


@dataclass(frozen=True)
class Table:
    """An opened table: nothing but its column names has been read yet."""

    names: tuple[str, ...]
    rows: Rows
    media_type: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableColumns:
    """The columns a table has, and which of them look like the text, the label and the group."""

    names: tuple[str, ...]
    guess: Columns


OpenTable = Callable[[Source], Table]

_TEXT_NAMES = ("text", "input", "snippet", "passage", "content", "sentence", "document", "body")
_LABEL_NAMES = ("label", "member", "is_member", "membership", "seen")
_GROUP_NAMES = ("group", "book_id", "book", "work", "title", "source", "author")
_ROWS_FOR_GUESS = 50

_LABELS = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "member", "members", "seen"), Label.MEMBER),
    **dict.fromkeys(
        ("0", "0.0", "false", "no", "non-member", "non_member", "nonmember", "non-members", "unseen"),
        Label.NON_MEMBER,
    ),
    **dict.fromkeys(("", "none", "nan", "unknown", "-1"), Label.UNKNOWN),
}


def table_reader(open_table: OpenTable) -> Reader:
    """A reader that gives one text a row and leaves out rows that have none."""

    def read(source: Source) -> Iterator[Reading]:
        table = open_table(source)
        columns = source.columns or guess_from(table, source.name)
        yield from _texts(table, columns, source.name)

    return read


def guess_from(table: Table, name: str) -> Columns:
    """The likely columns: by name first; else the text is the column with the longest cells."""
    text = _named(table.names, _TEXT_NAMES)
    if text is None:
        lengths = dict.fromkeys(table.names, 0)
        for _, cells in islice(table.rows(table.names), _ROWS_FOR_GUESS):
            for column, cell in zip(table.names, cells, strict=True):
                lengths[column] += len(cell) if isinstance(cell, str) else 0
        text = max(table.names, key=lambda column: lengths[column])
        if lengths[text] == 0:
            raise no_text(name)
    others = [column for column in table.names if column != text]
    label = _named(others, _LABEL_NAMES)
    return Columns(text, label, _named([column for column in others if column != label], _GROUP_NAMES))


def check_columns(names: list[str], name: str) -> None:
    """Raises `AuditError` where a table has no columns, too many, or two of one name."""
    if not any(names):
        raise no_text(name)
    if len(names) > TABLE_COLUMNS:
        raise AuditError(
            f"“{name}” has {len(names):,} columns, more than the {TABLE_COLUMNS:,} allowed.",
            "Keep the columns with the text, the label and the group.",
        )
    twice = next((column for column in names if names.count(column) > 1), None)
    if twice is not None:
        raise AuditError(
            f"“{name}” has two columns named “{display_name(twice)}”.",
            "Give each column its own name in the first row.",
        )


def _texts(table: Table, columns: Columns, name: str) -> Iterator[Reading]:
    wanted = [column for column in (columns.text, columns.label, columns.group) if column is not None]
    for column in wanted:
        if column not in table.names:
            known = ", ".join(display_name(other) for other in table.names[:20])
            raise AuditError(f"“{name}” has no column “{display_name(column)}”.", f"Its columns are: {known}.")
    length = count = 0
    # Asked for each column once, though the same may serve twice (a title as text and group).
    distinct = list(dict.fromkeys(wanted))
    for number, cells in table.rows(distinct):
        row = dict(zip(distinct, cells, strict=True))
        text = row[columns.text]
        if text is not None and not isinstance(text, str):
            raise AuditError(
                f"Row {number:,} of “{name}” has no text in the column “{display_name(columns.text)}”.",
                "Pick the column that holds the text.",
            )
        if text is None or not text.strip():
            continue
        length += len(text)
        count += 1
        if length > FILE_CHARACTERS:
            raise too_much_text(name, FILE_CHARACTERS)
        if count > FILE_ROWS:
            raise AuditError(f"“{name}” has more than {FILE_ROWS:,} texts.", "Split it into smaller files.")
        title = f"{name}, row {number}"
        label, warnings = _label(row[columns.label]) if columns.label is not None else (Label.UNKNOWN, ())
        group = display_name(str(row[columns.group])) if columns.group is not None else title
        yield Reading(text, title, table.media_type, (*table.warnings, *warnings), group, label)
    if count == 0:
        raise no_text(name)


def _label(cell: object) -> tuple[Label, tuple[str, ...]]:
    said = "" if cell is None else str(cell).strip().lower()
    if said in _LABELS:
        return _LABELS[said], ()
    return Label.UNKNOWN, (f"The label “{display_name(said)}” is neither member nor non-member: taken as unknown.",)


def _named(names: Sequence[str], likely: tuple[str, ...]) -> str | None:
    """The first column with the likeliest name."""
    by_name = {column.strip().lower(): column for column in reversed(names)}
    return next((by_name[wish] for wish in likely if wish in by_name), None)
