"""Steps that work on characters: Unicode form, hyphens at line ends, white space."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from auditlib.documents.cleaning.changes import Change

# An ASCII character never joins with what stands before it, so the text may be normalised in pieces that
# begin with one.
_PIECE = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")

_LETTER = r"[^\W\d_]"
_LINE_HYPHEN = re.compile(rf"[-\u2010\u00ad](?<={_LETTER}.)[ \t]*[\n\f][ \t]*(?={_LETTER})")
_SOFT_HYPHEN = re.compile("\u00ad+")
_LAST_WORD = re.compile(rf"{_LETTER}+\Z")
_FIRST_WORD = re.compile(rf"{_LETTER}+")
_WORD = re.compile(rf"{_LETTER}+(?:-{_LETTER}+)?")
_LONGEST_WORD = 60

# Not the joiners U+200C and U+200D, which Persian, Hindi and emoji need.
_INVISIBLE = "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
_UNTIDY = re.compile(rf"[{_INVISIBLE}]+|\s{{2,}}|[^\S \n]|\A\s|\s\Z")
_LINE_BREAK = re.compile("[\n\x0b\x0c\x85\u2028\u2029]")


def normal_form(text: str) -> list[Change]:
    """Unicode NFC: an accent that stands apart joins its letter."""
    if unicodedata.is_normalized("NFC", text):
        return []
    changes = []
    for piece in _PIECE.finditer(text):
        normal = unicodedata.normalize("NFC", piece[0])
        if normal != piece[0]:
            changes.append(Change(piece.start(), piece.end(), normal))
    return changes


def line_hyphens(text: str) -> list[Change]:
    """Words that were divided at the end of a line are whole again; soft hyphens go.

    "well-" + "known" keeps its hyphen where the text elsewhere writes "well-known" more often than
    "wellknown".
    """
    if "\u00ad" not in text and not _LINE_HYPHEN.search(text):
        return []
    counts = Counter(word.lower() for word in _WORD.findall(text))
    changes = []
    divided_at = set()
    for hyphen in _LINE_HYPHEN.finditer(text):
        before = _LAST_WORD.search(text, max(0, hyphen.start() - _LONGEST_WORD), hyphen.start())
        after = _FIRST_WORD.match(text, hyphen.end(), hyphen.end() + _LONGEST_WORD)
        if before is None or after is None or not after[0][0].islower():
            continue
        left, right = before[0].lower(), after[0].lower()
        compound = hyphen[0][0] != "\u00ad" and counts[f"{left}-{right}"] > counts[left + right]
        changes.append(Change(hyphen.start(), hyphen.end(), "-" if compound else ""))
        divided_at.add(hyphen.start())
    soft = [Change(*run.span()) for run in _SOFT_HYPHEN.finditer(text) if run.start() not in divided_at]
    return sorted([*changes, *soft])


def white_space(text: str) -> list[Change]:
    """One space between words, at most one blank line between paragraphs, none at the ends.

    Single line breaks stay. Control characters and other invisible ones go.
    """
    changes = []
    for run in _UNTIDY.finditer(text):
        tidy = ""
        if run[0][0].isspace() and run.start() > 0 and run.end() < len(text):
            tidy = ("\n" * len(_LINE_BREAK.findall(run[0])))[:2] or " "
        if tidy != run[0]:
            changes.append(Change(run.start(), run.end(), tidy))
    return changes
