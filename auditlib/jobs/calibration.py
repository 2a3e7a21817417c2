"""The first kind of run: a calibration, from its texts' names to its numbers, files and saved calibrations."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass

import pandas as pd

from auditlib.audits.calibration import (
    K_SCORES,
    Calibrated,
    KSweep,
    LengthClass,
    NullRuns,
    calibrate,
    examine_words,
    k_sweep,
    length_classes,
    null_runs,
)
from auditlib.audits.saved_calibration import Calibration, from_json, keep, to_json
from auditlib.audits.sets import LabelledSets, ReadSets, read_sets, score_table
from auditlib.core import AuditError, Capability, Label, ModelIdentity, library_versions
from auditlib.jobs.cached_reading import text_key
from auditlib.jobs.calibration_texts import calibration_parameters, calibration_sets
from auditlib.jobs.executing import kept_plan
from auditlib.jobs.kinds import RunContext, run_kind
from auditlib.jobs.plain import from_plain, to_plain
from auditlib.scoring import Reading
from auditlib.store import Artifacts, Run, Store, TokenCache

KIND = "calibration"
SUMMARY = "summary.json"
SCORES_FILE = "scores.parquet"
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


@run_kind(name=KIND, label="Calibration", check=calibration_parameters)
def execute_calibration(context: RunContext) -> str:
    """Texts, model, readings, numbers, files."""
    parameters = calibration_parameters(context.run.parameters)
    # Before the model: a document that is gone should not wait for gigabytes to be loaded.
    sets = calibration_sets(parameters, context.store, context.run)
    model = context.open_model(parameters.model)
    context.record(
        {"target": model.identity.as_dict()},
        {snippet.id: text_key(snippet.text) for snippet in sets.snippets},
    )
    context.stage("reading")
    read = read_sets(model, sets, context.progress)
    context.stage("computing")
    summary = _summary(read, parameters.k, parameters.alpha, parameters.rule, parameters.seed)
    context.stage("writing")
    for name in summary.found.methods:
        saved = keep(read, summary.found, name, context.run.name or KIND, context.run.created)
        context.put(calibration_file(name), "application/json", to_json(saved).encode())
    table = io.BytesIO()
    score_table(read, parameters.k).to_parquet(table, index=False)
    context.put(SCORES_FILE, "application/vnd.apache.parquet", table.getvalue())
    context.put(SUMMARY, "application/json", json.dumps(to_plain(summary), indent=1, allow_nan=False).encode())
    return SUMMARY


def calibration_file(score: str) -> str:
    """Name of the file that holds one score's calibration."""
    return f"calibration-{score}.json"


def load_summary(store: Store, run: Run) -> CalibrationSummary:
    """What a finished run found. Raises `AuditError` where its file is gone, altered, or of another version."""
    data = Artifacts(store).read(run.id, SUMMARY)
    try:
        return from_plain(CalibrationSummary, json.loads(data))
    except ValueError as error:
        raise AuditError(
            f"The result of this run was written by another version of the program ({str(error)[:100]}).",
            "Duplicate the run: its texts are not read again as long as the cache holds them.",
        ) from error


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
    readings = tuple(
        Reading(s.text, found[text_key(s.text)], lowercased=found.get(text_key(s.text.lower()))) for s in sets.snippets
    )
    return ReadSets(sets, readings, identity, frozenset(summary.capabilities))


def _summary(read: ReadSets, k: float, alpha: float, rule: float | str, seed: int) -> CalibrationSummary:
    sets: LabelledSets = read.sets
    words = examine_words(sets, seed)
    found = calibrate(read, words, k, alpha, rule, seed=seed)  # type: ignore[arg-type]
    methods = found.methods
    return CalibrationSummary(
        model=read.identity,
        capabilities=tuple(sorted(read.capabilities)),
        sets_sha256=sets.digest,
        members_sha256=sets.digest_of(Label.MEMBER),
        non_members_sha256=sets.digest_of(Label.NON_MEMBER),
        notes=sets.notes,
        found=found,
        sweeps={name: k_sweep(read, name, seed) for name in K_SCORES if name in methods},
        nulls={name: null_runs(read, words, method, alpha, seed) for name, method in methods.items()},
        length_classes={name: tuple(length_classes(read, m.scores, seed)) for name, m in methods.items()},
        versions=dict(library_versions()),
    )
