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
    """Lines at the top or foot that return on three pages or more, whatever numbers are in them."""
    edges = [
        edge
        for edge in _edges(text, _FEWEST_LINES)
        if len(edge.line.text) <= _LONGEST_HEAD and any(character.isalpha() for character in edge.line.text)
    ]
    pages_with = Counter(_without_numbers(edge.line.text) for edge in edges)
    return [edge.cut for edge in edges if pages_with[_without_numbers(edge.line.text)] >= _FEWEST_REPEATS]


def page_numbers(text: str) -> list[Change]:
    """Numbers that stand alone at the top or foot and count on with the pages.

    "1984" at the foot of page 30 stays: no other page fits it. "Page 3 of 9" goes in any case.
    """
    found = []
    for edge in _edges(text, fewest_lines=2):
        match = _NUMBER.fullmatch(edge.line.text)
        if match is not None and (value := _value(match["number"])) is not None:
            found.append((edge, value - edge.page, match["word"] is not None))
    pages_fitting: dict[int, set[int]] = {}
    for edge, offset, _ in found:
        pages_fitting.setdefault(offset, set()).add(edge.page)
    return [
        edge.cut
        for edge, offset, is_named in found
        if is_named or offset == 1 or len(pages_fitting[offset]) >= 2
    ]


def _edges(text: str, fewest_lines: int) -> list[_Edge]:
    """The outer lines of every page, none twice, in the order of the text."""
    edges = []
    start = 0
    for page, content in enumerate(text.split("\f")):
        end = start + len(content)
        lines = [line for line in lines_between(text, start, end) if line.text]
        if len(lines) >= fewest_lines:
            # One line at least is the page's own.
            at_edge = min(_EDGE_LINES, (len(lines) - 1) // 2 or 1)
            top, foot = lines[:at_edge], lines[max(at_edge, len(lines) - at_edge) :]
            edges += [_Edge(page, line, Change(line.start, min(line.end + 1, end))) for line in top]
            edges += [_Edge(page, line, Change(max(line.start - 1, start), line.end)) for line in foot]
        start = end + 1
    return _apart(edges)


def _apart(edges: list[_Edge]) -> list[_Edge]:
    """Neighbouring cuts share a line break: the later one gives it up."""
    apart: list[_Edge] = []
    for edge in edges:
        if apart and edge.cut.start < apart[-1].cut.end:
            edge = edge._replace(cut=edge.cut._replace(start=apart[-1].cut.end))
        apart.append(edge)
    return [edge for edge in apart if edge.cut.start < edge.cut.end]


def _without_numbers(line: str) -> str:
    return " ".join(_DIGITS.sub("#", line).lower().split())


def _value(number: str) -> int | None:
    """The number in figures, arabic or roman; None for letters that are no roman number."""
    if number.isdecimal():
        return int(number)
    values = [_ROMAN[letter] for letter in number.lower()]
    total = sum(-value if value < max(values[place:]) else value for place, value in enumerate(values))
    return total if 0 < total < 1000 else None
