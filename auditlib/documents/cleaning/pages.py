"""Steps for texts that come in printed pages, apart by form feeds: running heads and page numbers."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from auditlib.documents.cleaning.changes import Change
from auditlib.documents.cleaning.lines import Line, lines_between

_EDGE_LINES = 2  # heads and numbers stand within so many lines of the top or the foot
_FEWEST_REPEATS = 3
_LONGEST_HEAD = 100  # characters
_LONGEST_NUMBER = 40
_FEWEST_LINES = 4  # a page with fewer has no head that could be told from its text

_NUMBER = re.compile(
    r"\W*(?P<word>page|pg\.?|p\.)?\s*(?P<number>\d{1,4}|[ivxlcdm]{1,8})(?:\s*(?:of|/)\s*\d{1,4})?\W*", re.I
)
_DIGITS = re.compile(r"\d+")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}


class _Edge(NamedTuple):
    page: int  # counted from 0
    line: Line
    cut: Change  # takes the line out together with its line break


def running_heads(text: str) -> list[Change]:
    """Lines at the top or foot that return on three pages or more, whatever numbers are in them.

    Where more lines than a head has are repeated, the pages themselves are alike, and nothing is dropped.
    """
    pages = _pages(text)
    pages_with = Counter(
        content for _, _, lines in pages for content in {_without_numbers(line.text) for line in lines}
    )
    cuts = []
    for start, end, lines in pages:
        if len(lines) < _FEWEST_LINES:
            continue
        top = _repeated(lines, pages_with)
        foot = _repeated(lines[::-1], pages_with)[::-1]
        cuts += [_cut_from_top(line, end) for line in top] + [_cut_from_foot(line, start) for line in foot]
    return _apart(cuts)


def page_numbers(text: str) -> list[Change]:
    """Numbers that stand alone at the top or foot and count on with the pages.

    "1984" at the foot of page 30 stays: no other page fits it. "Page 3 of 9" goes in any case.
    """
    found = []
    for edge in _edges(text):
        match = _NUMBER.fullmatch(edge.line.text) if len(edge.line.text) <= _LONGEST_NUMBER else None
        if match is not None and (value := _value(match["number"])) is not None:
            found.append((edge, value - edge.page, match["word"] is not None))
    pages_fitting: dict[int, set[int]] = {}
    for edge, offset, _ in found:
        pages_fitting.setdefault(offset, set()).add(edge.page)
    return _apart(
        [edge.cut for edge, offset, is_named in found if is_named or offset == 1 or len(pages_fitting[offset]) >= 2]
    )


def _edges(text: str) -> list[_Edge]:
    """The outer lines of every page, none twice; one line at least is the page's own."""
    edges = []
    for page, (start, end, lines) in enumerate(_pages(text)):
        at_edge = min(_EDGE_LINES, (len(lines) - 1) // 2 or 1) if len(lines) > 1 else 0
        top, foot = lines[:at_edge], lines[max(at_edge, len(lines) - at_edge) :]
        edges += [_Edge(page, line, _cut_from_top(line, end)) for line in top]
        edges += [_Edge(page, line, _cut_from_foot(line, start)) for line in foot]
    return edges


def _pages(text: str) -> list[tuple[int, int, list[Line]]]:
    """Where each page starts and ends, and its lines that are not blank."""
    pages = []
    start = 0
    for content in text.split("\f"):
        end = start + len(content)
        pages.append((start, end, [line for line in lines_between(text, start, end) if line.text]))
        start = end + 1
    return pages


def _repeated(lines: list[Line], pages_with: Counter[str]) -> list[Line]:
    """The lines from the first on that other pages have too, if they are few enough for a head."""
    run: list[Line] = []
    for line in lines:
        if not any(character.isalpha() for character in line.text):
            if len(run) < _EDGE_LINES:
                continue  # a page number may stand above or below the head
            break
        if len(line.text) > _LONGEST_HEAD or pages_with[_without_numbers(line.text)] < _FEWEST_REPEATS:
            break
        run.append(line)
    return run if len(run) <= _EDGE_LINES else []


def _cut_from_top(line: Line, page_end: int) -> Change:
    return Change(line.start, min(line.end + 1, page_end))


def _cut_from_foot(line: Line, page_start: int) -> Change:
    return Change(max(line.start - 1, page_start), line.end)


def _apart(cuts: list[Change]) -> list[Change]:
    """In order; neighbours that share a line break give it to the first."""
    apart: list[Change] = []
    for cut in sorted(cuts):
        start = max(cut.start, apart[-1].end) if apart else cut.start
        if start < cut.end:
            apart.append(Change(start, cut.end))
    return apart


def _without_numbers(line: str) -> str:
    return " ".join(_DIGITS.sub("#", line).lower().split())


def _value(number: str) -> int | None:
    """The number in figures, arabic or roman; None for letters that are no roman number."""
    if number.isdecimal():
        return int(number)
    values = [_ROMAN[letter] for letter in number.lower()]
    total = sum(-value if value < max(values[place:]) else value for place, value in enumerate(values))
    return total if 0 < total < 1000 else None
