"""What the Runs page asks before it does something: a name, what a copy is to have otherwise, whether to delete."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from auditlib.core import AuditError
from auditlib.store import Run, RunLine
from auditlib.ui.messages import as_text, one_line, show_error, some
from auditlib.ui.run_views import VIEWS
from auditlib.ui.runs import jobs
from auditlib.ui.runs_table import pick

LONGEST_NAME = 200
MOST_NAMED = 10  # runs in a question


@st.dialog("Rename the run")
def rename_dialog(run: Run) -> None:
    """Another name; nothing else changes."""
    name = st.text_input("Name", one_line(run.name)[:LONGEST_NAME], max_chars=LONGEST_NAME, key=f"rename_{run.id}")
    if st.button("Rename", type="primary", disabled=not name.strip()):
        try:
            jobs().rename(run.id, name.strip())
        except AuditError as error:
            show_error(error)
            return
        st.rerun()


@st.dialog("Duplicate with changes", width="medium")
def duplicate_dialog(run: Run) -> None:
    """A new run like this one, but for what is changed here."""
    st.markdown("A new run on the same texts. What the cache still holds of them is not read again.")
    name, who = st.columns(2)
    copy = name.text_input(
        "Name", f"{one_line(run.name)} (copy)"[-LONGEST_NAME:], max_chars=LONGEST_NAME, key=f"copy_name_{run.id}"
    )
    asks = who.text_input("Who runs it", one_line(run.who)[:LONGEST_NAME], max_chars=LONGEST_NAME, key=f"who_{run.id}")
    try:
        changes = VIEWS[run.kind].changes(run)
        if not st.button("Start the copy", type="primary", icon=":material/play_arrow:"):
            return
        made = jobs().duplicate(run.id, changes, copy.strip(), asks.strip())
    except AuditError as error:
        show_error(error)
        return
    pick((made.id,))
    st.rerun()


@st.dialog("Delete for good?")
def delete_dialog(runs: Sequence[Run | RunLine]) -> None:
    """Asks once, with names."""
    st.markdown("\n".join(f"- {as_text(run.name) or '(no name)'}" for run in runs[:MOST_NAMED]))
    if len(runs) > MOST_NAMED:
        st.markdown(f"… and {len(runs) - MOST_NAMED:,} more")
    st.markdown("Results and files go too. Saved calibrations and the cache stay.")
    if st.button(f"Delete {some(len(runs), 'run')}", type="primary", icon=":material/delete:"):
        try:
            stayed = [run for run in runs if not jobs().delete(run.id)]
        except AuditError as error:
            show_error(error)
            return
        pick(tuple(run.id for run in stayed))
        st.session_state["runs_said"] = _deleted(len(runs) - len(stayed), len(stayed))
        st.rerun()


def _deleted(n: int, stayed: int) -> str:
    said = f"{some(n, 'run')} deleted."
    return said if not stayed else f"{said} {some(stayed, 'run')} went on meanwhile and stayed; cancel first."
