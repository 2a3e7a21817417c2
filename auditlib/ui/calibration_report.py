"""The report of a calibration as it stands on the page: at the k, score, rule and alpha that are chosen there."""

from __future__ import annotations

from auditlib.audits.calibration import K_SCORES, Calibrated, KSweep
from auditlib.audits.saved_calibration import to_json
from auditlib.audits.sets import score_table
from auditlib.core import AuditError
from auditlib.jobs import ShownCalibration, evidence_as_shown
from auditlib.reports.package import Package, make_package
from auditlib.ui import calibration_run
from auditlib.ui.calibration_run import FinishedCalibration
from auditlib.ui.handing_over import hand_over
from auditlib.ui.library import store


def report_and_package(done: FinishedCalibration, found: Calibrated, method: str) -> None:
    """Makes both on demand, and offers them as long as nothing above has changed."""

    def make(by: str, with_texts: bool) -> Package:
        shown = ShownCalibration(
            found,
            method,
            _sweep(done, method),
            calibration_run.nulls(done, found, method),
            tuple(calibration_run.by_length(done, found.methods[method], found.k)),
            done.table if done.read is None else score_table(done.read, found.k),
            to_json(calibration_run.calibration_of(done, found, method, done.run.name)),
        )
        return make_package(evidence_as_shown(store(), done.run, shown, by, with_texts))

    hand_over(done.run, (found.k, found.alpha, found.rule, method), make)


def _sweep(done: FinishedCalibration, method: str) -> KSweep | None:
    if method not in K_SCORES:
        return None
    try:
        return calibration_run.sweep(done, method)
    except AuditError:
        return None  # too few texts to choose k on one half; the report goes without
