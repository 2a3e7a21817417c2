"""Report and evidence package of a finished calibration, out of the files that the run kept.

They are made when somebody asks for them and not by the run: what they say is fixed by then (nothing in them depends on
the moment, and documents and cache may be gone), a run that reads nothing new stays quick, and 500 runs do not keep 500
copies of Plotly.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from auditlib.audits.calibration import Calibrated, KSweep, LengthClass, NullRuns
from auditlib.core import AuditError
from auditlib.jobs.calibration_files import (
    calibration_file,
    load_examined,
    load_score_table,
    load_summary,
)
from auditlib.jobs.calibration_texts import calibration_parameters, calibration_sets
from auditlib.reports.calibration_facts import CalibrationFacts
from auditlib.reports.calibration_package import evidence_of, rerun_command, with_text
from auditlib.reports.package import Evidence
from auditlib.store import Artifacts, Run, Store


@dataclass(frozen=True)
class ShownCalibration:
    """What a report is about: a run's findings, at its own settings or at those that were chosen on its page since.

    scores       one row a text
    calibration  of the score `chosen`, as JSON
    """

    found: Calibrated
    chosen: str
    sweep: KSweep | None
    nulls: NullRuns | None
    length_classes: tuple[LengthClass, ...]
    scores: pd.DataFrame
    calibration: str


def run_evidence(store: Store, run: Run, with_texts: bool = False) -> Evidence:
    """All that goes into report and package; the same for the same run, whenever it is asked for.

    Raises `AuditError` where a file of the run is gone or altered, and `with_texts` where a document is.
    """
    summary = load_summary(store, run)
    asked = calibration_parameters(run.parameters).score
    chosen = asked if asked in summary.found.methods else next(iter(summary.found.methods))
    shown = ShownCalibration(
        summary.found,
        chosen,
        summary.sweeps.get(chosen),
        summary.nulls.get(chosen),
        summary.length_classes.get(chosen, ()),
        load_score_table(store, run),
        Artifacts(store).read(run.id, calibration_file(chosen)).decode(),
    )
    return evidence_as_shown(store, run, shown, run.who, with_texts)


def evidence_as_shown(store: Store, run: Run, shown: ShownCalibration, by: str, with_texts: bool = False) -> Evidence:
    """The same at other settings. `by` is who stands on the report. Raises `AuditError` likewise."""
    parameters = calibration_parameters(run.parameters)
    summary, examined = load_summary(store, run), load_examined(store, run)
    inputs = examined.material.inputs
    if with_texts:
        sets = calibration_sets(parameters, store, run)
        if sets.digest != summary.sets_sha256:
            raise AuditError(
                "The texts are no longer those that the run examined.", "Make the package without the texts."
            )
        inputs = tuple(with_text(inputs, sets))
    facts = CalibrationFacts(
        name=run.name,
        model=summary.model,
        sets=examined.material.sets,
        works=examined.material.works,
        notes=summary.notes,
        is_member=examined.material.is_member,
        n_words=examined.material.n_words,
        found=shown.found,
        chosen=shown.chosen,
        made=run.created,
        by=by,
        command=rerun_command(summary.model, parameters.model.adapter, examined.preparation.texts),
        sweep=shown.sweep,
        nulls=shown.nulls,
        length_classes=shown.length_classes,
        preparation=examined.preparation,
        run=run.id,
        version=summary.versions["pretraining-audit"],
        versions=summary.versions,
    )
    return evidence_of(facts, inputs, shown.scores, shown.calibration)
