"""The evidence package of a calibration, out of the same facts as its report."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pandas as pd

from auditlib.audits.calibration import Calibrated
from auditlib.audits.saved_calibration import keep, to_json
from auditlib.audits.sets import LabelledSets, ReadSets, score_table
from auditlib.core import ModelIdentity
from auditlib.models.request import BUNDLED
from auditlib.reports.calibration import calibration_report
from auditlib.reports.calibration_facts import CalibrationFacts, material_of
from auditlib.reports.package import Evidence, InputText

KIND = "calibration"


def calibration_evidence(facts: CalibrationFacts, read: ReadSets, with_texts: bool = False) -> Evidence:
    """The package of a calibration that was just computed from `read`; the texts only `with_texts`."""
    inputs = material_of(read).inputs
    return evidence_of(
        facts,
        with_text(inputs, read.sets) if with_texts else inputs,
        score_table(read, facts.found.k),
        to_json(keep(read, facts.found, facts.chosen, facts.name, facts.made)),
    )


def evidence_of(
    facts: CalibrationFacts, inputs: Sequence[InputText], scores: pd.DataFrame, calibration: str
) -> Evidence:
    """All that goes into the package, out of what a run keeps: neither model nor texts are needed."""
    return Evidence(
        kind=KIND,
        report=calibration_report(facts),
        tables={"scores": scores},
        parameters=_parameters(facts),
        numbers=numbers_to_compare(facts.found),
        identities={"target": facts.model.as_dict()},
        inputs=inputs,
        seed=facts.found.seed,
        versions=facts.versions,
        command=facts.command,
        calibration=calibration,
        notes=facts.notes,
    )


def with_text(inputs: Sequence[InputText], sets: LabelledSets) -> list[InputText]:
    """`inputs` with their texts, which `sets` has in the same order."""
    return [replace(one, text=snippet.text) for one, snippet in zip(inputs, sets.snippets, strict=True)]


def rerun_command(model: ModelIdentity, adapter: str | None, texts: str) -> str:
    """What repeats a run from a shell, given its package. `adapter` is the adapter's folder, `texts` as `Preparation`.

    PACKAGE.zip and TEXTS stand for what only the reader knows: where the package lies, and where the texts do.
    """
    words = ["python", "-m", "auditlib", "rerun", "PACKAGE.zip"]
    if texts != "demo":
        words += ["--texts", "TEXTS"]
    if model.source != BUNDLED:
        words += ["--model", model.source]
    if adapter is not None:
        words += ["--adapter", adapter]
    return shlex.join(words)


def numbers_to_compare(found: Calibrated) -> dict[str, float | None]:
    """What two runs must agree in, by name: every score's separation and threshold, and that of the words alone."""
    numbers: dict[str, float | None] = {"words_alone.auc": found.words.blind.auc.estimate}
    for name, method in found.methods.items():
        auc, rate = method.findings.auc, method.threshold
        numbers |= {
            f"{name}.auc": auc.estimate,
            f"{name}.auc_low": auc.low,
            f"{name}.auc_high": auc.high,
            f"{name}.p_corrected": method.findings.p_corrected,
            f"{name}.threshold": rate.threshold if rate else None,
            f"{name}.accuracy": rate.accuracy.estimate if rate else None,
            f"{name}.mean": float(method.scores.mean()),
        }
    return numbers


def _parameters(facts: CalibrationFacts) -> dict[str, Any]:
    members, others = facts.sets
    prepared = {} if facts.preparation is None else {"preparation": asdict(facts.preparation)}
    run = {"run": facts.run} if facts.run else {}
    return {
        "name": facts.name,
        "score": facts.chosen,
        "k": float(facts.found.k),
        "alpha": float(facts.found.alpha),
        "rule": facts.found.rule,
        "seed": facts.found.seed,
        "scores": list(facts.found.methods),
        "members_sha256": members.sha256,
        "non_members_sha256": others.sha256,
        **prepared,
        **run,
    }
