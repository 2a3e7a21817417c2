"""A calibration to hand over: the report as HTML and PDF, and the evidence package."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime

import streamlit as st

from auditlib.audits.calibration import K_SCORES, Calibrated, KSweep
from auditlib.audits.sets import ReadSets
from auditlib.core import AuditError
from auditlib.documents.cutting import Cutting
from auditlib.models.request import AUTO, ModelRequest
from auditlib.reports.calibration import calibration_report
from auditlib.reports.calibration_facts import facts_of
from auditlib.reports.calibration_package import calibration_evidence
from auditlib.reports.html import to_html
from auditlib.reports.package import make_package
from auditlib.ui import calibration_run
from auditlib.ui.messages import as_text, show_error

KEPT = "calibration_report"


def report_and_package(read: ReadSets, found: Calibrated, method: str) -> None:
    """Makes both on demand, and offers them as long as nothing above has changed."""
    st.subheader("Hand it over")
    who, texts, make = st.columns([2, 2, 1], vertical_alignment="bottom")
    by = who.text_input("Who ran it (stands on the report)", max_chars=200, key="report_by")
    with_texts = texts.checkbox("Put the texts themselves into the package", key="report_texts")
    key = (read.sets.digest, read.identity.digest, found.k, found.alpha, found.rule, method, by, with_texts)
    if make.button("Make the report", icon=":material/description:", width="stretch"):
        with st.spinner("Writing the report, and printing it …"):
            try:
                st.session_state[KEPT] = (key, *_made(read, found, method, by, with_texts))
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


def _made(read: ReadSets, found: Calibrated, method: str, by: str, with_texts: bool) -> tuple[str, bytes, str]:
    facts = facts_of(
        read,
        found,
        method,
        name=f"Calibration of {read.identity.name}",
        made=datetime.now(UTC),
        by=by,
        command=_command(found, method),
        sweep=_sweep(read, method),
        nulls=calibration_run.nulls(read, found, method),
        length_classes=tuple(calibration_run.by_length(read, found.methods[method], found.k)),
    )
    package = make_package(calibration_evidence(facts, read, with_texts))
    return to_html(calibration_report(facts)), package.data, package.without_pdf


def _sweep(read: ReadSets, method: str) -> KSweep | None:
    if method not in K_SCORES:
        return None
    try:
        return calibration_run.sweep(read, method)
    except AuditError:
        return None  # too few texts to choose k on one half; the report goes without


def _command(found: Calibrated, method: str) -> str:
    """What repeats this from a shell, once both sets lie in two folders."""
    request: ModelRequest = st.session_state.get("calibration_request", ModelRequest())
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
    cutting: Cutting = st.session_state.get("calibration_cutting", Cutting())
    if cutting.method != "whole":
        words += ["--cut", cutting.method, "--words", str(cutting.words)]
    if cutting.method == "sample":
        words += ["--snippets", str(cutting.count)]
    words += ["--score", method, "--k", f"{found.k:g}", "--alpha", f"{found.alpha:g}", "--rule", str(found.rule)]
    return shlex.join([*words, "--seed", str(found.seed)])
