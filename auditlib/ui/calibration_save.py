"""Keeping a calibration under a name, carrying it away as a file, and bringing one back."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pandas as pd
import streamlit as st

from auditlib.audits.calibration import Calibrated
from auditlib.audits.saved_calibration import Calibration, from_json, to_json
from auditlib.core import AuditError
from auditlib.scoring import SCORES
from auditlib.ui.calibration_run import FinishedCalibration, calibration_of
from auditlib.ui.library import calibrations
from auditlib.ui.messages import as_text, show_error


def save_and_export(done: FinishedCalibration, found: Calibrated, method: str) -> None:
    """A name, a button that saves and one that exports."""
    st.subheader("Keep this calibration")
    name_field, save, export = st.columns([3, 1, 1], vertical_alignment="bottom")
    suggested = f"{done.summary.model.name}, {SCORES[method].label}"
    name = name_field.text_input("Name", value=suggested, max_chars=200, key=f"calibration_name_{method}")
    try:
        calibration = calibration_of(done, found, method, name)
    except AuditError as error:
        show_error(error)
        return
    if save.button("Save", icon=":material/bookmark_add:", width="stretch"):
        try:
            calibrations().save(calibration.name, json.loads(to_json(calibration)), datetime.now(UTC))
            st.success(
                f"Saved as “{as_text(calibration.name)}”. The Inspect page can now say where a text stands.",
                icon=":material/check:",
            )
        except AuditError as error:
            show_error(error)
    export.download_button(
        "Export",
        lambda: to_json(calibration),
        file_name="calibration.json",
        mime="application/json",
        icon=":material/download:",
        on_click="ignore",
        width="stretch",
    )


def saved_calibrations() -> dict[str, Calibration]:
    """Those of this workspace by name; damaged ones are said and left out. Raises `AuditError`."""
    found = {}
    for stored in calibrations().all():
        try:
            found[stored.name] = _opened(stored.name, json.dumps(stored.value))
        except AuditError as error:
            show_error(error)
    return found


@st.cache_data(show_spinner=False, max_entries=20)
def _opened(name: str, text: str) -> Calibration:
    """Checked once and not at every move of a slider."""
    return from_json(text, f"The calibration “{name}”")


def shelf_of_calibrations() -> None:
    """The saved ones as a table, with delete; and import from a file."""
    try:
        found = saved_calibrations()
        if found:
            st.dataframe(
                pd.DataFrame(
                    [
                        {
                            "Name": name,
                            "Model": c.model.name,
                            "Score": SCORES[c.score].label,
                            "k": c.k,
                            "Members": len(c.members),
                            "Non-members": len(c.non_members),
                            "AUC": round(c.auc.estimate, 3),
                            "Verdict": c.verdict,
                            "Made": c.created[:16].replace("T", " "),
                        }
                        for name, c in found.items()
                    ]
                ),
                hide_index=True,
            )
            choice, delete = st.columns([3, 1], vertical_alignment="bottom")
            chosen = choice.selectbox("One of them", list(found), key="calibration_chosen")
            if delete.button("Delete", icon=":material/delete:", width="stretch"):
                calibrations().delete(chosen)
                st.rerun()
        else:
            st.caption("None is saved yet.")
        _import()
    except AuditError as error:
        show_error(error)


def _import() -> None:
    file = st.file_uploader("Import a calibration (JSON)", key="calibration_import")
    if file is None or st.session_state.get("calibration_imported") == file.file_id:
        return
    st.session_state["calibration_imported"] = file.file_id
    calibration = from_json(file.getvalue(), file.name)
    calibrations().save(calibration.name, json.loads(to_json(calibration)), datetime.now(UTC))
    st.toast(f"Imported “{as_text(calibration.name)}”.", icon=":material/check:")
    st.rerun()
