"""Report and evidence package of a finished calibration, out of the files that the run kept.

They are made when somebody asks for them and not by the run: what they say is fixed by then (nothing in them depends on
the moment, and documents and cache may be gone), a run that reads nothing new stays quick, and 500 runs do not keep 500
copies of Plotly.
"""

from __future__ import annotations

from auditlib.core import AuditError
from auditlib.jobs.calibration_files import (
    CalibrationSummary,
    calibration_file,
    load_examined,
    load_score_table,
    load_summary,
)
from auditlib.jobs.calibration_texts import CalibrationParameters, calibration_parameters, calibration_sets
from auditlib.reports.calibration_facts import CalibrationFacts, Material, Preparation
from auditlib.reports.calibration_package import evidence_of, rerun_command, with_text
from auditlib.reports.package import Evidence
from auditlib.store import Artifacts, Run, Store


def run_evidence(store: Store, run: Run, with_texts: bool = False) -> Evidence:
    """All that goes into report and package; the same for the same run, whenever it is asked for.

    Raises `AuditError` where a file of the run is gone or altered, and `with_texts` where a document is.
    """
    parameters = calibration_parameters(run.parameters)
    summary, examined = load_summary(store, run), load_examined(store, run)
    facts = _facts(run, parameters, summary, examined.material, examined.preparation)
    inputs = examined.material.inputs
    if with_texts:
        sets = calibration_sets(parameters, store, run)
        if sets.digest != summary.sets_sha256:
            raise AuditError(
                "The texts are no longer those that the run examined.", "Make the package without the texts."
            )
        inputs = tuple(with_text(inputs, sets))
    calibration = Artifacts(store).read(run.id, calibration_file(facts.chosen)).decode()
    return evidence_of(facts, inputs, load_score_table(store, run), calibration)


def _facts(
    run: Run,
    parameters: CalibrationParameters,
    summary: CalibrationSummary,
    material: Material,
    preparation: Preparation,
) -> CalibrationFacts:
    chosen = parameters.score if parameters.score in summary.found.methods else next(iter(summary.found.methods))
    return CalibrationFacts(
        name=run.name,
        model=summary.model,
        sets=material.sets,
        works=material.works,
        notes=summary.notes,
        is_member=material.is_member,
        n_words=material.n_words,
        found=summary.found,
        chosen=chosen,
        made=run.created,
        by=run.who,
        command=rerun_command(summary.model, parameters.model.adapter, preparation.texts),
        sweep=summary.sweeps.get(chosen),
        nulls=summary.nulls.get(chosen),
        length_classes=summary.length_classes.get(chosen, ()),
        preparation=preparation,
        run=run.id,
        version=summary.versions["pretraining-audit"],
        versions=summary.versions,
    )
