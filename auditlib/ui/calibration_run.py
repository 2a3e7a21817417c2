"""A calibration as a run: started here, shown when it is done, and computed anew for another k or rule from its cache.

The model is asked once, by the worker. What the run found is what the page shows first; every other k, score, rule
and alpha comes from the token statistics that the run left in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from auditlib.audits.calibration import (
    Calibrated,
    KSweep,
    LengthClass,
    MethodResult,
    NullRuns,
    at_k,
    calibrate,
    k_sweep,
    length_classes,
    null_runs,
)
from auditlib.audits.saved_calibration import Calibration, keep
from auditlib.audits.sets import LabelledSets, ReadSets
from auditlib.core import AuditError, Document, Label, settings
from auditlib.documents.cutting import Cutting
from auditlib.evidence.thresholds import Rule
from auditlib.jobs import (
    CalibrationParameters,
    CalibrationSummary,
    RemoteModel,
    brought_file,
    chosen,
    load_calibration,
    load_read_sets,
    load_score_table,
    load_summary,
)
from auditlib.store import Run
from auditlib.ui.companion_fields import companion_fields, companion_words, readings
from auditlib.ui.library import store
from auditlib.ui.messages import duration
from auditlib.ui.models import current_request, loaded_current, model_name
from auditlib.ui.runs import start_form

KIND = "calibration"
MOST_KEPT = 24
SAMPLED = 100  # texts whose tokens are counted for an estimate
Value = TypeVar("Value")


@dataclass(frozen=True)
class ChosenSets:
    """Both sets as the page has them before a run: `texts` says where from, in `CalibrationParameters`' words."""

    texts: str
    documents: tuple[Document, ...]
    cutting: Cutting
    sets: LabelledSets


@dataclass(frozen=True)
class FinishedCalibration:
    """A finished run, its findings, and what is needed to compute others.

    table  one row a text: label, tokens, a column a score
    read   both sets with their statistics; None where a text or a reading is gone since, with which k stays as it is
    """

    run: Run
    summary: CalibrationSummary
    table: pd.DataFrame
    read: ReadSets | None

    @property
    def is_member(self) -> NDArray[np.bool_]:
        """Of each text. (n,)"""
        return np.asarray(self.table["label"] == Label.MEMBER.value, dtype=np.bool_)

    @property
    def n_tokens(self) -> NDArray[np.int64]:
        """Scored tokens of each text. (n,)"""
        return np.asarray(self.table["n_tokens"], dtype=np.int64)


def start_calibration(chosen_sets: ChosenSets) -> None:
    """What will be read, how long that takes, and the button that starts the run."""
    sets = chosen_sets.sets
    line = f"Reads {len(sets.snippets):,} texts twice, as they stand and in lower case{_expected(sets)}. "
    where = {"brought": "Uploaded texts are kept with the run until it is deleted. "}.get(chosen_sets.texts, "")

    beside = companion_fields(KIND)

    def parameters() -> CalibrationParameters:
        return CalibrationParameters(
            model=current_request(),
            texts=chosen_sets.texts,  # type: ignore[arg-type]
            documents=chosen(chosen_sets.documents) if chosen_sets.texts == "documents" else (),
            cutting=chosen_sets.cutting,
            companions=beside,
        )

    start_form(
        KIND,
        f"{model_name(current_request())}, {len(sets.snippets):,} texts",
        parameters,
        f"{line}{companion_words(beside)}{where}Afterwards k, score and alpha are changed without reading again.",
        "Calibrate",
        files=lambda: brought_file(chosen_sets.documents) if chosen_sets.texts == "brought" else {},
        reads=lambda: readings(sets.texts, beside),
    )


def finished(run: Run) -> FinishedCalibration:
    """What a run that is done has found. Raises `AuditError` where its files are gone or altered."""
    held: FinishedCalibration | None = st.session_state.get("calibration_finished")
    if held is None or held.run.id != run.id:
        with st.spinner("Opening the run …"):
            summary = load_summary(store(), run)
            table = load_score_table(store(), run)
            held = FinishedCalibration(run, summary, table, load_read_sets(store(), run, settings().cache_bytes))
        st.session_state["calibration_finished"] = held
        st.session_state["calibration_kept"] = _found_by(summary)
        for name in ("k", "alpha", "rule"):  # each run begins at its own settings
            st.session_state.pop(f"calibration_{name}", None)
    return held


def calibrated(done: FinishedCalibration, k: float, rule: Rule) -> Calibrated:
    """Every score at this k. Raises `AuditError`."""
    read, words, said = done.read, done.summary.found.words, "Computing intervals …"
    if read is None:
        return done.summary.found
    seed = done.summary.found.seed
    first = _kept(("scores", rule), said, lambda: calibrate(read, words, k, rule=rule, seed=seed))
    return first if first.k == k else _kept(("scores", k, rule), said, lambda: at_k(read, first, k))


def calibration_of(done: FinishedCalibration, found: Calibrated, method: str, name: str) -> Calibration:
    """One score's calibration, as it can be saved. Raises `AuditError`."""
    if done.read is None:
        return replace(load_calibration(store(), done.run, method), name=name)
    return keep(done.read, found, method, name, done.run.created)


def sweep(done: FinishedCalibration, name: str) -> KSweep | None:
    """How one score of the Min-K family depends on k; None where that cannot be had. Raises `AuditError`."""
    read = done.read
    if read is None:
        return done.summary.sweeps.get(name)
    seed = done.summary.found.seed
    return _kept(("sweep", name), "Trying other values of k …", lambda: k_sweep(read, name, seed))


def nulls(done: FinishedCalibration, found: Calibrated, name: str) -> NullRuns:
    """The runs that must find nothing. Raises `AuditError`."""
    read = done.read
    if read is None:
        return done.summary.nulls[name]
    return _kept(
        ("nulls", name, found.k, found.alpha),
        "Running both …",
        lambda: null_runs(read, found.words, found.methods[name], found.alpha, found.seed),
    )


def by_length(done: FinishedCalibration, method: MethodResult, k: float) -> list[LengthClass]:
    """AUC among texts of about one length."""
    read = done.read
    if read is None:
        return list(done.summary.length_classes.get(method.name, ()))
    seed = done.summary.found.seed
    return _kept(("lengths", method.name, k), "Comparing lengths …", lambda: length_classes(read, method.scores, seed))


def _found_by(summary: CalibrationSummary) -> dict[tuple[object, ...], object]:
    """What a run has computed, as `_kept` keeps it: none of it is computed again."""
    found = summary.found
    kept: dict[tuple[object, ...], object] = {("scores", found.rule): found}
    kept |= {("sweep", name): value for name, value in summary.sweeps.items()}
    kept |= {("nulls", name, found.k, found.alpha): value for name, value in summary.nulls.items()}
    kept |= {("lengths", name, found.k): list(value) for name, value in summary.length_classes.items()}
    return kept


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


def _expected(sets: LabelledSets) -> str:
    model = loaded_current()
    if model is None or not model.tokens_per_second:
        return ""
    try:
        n_tokens = _expected_tokens(model.identity.tokenizer_sha256, sets.digest, model, sets)
    except AuditError:
        return ""
    return f": about {duration(2 * n_tokens / model.tokens_per_second)} on this machine" if n_tokens else ""


@st.cache_data(show_spinner=False, max_entries=20)
def _expected_tokens(tokenizer: str, digest: str, _model: RemoteModel, _sets: LabelledSets) -> float:
    """Tokens of all texts, told from some of them."""
    step = max(1, len(_sets.texts) // SAMPLED)
    counted = [n for n in _model.lengths(_sets.texts[::step]) if n is not None]
    return len(_sets.texts) * sum(counted) / len(counted) if counted else 0.0
