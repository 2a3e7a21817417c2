"""What a report is made of: one sequence of blocks that say what is there, and nothing of how it looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from auditlib.evidence import LIMITS, Reason, Verdict

Cell = str | int | float | bool | None
LONGEST_QUOTATION = 300  # characters: enough to show what is meant, too little to stand for the work


@dataclass(frozen=True)
class Heading:
    """`level` 1 is a numbered section that the table of contents names; 2 stands inside one."""

    text: str
    level: Literal[1, 2] = 1


@dataclass(frozen=True)
class Paragraph:
    """Running text. A `quiet` one is set small: a remark on what stands above it."""

    text: str
    quiet: bool = False


@dataclass(frozen=True)
class Bullets:
    """Points of equal rank."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Column:
    """A table's column. `form` is a format specification (".3f", ",") for its numbers."""

    name: str
    unit: str = ""
    numeric: bool = False
    form: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under columns; the first column names its row. `note` stands below, such as what was left out."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} cells under {len(self.columns)} columns: {row}")


@dataclass(frozen=True)
class Figure:
    """A chart, what it shows in one sentence, and the same in words for those who cannot see it."""

    figure: go.Figure
    caption: str
    alternative: str


@dataclass(frozen=True)
class VerdictBlock:
    """A verdict in its frame: the word, in a sentence, every reason, and how far it reaches."""

    word: str
    sentence: str
    reasons: tuple[Reason, ...]
    p: float | None
    limits: str = LIMITS

    @classmethod
    def of(cls, verdict: Verdict, sentence: str) -> VerdictBlock:
        """The block of a verdict; `sentence` says in plain words what its word means here."""
        return cls(verdict.word.value, sentence, verdict.reasons, verdict.p, verdict.limits)


@dataclass(frozen=True)
class Parameters:
    """Names and values, such as settings, or terms and what they mean. `code` is for commands."""

    pairs: tuple[tuple[str, str], ...]
    caption: str = ""
    code: bool = False


@dataclass(frozen=True)
class Quotation:
    """A few words of an examined text, at most 300 characters, and where they stand.

    `marked` is the part from one character to another that is set off; (0, 0) for none.
    """

    text: str
    source: str
    marked: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        if len(self.text) > LONGEST_QUOTATION:
            raise ValueError(f"a quotation of {len(self.text)} characters; use `quoted`")


@dataclass(frozen=True)
class Signatures:
    """Lines to sign on, one for each role."""

    roles: tuple[str, ...]


@dataclass(frozen=True)
class PageBreak:
    """What follows starts on a new page in print."""


Block = Heading | Paragraph | Bullets | Table | Figure | VerdictBlock | Parameters | Quotation | Signatures | PageBreak


@dataclass(frozen=True)
class Report:
    """A whole report. `made` is when, with its time zone; `version` that of this program."""

    title: str
    subtitle: str
    blocks: tuple[Block, ...]
    made: datetime
    version: str

    def __post_init__(self) -> None:
        if self.made.tzinfo is None:
            raise ValueError("a report says in which time zone it was made")


def quoted(text: str, source: str) -> Quotation:
    """The beginning of `text`, cut between words where it is too long to quote."""
    words = " ".join(text.split())
    if len(words) > LONGEST_QUOTATION:
        cut = words[: LONGEST_QUOTATION - 2]
        words = f"{cut.rpartition(' ')[0] or cut} …"
    return Quotation(words, source)


def table_of(
    frame: pd.DataFrame,
    caption: str,
    units: Mapping[str, str] | None = None,
    forms: Mapping[str, str] | None = None,
    note: str = "",
) -> Table:
    """A data frame as a table: numbers to the right, each column with its unit and number format where given."""
    columns = tuple(
        Column(
            str(name),
            (units or {}).get(name, ""),
            pd.api.types.is_numeric_dtype(frame[name]) and not pd.api.types.is_bool_dtype(frame[name]),
            (forms or {}).get(name, ""),
        )
        for name in frame.columns
    )
    rows = tuple(
        tuple(_cell(value) for value in row) for row in frame.astype(object).itertuples(index=False, name=None)
    )
    return Table(columns, rows, caption, note)


def headings(blocks: Sequence[Block]) -> list[Heading]:
    """The sections, in order."""
    return [block for block in blocks if isinstance(block, Heading) and block.level == 1]


def _cell(value: object) -> Cell:
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None or plain is pd.NA or (isinstance(plain, float) and np.isnan(plain)):
        return None
    return plain if isinstance(plain, str | int | float | bool) else str(plain)
