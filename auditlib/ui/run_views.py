"""What the Runs page knows of each kind of run. A new kind is one entry in VIEWS; without one a run is still listed,
watched, renamed and deleted, and its parameters are shown as they are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from auditlib.store import Run
from auditlib.ui.run_view_books import books_changes, books_words, compare_books
from auditlib.ui.run_view_calibration import calibration_changes, calibration_words, compare_calibrations
from auditlib.ui.run_view_unlearning import compare_unlearning, unlearning_changes, unlearning_words

HASHES = ("weights_sha256", "config_sha256", "tokenizer_sha256", "adapter")
SHOWN_OF_A_HASH = 16


@dataclass(frozen=True)
class RunView:
    """One kind of run on the Runs page. Every function raises `AuditError` where a run cannot be understood.

    page     shows a run of this kind, opened as ?run=ID
    words    what a run was asked for, in plain words: what, and its value
    changes  draws in a dialog the fields that a duplicate may have otherwise, filled as they are; gives by name those
             parameters that were changed
    compare  draws what two finished runs found, side by side
    """

    page: str
    words: Callable[[Run], dict[str, str]]
    changes: Callable[[Run], dict[str, Any]]
    compare: Callable[[Run, Run], None]


VIEWS: dict[str, RunView] = {
    "books": RunView("pages/books.py", books_words, books_changes, compare_books),
    "calibration": RunView("pages/calibrate.py", calibration_words, calibration_changes, compare_calibrations),
    "unlearning": RunView("pages/unlearning.py", unlearning_words, unlearning_changes, compare_unlearning),
}


def words_of(run: Run) -> dict[str, str]:
    """What a run of any kind was asked for. Raises `AuditError`."""
    view = VIEWS.get(run.kind)
    if view is None:
        return {str(name): str(value) for name, value in run.parameters.items()}
    return view.words(run)


def identity_words(part: str, identity: Any) -> dict[str, str]:
    """Exactly which model played a part, in few words; hashes by their first letters."""
    if not isinstance(identity, dict):
        return {}
    known = {name: str(value) for name, value in identity.items() if value}
    facts = {}
    if named := [known[name] for name in ("name", "dtype", "backend") if name in known]:
        facts[f"{part} model".capitalize()] = ", ".join(named)
    if found := [known[name] for name in ("source", "revision") if name in known]:
        facts[f"{part} found as".capitalize()] = ", revision ".join(found)
    hashes = [f"{name.removesuffix('_sha256')} {known[name][:SHOWN_OF_A_HASH]}…" for name in HASHES if name in known]
    if hashes:
        facts[f"{part} hashes".capitalize()] = ", ".join(hashes)
    return facts
