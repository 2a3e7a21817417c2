"""What a finished calibration keeps and how it is read again: numbers, tables, fingerprints, and none of the texts."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from auditlib.audits.calibration import Calibrated, KSweep, LengthClass, NullRuns
from auditlib.audits.saved_calibration import Calibration, from_json
from auditlib.audits.sets import LabelledSets, ReadSets
from auditlib.core import AuditError, Capability, ModelIdentity, TokenStats
from auditlib.jobs.cached_reading import text_key
from auditlib.jobs.calibration_texts import calibration_parameters, calibration_sets
from auditlib.jobs.executing import kept_plan
from auditlib.jobs.plain import from_plain
from auditlib.reports.calibration_facts import Material, Preparation
from auditlib.scoring import SCORES, Reading
from auditlib.store import Artifacts, Run, Store, TokenCache

SUMMARY = "summary.json"
SCORES_FILE = "scores.parquet"
EXAMINED = "examined.json"
FORMAT = 1


@dataclass(frozen=True)
class CalibrationSummary:
    """Everything a finished calibration shows, without its texts and without the model.

    notes            what was left out of the sets, and why
    sweeps, nulls, length_classes   by score, those that there are
    """

    model: ModelIdentity
    capabilities: tuple[Capability, ...]
    sets_sha256: str
    members_sha256: str
    non_members_sha256: str
    notes: tuple[str, ...]
    found: Calibrated
    sweeps: dict[str, KSweep]
    nulls: dict[str, NullRuns]
    length_classes: dict[str, tuple[LengthClass, ...]]
    versions: dict[str, str]
    format: int = FORMAT


@dataclass(frozen=True)
class Examined:
    """What the run examined: with the summary, all that its report says."""

    material: Material
    preparation: Preparation


def calibration_file(score: str) -> str:
    """Name of the file that holds one score's calibration."""
    return f"calibration-{score}.json"


def load_summary(store: Store, run: Run) -> CalibrationSummary:
    """What a finished run found. Raises `AuditError` where its file is gone, altered, or of another version."""
    data = Artifacts(store).read(run.id, SUMMARY)
    try:
        return from_plain(CalibrationSummary, json.loads(data))
    except ValueError as error:
        raise _of_another_version(error) from error


def load_examined(store: Store, run: Run) -> Examined:
    """What a finished run examined. Raises `AuditError` likewise."""
    try:
        return from_plain(Examined, json.loads(Artifacts(store).read(run.id, EXAMINED)))
    except ValueError as error:
        raise _of_another_version(error) from error


def load_score_table(store: Store, run: Run) -> pd.DataFrame:
    """One row a text. Raises `AuditError` where the file is gone or altered."""
    return pd.read_parquet(io.BytesIO(Artifacts(store).read(run.id, SCORES_FILE)))


def load_calibration(store: Store, run: Run, score: str) -> Calibration:
    """One score's calibration, as it can be saved under a name. Raises `AuditError` likewise."""
    name = calibration_file(score)
    return from_json(Artifacts(store).read(run.id, name), name)


def load_read_sets(store: Store, run: Run, cache_bytes: int) -> ReadSets | None:
    """Both sets as the model read them, out of documents and cache and without the model, for another k or rule.

    None where a document or a reading is gone; what the run found can still be shown then.
    """
    try:
        sets = calibration_sets(calibration_parameters(run.parameters), store, run)
        plan = kept_plan(Artifacts(store), run.id)
        identity = from_plain(ModelIdentity, run.identities["target"])
        summary = load_summary(store, run)
    except (AuditError, KeyError, ValueError):
        return None
    if plan is None or sets.digest != summary.sets_sha256:
        return None
    # A text that is too short in lower case was never read so, and then is not in the plan.
    found = TokenCache(store, cache_bytes).get(identity, plan.windowing, plan.texts)
    if len(found) < len(plan.texts):
        return None
    sets = replace(sets, notes=summary.notes)
    return ReadSets(
        sets,
        _readings(sets, found),
        identity,
        frozenset(summary.capabilities),
        _settled(load_score_table(store, run), sets),
        _placebo(store, run, sets, cache_bytes),
    )


def _readings(sets: LabelledSets, found: dict[str, TokenStats]) -> tuple[Reading, ...]:
    return tuple(
        Reading(s.text, found[text_key(s.text)], lowercased=found.get(text_key(s.text.lower()))) for s in sets.snippets
    )


def _settled(table: pd.DataFrame, sets: LabelledSets) -> dict[str, NDArray[np.float64]]:
    """The scores that needed more than the model reading the text: they have no k, and stay as they were found."""
    row_of = {snippet: row for row, snippet in enumerate(table["snippet"])}
    rows = [row_of[snippet.id] for snippet in sets.snippets]
    names = [name for name, score in SCORES.items() if score.needs_a_second_look and name in table]
    return {name: table[name].to_numpy(dtype=np.float64)[rows] for name in names}


def _placebo(store: Store, run: Run, sets: LabelledSets, cache_bytes: int) -> ReadSets | None:
    plan = kept_plan(Artifacts(store), run.id, "placebo")
    if plan is None or "placebo" not in run.identities:
        return None
    identity = from_plain(ModelIdentity, run.identities["placebo"])
    found = TokenCache(store, cache_bytes).get(identity, plan.windowing, plan.texts)
    if len(found) < len(plan.texts):
        return None
    readings = _readings(sets, found)
    full = all(reading.stats.variance is not None for reading in readings)
    given = {Capability.TOKEN_LOGPROBS} | ({Capability.FULL_DISTRIBUTION} if full else set())
    return ReadSets(sets, readings, identity, frozenset(given))


def _of_another_version(error: ValueError) -> AuditError:
    return AuditError(
        f"The result of this run was written by another version of the program ({str(error)[:100]}).",
        "Duplicate the run: its texts are not read again as long as the cache holds them.",
    )
