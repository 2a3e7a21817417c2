"""A calibration to hand over: the report as HTML and PDF, and the evidence package."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime

import streamlit as st

from auditlib.audits.calibration import K_SCORES, Calibrated, KSweep
from auditlib.audits.sets import ReadSets
from auditlib.core import AuditError
from auditlib.jobs import calibration_parameters
from auditlib.models.request import AUTO
from auditlib.reports.calibration import calibration_report
from auditlib.reports.calibration_facts import facts_of
from auditlib.reports.calibration_package import calibration_evidence
from auditlib.reports.html import to_html
from auditlib.reports.package import make_package
from auditlib.ui import calibration_run
from auditlib.ui.calibration_run import FinishedCalibration
from auditlib.ui.messages import as_text, show_error

KEPT = "calibration_report"


def report_and_package(done: FinishedCalibration, found: Calibrated, method: str) -> None:
    """Makes both on demand, and offers them as long as nothing above has changed."""
    st.subheader("Hand it over")
    read = done.read
    if read is None:
        st.caption("A report needs the texts and readings of this run, which were deleted since. Duplicate the run.")
        return
    who, texts, make = st.columns([2, 2, 1], vertical_alignment="bottom")
    by = who.text_input(
        "Who ran it (stands on the report)", max_chars=200, value=done.run.who, key=f"report_by_{done.run.id}"
    )
    with_texts = texts.checkbox("Put the texts themselves into the package", key="report_texts")
    key = (done.run.id, found.k, found.alpha, found.rule, method, by, with_texts)
    if make.button("Make the report", icon=":material/description:", width="stretch"):
        with st.spinner("Writing the report, and printing it …"):
            try:
                st.session_state[KEPT] = (key, *_made(done, read, found, method, by, with_texts))
            except AuditError as error:
                show_error(error)
    kept = st.session_state.get(KEPT)
    if kept is None or kept[0] != key:
        st.caption("A report for people who were not here, and a package with every number that lets others check it.")
        return
    _, html, package, why = kept
    left, right = st.columns(2)
    left.download_button(
        "Report (HTML)",
        html,
        file_name="calibration-report.html",
        mime="text/html",
        icon=":material/description:",
        on_click="ignore",
        width="stretch",
    )
    right.download_button(
        "Evidence package (zip, with the PDF)" if not why else "Evidence package (zip)",
        package,
        file_name="calibration-evidence.zip",
        mime="application/zip",
        icon=":material/folder_zip:",
        on_click="ignore",
        width="stretch",
    )
    if why:
        st.caption(f"There is no PDF: {as_text(why)}")


def _made(
    done: FinishedCalibration, read: ReadSets, found: Calibrated, method: str, by: str, with_texts: bool
) -> tuple[str, bytes, str]:
    facts = facts_of(
        read,
        found,
        method,
        name=done.run.name,
        made=datetime.now(UTC),
        by=by,
        command=_command(done, found, method),
        sweep=_sweep(done, method),
        nulls=calibration_run.nulls(done, found, method),
        length_classes=tuple(calibration_run.by_length(done, found.methods[method], found.k)),
    )
    package = make_package(calibration_evidence(facts, read, with_texts))
    return to_html(calibration_report(facts)), package.data, package.without_pdf


def _sweep(done: FinishedCalibration, method: str) -> KSweep | None:
    if method not in K_SCORES:
        return None
    try:
        return calibration_run.sweep(done, method)
    except AuditError:
        return None  # too few texts to choose k on one half; the report goes without


def _command(done: FinishedCalibration, found: Calibrated, method: str) -> str:
    """What repeats this from a shell, once both sets lie in two folders."""
    parameters = calibration_parameters(done.run.parameters)
    request = parameters.model
    words = ["python", "-m", "auditlib", "calibrate", "--members", "MEMBERS", "--non-members", "NON-MEMBERS"]
    words += ["--model", request.source]
    for option, value, usual in (
        ("--adapter", request.adapter, None),
        ("--device", request.device, AUTO),
        ("--dtype", request.dtype, AUTO),
        ("--revision", request.revision, None),
    ):
        if value != usual and value is not None:
            words += [option, value]
    cutting = parameters.cutting
    if cutting.method != "whole":
        words += ["--cut", cutting.method, "--words", str(cutting.words)]
    if cutting.method == "sample":
        words += ["--snippets", str(cutting.count)]
    words += ["--score", method, "--k", f"{found.k:g}", "--alpha", f"{found.alpha:g}", "--rule", str(found.rule)]
    return shlex.join([*words, "--seed", str(found.seed)])
