"""Front and back matter: the copyright page, the table of contents, the index.

All three go by the look of the lines, so all three are timid: they act only near the ends of a text, on
blocks that look like nothing else, and leave what is in doubt.
"""

from __future__ import annotations

import re

from auditlib.documents.cleaning.changes import Change
from auditlib.documents.cleaning.lines import Line, lines_between, paragraphs_between

# "Near an end" is a fifth of the text, but not less than the first nor more than the second of these.
_NEAR_CHARACTERS = 20_000
_NEAR_AT_MOST = 300_000

_IMPRINT = re.compile(
    r"©|\(c\)\s*(?:19|20)\d\d|\bcopyright\s+(?:©|\(c\)|\d{4}|by\b)|all rights reserved\b"
    r"|\bISBN\b[\s:0-9-]*\d"
    r"|\blibrary of congress catalog|\bcataloguing[- ]in[- ]publication|\bcataloging[- ]in[- ]publication"
    r"|\bno part of this (?:book|publication)\b",
    re.I,
)
_IMPRINT_BESIDE = re.compile(
    r"^(?:(?:first )?(?:published|printed)(?: in| by)?\b|(?:first|second|third|\w+th) (?:edition|printing)\b"
    r"|typeset\b|cover (?:design|art)|designed by|a catalogue record|the moral right)",
    re.I,
)
_IMPRINT_WORDS = 200

_CONTENTS = re.compile(r"(?:table of )?contents[.:]?", re.I)
_ENTRY_START = re.compile(
    r"(?:chapter|part|book|section|volume|appendix|letter|canto|act|scene|preface|introduction|prologue|epilogue"
    r"|foreword|afterword|notes|index|glossary|bibliography|acknowledge?ments|conclusion|dedication"
    r"|(?:\d{1,3}|[ivxlc]{1,7})(?=[.):\s]|\Z))\b",
    re.I,
)
_PAGE_AT_END = re.compile(r"[\s.…·]+(?:\d{1,4}|[ivxlc]{1,7})\Z")
_ENTRY_CHARACTERS = 100
_FEWEST_ENTRIES = 3

_INDEX = re.compile(r"(?:general |subject )?index(?: of [\w ,]{1,40})?[.:]?", re.I)
_INDEX_ENTRY = re.compile(r".*\S[,\s]+\d{1,4}(?:[\s,;–-]+\d{1,4}|ff?\.?|n\.?)*[.;,]?|.*\bsee (?:also )?\w.*", re.I)
_INDEX_LINE_WORDS = 10
_MOST_INDEX_HEADINGS = 5  # an index of names, one of places


def copyright_page(text: str) -> list[Change]:
    """Paragraphs with a copyright notice, an ISBN and the like, and imprint lines beside them."""
    near = _near(text)
    zones = [(0, near)]
    if len(text) > near:
        zones.append((max(near, len(text) - near), len(text)))
    return [Change(part.start, part.end) for zone in zones for part in _imprint(text, *zone)]


def contents(text: str) -> list[Change]:
    """A heading "Contents" and the entries under it, up to where the first of them returns as a heading."""
    lines = list(lines_between(text, 0, _near(text)))
    cuts = []
    place = 0
    while place < len(lines):
        if _CONTENTS.fullmatch(lines[place].text.strip("_*# ")):
            last = _last_entry(lines, place)
            if last is not None:
                cuts.append(Change(lines[place].start, lines[last].end))
                place = last
        place += 1
    return cuts


def index(text: str) -> list[Change]:
    """A heading "Index" near the end and the lines with page numbers under it."""
    lines = list(lines_between(text, len(text) - _near(text), len(text)))
    headings = [place for place, line in enumerate(lines) if _INDEX.fullmatch(line.text.strip("_*# "))]
    for place in headings[-_MOST_INDEX_HEADINGS:]:
        with_pages, last = 0, place
        for number, line in enumerate(lines[place + 1 :], start=place + 1):
            if not line.text:
                continue
            if _INDEX_ENTRY.fullmatch(line.text[:300]):
                with_pages += 1
            elif len(line.text.split()) > _INDEX_LINE_WORDS:
                break
            last = number
        if with_pages >= _FEWEST_ENTRIES and with_pages * 2 >= sum(1 for x in lines[place:last] if x.text):
            return [Change(lines[place].start, lines[last].end)]
    return []


def _near(text: str) -> int:
    """How many characters from either end are near it."""
    return min(len(text), max(_NEAR_CHARACTERS, min(len(text) // 5, _NEAR_AT_MOST)))


def _imprint(text: str, start: int, end: int) -> list[Line]:
    parts = [part for part in paragraphs_between(text, start, end) if part.text]
    short = [len(part.text.split()) <= _IMPRINT_WORDS for part in parts]
    sure = [fits and _IMPRINT.search(part.text) is not None for part, fits in zip(parts, short, strict=True)]
    beside = [
        fits and not certain and _IMPRINT_BESIDE.match(part.text) is not None
        for part, fits, certain in zip(parts, short, sure, strict=True)
    ]
    return [
        part
        for place, part in enumerate(parts)
        if sure[place] or (beside[place] and any(sure[max(0, place - 2) : place + 3]))
    ]


def _last_entry(lines: list[Line], heading: int) -> int | None:
    """Where the list under a heading ends, or None where there is no list."""
    entries: list[int] = []
    keys: list[str] = []
    body_found = False
    for place in range(heading + 1, len(lines)):
        line = lines[place].text
        if not line:
            continue
        if len(line) > _ENTRY_CHARACTERS:
            break
        key = _key(line)
        if key and any(known.startswith(key) for known in keys):
            body_found = True
            break
        if not _is_entry(line):
            break
        entries.append(place)
        keys.append(key)
    if not body_found:
        # What stands right before the prose is its own heading, unless a page number says otherwise.
        while entries and not _PAGE_AT_END.search(lines[entries[-1]].text):
            after_gap = not lines[entries[-1] - 1].text
            entries.pop()
            if after_gap:
                break
    return entries[-1] if len(entries) >= _FEWEST_ENTRIES else None


def _key(line: str) -> str:
    """An entry by its letters and figures, without its page number."""
    return "".join(character for character in _PAGE_AT_END.sub("", line).lower() if character.isalnum())


def _is_entry(line: str) -> bool:
    if _PAGE_AT_END.search(line) or _ENTRY_START.match(line):
        return True
    words = [word for word in line.split() if len(word) >= 4]
    capitals = sum(word.strip("“\"'(‘")[:1].isupper() for word in words)
    return line[-1] not in ".,;:!?" and len(line.split()) <= 12 and capitals >= 0.6 * max(1, len(words))
