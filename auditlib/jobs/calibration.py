"""The first kind of run: a calibration, from its texts' names to its numbers, files and saved calibrations."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from contextlib import suppress

from auditlib.audits.calibration import (
    K_SCORES,
    KSweep,
    calibrate,
    examine_words,
    k_sweep,
    length_classes,
    null_runs,
)
from auditlib.audits.saved_calibration import keep, to_json
from auditlib.audits.sets import LabelledSets, ReadSets, read_sets, score_table
from auditlib.core import AuditError, Label, library_versions
from auditlib.jobs.cached_reading import text_key
from auditlib.jobs.calibration_files import (
    EXAMINED,
    SCORES_FILE,
    SUMMARY,
    CalibrationSummary,
    Examined,
    calibration_file,
)
from auditlib.jobs.calibration_report import run_evidence
from auditlib.jobs.calibration_texts import calibration_documents, calibration_parameters, cut_with_prefixes
from auditlib.jobs.companions import identities_of, opened_companions
from auditlib.jobs.kinds import RunContext, run_kind
from auditlib.jobs.plain import to_plain
from auditlib.reports.calibration_facts import Preparation, material_of

KIND = "calibration"


@run_kind(name=KIND, label="Calibration", check=calibration_parameters, evidence=run_evidence)
def execute_calibration(context: RunContext) -> str:
    """Texts, model, readings, numbers, files."""
    parameters = calibration_parameters(context.run.parameters)
    # Before the model: a document that is gone should not wait for gigabytes to be loaded.
    documents = calibration_documents(parameters, context.store, context.run)
    sets, prefixes = cut_with_prefixes(parameters, documents)
    model = context.open_model(parameters.model)
    asked = parameters.companions
    companions = opened_companions(context, asked, model, prefixes, parameters.seed)
    placebo = context.open_model(asked.placebo, "placebo") if asked.placebo is not None else None
    context.record(
        identities_of(model, companions, placebo),
        {snippet.id: text_key(snippet.text) for snippet in sets.snippets},
    )
    context.stage("reading")
    read = read_sets(model, sets, context.progress, companions, placebo)
    context.stage("computing")
    summary = _summary(read, parameters.k, parameters.alpha, parameters.rule, parameters.seed)
    context.stage("writing")
    for name in summary.found.methods:
        saved = keep(read, summary.found, name, context.run.name or KIND, context.run.created)
        context.put(calibration_file(name), "application/json", to_json(saved).encode())
    table = io.BytesIO()
    score_table(read, parameters.k).to_parquet(table, index=False)
    context.put(SCORES_FILE, "application/vnd.apache.parquet", table.getvalue())
    steps = tuple(sorted({document.steps for document in documents}))
    texts = "files" if parameters.texts == "brought" else parameters.texts
    prepared = Preparation(texts, parameters.cutting, steps, parameters.drop_shared)
    context.put(EXAMINED, "application/json", _json(Examined(material_of(read), prepared)))
    context.put(SUMMARY, "application/json", _json(summary))
    return SUMMARY


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
        sweeps=_sweeps(read, [name for name in K_SCORES if name in methods], seed),
        nulls={name: null_runs(read, words, method, alpha, seed) for name, method in methods.items()},
        length_classes={name: tuple(length_classes(read, m.scores, seed)) for name, m in methods.items()},
        versions=dict(library_versions()),
    )


def _sweeps(read: ReadSets, names: Sequence[str], seed: int) -> dict[str, KSweep]:
    """Those that there are: of too few works none can be had, and everything else still can."""
    sweeps = {}
    for name in names:
        with suppress(AuditError):
            sweeps[name] = k_sweep(read, name, seed)
    return sweeps


def _json(value: CalibrationSummary | Examined) -> bytes:
    return json.dumps(to_plain(value), indent=1, allow_nan=False).encode()
