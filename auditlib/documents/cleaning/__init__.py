"""Cleaning: named steps, each a pure function from a text to the changes it wants.

Every step can be switched off, and nothing is lost: a document keeps its original and the edits, so a page
can show what was taken out where it stood.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from hashlib import sha256
from itertools import cycle, islice

from auditlib.core import Document, Edit
from auditlib.documents.cleaning.changes import Change, add_changes, apply
from auditlib.documents.cleaning.characters import line_hyphens, normal_form, white_space
from auditlib.documents.cleaning.gutenberg import gutenberg_licence
from auditlib.documents.cleaning.matter import contents, copyright_page, index
from auditlib.documents.cleaning.pages import page_numbers, running_heads
from auditlib.documents.names import display_name
from auditlib.documents.reading import Reading


class _For(Enum):
    """Which texts a step is for."""

    ALL = "all"
    BOOKS = "books: whatever is no row of a table"
    PAGES = "texts in printed pages"


@dataclass(frozen=True)
class Step:
    """One cleaning step: its name, a sentence for the page, and the function that finds what to change."""

    name: str
    about: str
    changes: Callable[[str], list[Change]]
    texts: _For = _For.BOOKS


# In the order in which they run: page furniture first, as it stands between the halves of a divided word.
STEPS: dict[str, Step] = {
    step.name: step
    for step in (
        Step("unicode", "Characters in their composed form (NFC)", normal_form, _For.ALL),
        Step("running_heads", "Running heads and feet of pages dropped", running_heads, _For.PAGES),
        Step("page_numbers", "Page numbers dropped", page_numbers, _For.PAGES),
        Step("gutenberg", "Project Gutenberg licence stripped", gutenberg_licence),
        Step("copyright_page", "Copyright page dropped", copyright_page),
        Step("contents", "Table of contents dropped", contents),
        Step("index", "Index dropped", index),
        Step("hyphens", "Words divided at line ends joined", line_hyphens),
        Step("white_space", "White space made even", white_space),
    )
}

_TABLES = {
    "text/csv",
    "text/tab-separated-values",
    "application/jsonl",
    "application/vnd.apache.parquet",
}
# Steps feed each other (a head gone, the number under it is at the edge), so they run until nothing changes;
# a real text takes two or three rounds.
_MOST_ROUNDS = 20


@dataclass(frozen=True)
class Piece:
    """A run of the original text. `step` names what took it out or changed it, into `text_now`; else None."""

    original: str
    text_now: str
    step: str | None = None


def default_steps(media_type: str) -> tuple[str, ...]:
    """The steps for a kind of file, in order.

    Rows of tables only get their Unicode form: they are benchmarks, to be scored as they were published.
    """
    wanted = {_For.ALL}
    if media_type not in _TABLES:
        wanted.add(_For.BOOKS)
    if media_type == "application/pdf":
        wanted.add(_For.PAGES)
    return tuple(step.name for step in STEPS.values() if step.texts in wanted)


def clean_text(text: str, steps: Collection[str]) -> tuple[str, tuple[Edit, ...]]:
    """The cleaned text, and the edits that made it of `text`. Steps run in the registry's order.

    Idempotent: a text that was cleaned comes back as it is, with no edits.
    """
    unknown = set(steps) - set(STEPS)
    if unknown:
        raise ValueError(f"there is no cleaning step named {', '.join(sorted(unknown))}")
    edits: list[Edit] = []
    in_order = [step for step in STEPS.values() if step.name in steps]
    without_effect = 0
    for step in islice(cycle(in_order), _MOST_ROUNDS * len(in_order)):
        changes = step.changes(text)
        without_effect = 0 if changes else without_effect + 1
        if changes:
            edits = add_changes(edits, text, changes, step.name)
            text = apply(text, changes)
        elif without_effect == len(in_order):
            break
    return text, tuple(edits)


def document_from(reading: Reading, source_name: str, without: Collection[str] = ()) -> Document:
    """The document of one reading, cleaned by the steps for its kind of file, less those switched off."""
    original = _plain(reading.text)
    chosen = _steps(reading.media_type, without)
    text, edits = clean_text(original, chosen)
    warnings = reading.warnings
    if not text.split():
        warnings = (*warnings, "Cleaning removed every word: switch off the step that went too far.")
    return Document(
        id=_id(text),
        title=reading.title,
        text=text,
        media_type=reading.media_type,
        source_name=display_name(source_name),
        warnings=warnings,
        raw=original if edits else None,
        edits=edits,
        steps=chosen,
        group=reading.group or reading.title,
        label=reading.label,
        author=reading.author,
        year=reading.year,
    )


def clean_again(document: Document, without: Collection[str] = ()) -> Document:
    """The document cleaned from its original with other steps switched off. A new text has a new id."""
    chosen = _steps(document.media_type, without)
    text, edits = clean_text(document.original, chosen)
    raw = document.original if edits else None
    return replace(document, id=_id(text), text=text, raw=raw, edits=edits, steps=chosen)


def pieces(document: Document) -> Iterator[Piece]:
    """The original from its first to its last character, in runs: as it was, or what a step made of it."""
    original, done = document.original, 0
    for edit in document.edits:
        if edit.start > done:
            kept = original[done : edit.start]
            yield Piece(kept, kept)
        yield Piece(original[edit.start : edit.end], edit.text, edit.step)
        done = edit.end
    if done < len(original):
        yield Piece(original[done:], original[done:])


def removed_words(document: Document) -> dict[str, int]:
    """How many whitespace-separated words each step took out; only steps that took out any."""
    counts: dict[str, int] = {}
    for edit in document.edits:
        fewer = len(document.original[edit.start : edit.end].split()) - len(edit.text.split())
        # The hyphen between two halves of a word is no word, though white space may stand beside it.
        if fewer > 0 and any(character.isalnum() for character in document.original[edit.start : edit.end]):
            counts[edit.step] = counts.get(edit.step, 0) + fewer
    return counts


def _steps(media_type: str, without: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in default_steps(media_type) if name not in without)


def _plain(text: str) -> str:
    """Line breaks as line feeds, and no halves of characters, which no file could hold."""
    even = text.replace("\r\n", "\n").replace("\r", "\n")
    return even.encode("utf-8", "replace").decode("utf-8")


def _id(text: str) -> str:
    return sha256(text.encode("utf-8")).hexdigest()
