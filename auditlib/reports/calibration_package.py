"""The evidence package of a calibration, out of the same facts as its report."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from auditlib.audits.calibration import Calibrated
from auditlib.audits.saved_calibration import keep, to_json
from auditlib.audits.sets import ReadSets, score_table
from auditlib.reports.calibration import calibration_report
from auditlib.reports.calibration_facts import CalibrationFacts
from auditlib.reports.package import Evidence, InputText

KIND = "calibration"


def calibration_evidence(facts: CalibrationFacts, read: ReadSets, with_texts: bool = False) -> Evidence:
    """All that goes into the package; the texts only `with_texts`."""
    return Evidence(
        kind=KIND,
        report=calibration_report(facts),
        tables={"scores": score_table(read, facts.found.k)},
        parameters=_parameters(facts),
        numbers=numbers_to_compare(facts.found),
        identities={"target": facts.model.as_dict()},
        inputs=_inputs(read, with_texts),
        seed=facts.found.seed,
        versions=facts.versions,
        command=facts.command,
        calibration=to_json(keep(read, facts.found, facts.chosen, facts.name, facts.made)),
        notes=facts.notes,
    )


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
    }


def _inputs(read: ReadSets, with_texts: bool) -> list[InputText]:
    return [
        InputText(
            sha256=sha256(snippet.text.encode("utf-8", "replace")).hexdigest(),
            title=snippet.group,
            label=snippet.label.value,
            n_words=snippet.word_count,
            document=snippet.document_id,
            first_word=snippet.first_word,
            text=snippet.text if with_texts else None,
        )
        for snippet in read.sets.snippets
    ]
