"""What a cleaning step says it wants, and how the wants of several steps add up on the original text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from auditlib.core import Edit


class Change(NamedTuple):
    """Characters start..end of the text a step was given become `text`. Never empty: start < end."""

    start: int
    end: int
    text: str = ""


def apply(text: str, changes: Sequence[Change | Edit]) -> str:
    """`text` with the changes made; they are in order and do not overlap."""
    pieces, done = [], 0
    for change in changes:
        pieces += [text[done : change.start], change.text]
        done = change.end
    return "".join([*pieces, text[done:]])


def add_changes(edits: Sequence[Edit], text: str, changes: Sequence[Change], step: str) -> list[Edit]:
    """Edits of the original that do what `edits` did and then `changes`.

    `text` is the text as `edits` left it, which the changes refer to. A change that touches what an earlier
    edit put there swallows that edit, and the step that took out the most gives the name.
    """
    added: list[Edit] = []
    next_edit = next_change = 0
    shift = 0  # where a character is now, less where it was in the original
    while next_change < len(changes):
        low, high = changes[next_change].start, changes[next_change].end
        while next_edit < len(edits) and _now(edits[next_edit], shift)[1] <= low:
            added.append(edits[next_edit])
            shift += _growth(edits[next_edit])
            next_edit += 1
        if next_edit < len(edits):
            low = min(low, _now(edits[next_edit], shift)[0])
        original_start = low - shift
        first_change, first_edit = next_change, next_edit
        grown = True
        while grown:  # until nothing else reaches into low..high
            grown = False
            while next_edit < len(edits) and _now(edits[next_edit], shift)[0] < high:
                high = max(high, _now(edits[next_edit], shift)[1])
                shift += _growth(edits[next_edit])
                next_edit += 1
                grown = True
            while next_change < len(changes) and changes[next_change].start < high:
                high = max(high, changes[next_change].end)
                next_change += 1
                grown = True
        inside = [Change(c.start - low, c.end - low, c.text) for c in changes[first_change:next_change]]
        swallowed = edits[first_edit:next_edit]
        by_step = [(change.end - change.start, step) for change in inside]
        by_step += [(edit.end - edit.start, edit.step) for edit in swallowed]
        name = max(by_step, key=lambda taken: taken[0])[1]
        added.append(Edit(name, original_start, high - shift, apply(text[low:high], inside)))
    return [*added, *edits[next_edit:]]


def _now(edit: Edit, shift: int) -> tuple[int, int]:
    start = edit.start + shift
    return start, start + len(edit.text)


def _growth(edit: Edit) -> int:
    return len(edit.text) - (edit.end - edit.start)
