"""Lines and paragraphs with the place they stand at."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE = re.compile(r"[^\n\f]*")
_PARAGRAPH_BREAK = re.compile(r"\n[ \t]*\n\s*|\f\s*")


class Line(NamedTuple):
    """Characters start..end of a text; `text` is what stands there, without white space around it."""

    start: int
    end: int
    text: str


def lines_between(text: str, start: int, end: int) -> Iterator[Line]:
    """The lines of text[start:end], empty ones too."""
    while start <= end:
        match = _LINE.match(text, start, end)
        stop = match.end() if match else end
        yield Line(start, stop, text[start:stop].strip())
        start = stop + 1


def paragraphs_between(text: str, start: int, end: int) -> Iterator[Line]:
    """The paragraphs of text[start:end]: apart by blank lines or page breaks."""
    for gap in _PARAGRAPH_BREAK.finditer(text, start, end):
        if gap.start() > start:
            yield Line(start, gap.start(), text[start : gap.start()].strip())
        start = gap.end()
    if start < end:
        yield Line(start, end, text[start:end].strip())
