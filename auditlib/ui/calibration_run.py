"""Two sets through the current model, once; and the numbers of every k, score and alpha after that, without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from auditlib.audits.calibration import (
    Calibrated,
    KSweep,
    LengthClass,
    MethodResult,
    NullRuns,
    Words,
    at_k,
    calibrate,
    examine_words,
    k_sweep,
    length_classes,
    null_runs,
)
from auditlib.audits.sets import LabelledSets, ReadSets, read_sets
from auditlib.core import AuditError
from auditlib.documents.cutting import Cutting
from auditlib.evidence.thresholds import Rule
from auditlib.ui.messages import duration, show_error
from auditlib.ui.models import current_request, loaded_current, open_current

MOST_KEPT = 12
Value = TypeVar("Value")


def run_button(sets: LabelledSets, cutting: Cutting) -> None:
    """The button that reads both sets, as they were cut; the reading is kept for this person until the next one."""
    line = f"Reads {len(sets.snippets):,} texts twice, as they stand and in lower case"
    model = loaded_current()
    if model is not None and model.tokens_per_second:
        try:
            n_tokens = 2 * sum(model.tokens_to_read(text) for text in sets.texts[:200])
            expected = n_tokens * max(1.0, len(sets.texts) / 200) / model.tokens_per_second
            line += f": about {duration(expected)} on this machine"
        except AuditError:
            pass  # said by name when the reading comes to it
    left, right = st.columns([1, 3], vertical_alignment="center")
    clicked = left.button("Calibrate", type="primary", icon=":material/play_arrow:", width="stretch")
    right.caption(f"{line}. Afterwards k, score and alpha are changed without reading again.")
    if clicked:
        try:
            st.session_state["calibration_read"] = _read(sets)
            st.session_state["calibration_request"] = current_request()
            st.session_state["calibration_cutting"] = cutting
            st.session_state["calibration_kept"] = {}
        except AuditError as error:
            show_error(error)


def latest() -> ReadSets | None:
    """What was read last, if anything was."""
    read: ReadSets | None = st.session_state.get("calibration_read")
    return read


def is_of_current_model() -> bool:
    """Whether `latest` was read by the model that is chosen now."""
    return bool(st.session_state.get("calibration_request") == current_request())


def words_of(read: ReadSets) -> Words:
    """The blind baseline and the lengths, computed once. Raises `AuditError`."""
    return _kept(("words",), "Trying how far the words alone tell the sets apart …", lambda: examine_words(read.sets))


def calibrated(read: ReadSets, k: float, rule: Rule) -> Calibrated:
    """Every score at this k. Raises `AuditError`."""
    words, said = words_of(read), "Computing intervals …"
    first = _kept(("scores", rule), said, lambda: calibrate(read, words, k, rule=rule))
    return first if first.k == k else _kept(("scores", k, rule), said, lambda: at_k(read, first, k))


def sweep(read: ReadSets, name: str) -> KSweep:
    """How one score of the Min-K family depends on k. Raises `AuditError`."""
    return _kept(("sweep", name), "Trying other values of k …", lambda: k_sweep(read, name))


def nulls(read: ReadSets, found: Calibrated, name: str) -> NullRuns:
    """The runs that must find nothing. Raises `AuditError`."""
    return _kept(
        ("nulls", name, found.k, found.alpha),
        "Running both …",
        lambda: null_runs(read, found.words, found.methods[name], found.alpha),
    )


def by_length(read: ReadSets, method: MethodResult, k: float) -> list[LengthClass]:
    """AUC among texts of about one length."""
    return _kept(("lengths", method.name, k), "Comparing lengths …", lambda: length_classes(read, method.scores))


def _kept(key: tuple[object, ...], said: str, make: Callable[[], Value]) -> Value:
    """What `make` gave for `key` before, or gives now; of those kept the one not asked for longest goes first."""
    kept: dict[tuple[object, ...], Value] = st.session_state.setdefault("calibration_kept", {})
    if key in kept:
        value = kept.pop(key)
    else:
        with st.spinner(said):
            value = make()
        while len(kept) >= MOST_KEPT:
            kept.pop(next(iter(kept)))
    kept[key] = value
    return value


def _read(sets: LabelledSets) -> ReadSets:
    model = open_current()
    bar = st.progress(0.0, text=f"Reading {len(sets.snippets):,} texts …")

    def progress(done: int, total: int) -> None:
        left = f", {duration((total - done) / model.tokens_per_second)} left" if model.tokens_per_second else ""
        bar.progress(done / total, text=f"Read {done:,} of {total:,} tokens{left} …")

    try:
        return read_sets(model, sets, progress)
    finally:
        bar.empty()
