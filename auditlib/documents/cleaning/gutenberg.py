"""The licence blocks of Project Gutenberg, in the wordings of its several decades."""

from __future__ import annotations

import re

from auditlib.documents.cleaning.changes import Change

_LINE_REST = r"[^\n]*(?:\n|\Z)"
_START = re.compile(
    r"^[ \t]*\*{2,3} ?START OF (?:THE|THIS) PROJECT GUTENBERG E(?:BOOK|TEXT)"
    + _LINE_REST
    + r"|^[ \t]*\*END[ *]*THE SMALL PRINT!"
    + _LINE_REST,
    re.I | re.M,
)
_END = re.compile(
    r"^[ \t]*\*{2,3} ?END OF (?:THE|THIS) PROJECT GUTENBERG E(?:BOOK|TEXT)"
    r"|^[ \t]*End of (?:The |this )?Project Gutenberg(?:'s|’s| EBook| Etext)",
    re.I | re.M,
)
_CREDIT = re.compile(
    r"\s*(?:Produced by|E-?text prepared by|Transcribed from|This e-?text was (?:produced|prepared) by)"
    r"(?:[^\n]|\n(?!\s*\n))*\n\s*\n",
    re.I,
)


def gutenberg_licence(text: str) -> list[Change]:
    """What stands before the last start mark and after the first end mark that follows it."""
    starts = [match.end() for match in _START.finditer(text)]
    body = starts[-1] if starts else 0
    if starts and (credit := _CREDIT.match(text, body)):
        body = credit.end()
    end_mark = _END.search(text, body)
    cuts = [Change(0, body)] if body > 0 else []
    if end_mark is not None and end_mark.start() < len(text):
        cuts.append(Change(end_mark.start(), len(text)))
    return cuts
