"""One run: where it is, what can be done with it, what it was asked for and made with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import pandas as pd
import streamlit as st

from auditlib.core import AuditError
from auditlib.store import FINISHED, UNFINISHED, Run, RunState
from auditlib.ui.messages import as_text, duration, show_error
from auditlib.ui.run_views import VIEWS, identity_words, words_of
from auditlib.ui.runs import LINK, jobs, watch
from auditlib.ui.runs_dialogs import delete_dialog, duplicate_dialog, rename_dialog
from auditlib.ui.runs_table import kind_label
from auditlib.ui.times import moment, zone_of_reader

STATES = {
    RunState.QUEUED: ":gray-badge[:material/hourglass_empty: queued]",
    RunState.RUNNING: ":blue-badge[:material/directions_run: running]",
    RunState.DONE: ":blue-badge[:material/check: done]",
    RunState.FAILED: ":orange-badge[:material/error: failed]",
    RunState.CANCELLED: ":gray-badge[:material/cancel: cancelled]",
}


def one_run(run_id: str) -> None:
    """All of one run but its results, which the page of its kind shows."""
    try:
        run = jobs().run(run_id)
        st.subheader(as_text(run.name) or "(no name)")
        st.markdown(f"{STATES[run.state]} {as_text(kind_label(run.kind))} · {_times(run)}")
        with st.container():  # its own place, or the buttons move when a run ends, and stand there twice for a moment
            _said_of(run)
        _buttons(run)
        left, right = st.columns(2)
        with left:
            st.markdown("**What was asked for**")
            _facts(_words(run))
        with right:
            st.markdown("**What it was made with**")
            _facts(_made_with(run))
    except AuditError as error:
        show_error(error)


def _said_of(run: Run) -> None:
    if run.state in UNFINISHED:
        watch(run.id)
    elif run.state is RunState.FAILED:
        st.error(as_text(run.problem or "This run failed."), icon=":material/error:")
    elif run.state is RunState.CANCELLED:
        st.info("This run was cancelled. What it has read is kept, and Resume goes on from there.")
    for note in jobs().notes(run.id):
        st.warning(as_text(note), icon=":material/build:")


def _buttons(run: Run) -> None:
    view = VIEWS.get(run.kind)
    with st.container(horizontal=True):
        if st.button("Open", type="primary", icon=":material/open_in_new:", disabled=view is None or not _done(run)):
            st.switch_page(VIEWS[run.kind].page, query_params={LINK: run.id})
        if st.button("Cancel", icon=":material/cancel:", disabled=run.state not in UNFINISHED):
            _do(jobs().cancel, run, "It had ended already.")
        can_go_on = run.state in (RunState.FAILED, RunState.CANCELLED)
        if st.button("Resume", icon=":material/resume:", disabled=not can_go_on):
            _do(jobs().resume, run, "It was going on already.")
        if st.button("Duplicate", icon=":material/content_copy:", disabled=view is None):
            duplicate_dialog(run)
        if st.button("Rename", icon=":material/edit:"):
            rename_dialog(run)
        if st.button("Delete", icon=":material/delete:", disabled=run.state not in FINISHED):
            delete_dialog([run])
    if view is None:
        st.caption("There is no page for runs of this kind here, so they can be neither opened nor duplicated.")


def _do(action: Callable[[str], bool], run: Run, said_otherwise: str) -> None:
    """`action`, and the page anew; somebody else may have been faster, which is said."""
    if not action(run.id):
        st.session_state["runs_said"] = said_otherwise
    st.rerun()


def _done(run: Run) -> bool:
    return run.state is RunState.DONE


def _times(run: Run) -> str:
    zone = zone_of_reader()
    said = f"created {moment(run.created, zone)}"
    if run.finished is not None and run.seconds is not None:
        return as_text(f"{said} · ended {moment(run.finished, zone)}") + f" · took {duration(run.seconds)}"
    if run.started is not None and run.state in UNFINISHED:
        took = max(0.0, (datetime.now(UTC) - run.started).total_seconds())
        return as_text(said) + f" · began {duration(took)} ago"
    return as_text(said)


def _words(run: Run) -> dict[str, str]:
    try:
        return words_of(run)
    except AuditError as error:
        return {"Parameters": f"{error.wrong} {error.remedy}"}


def _made_with(run: Run) -> dict[str, str]:
    facts = {"Run": run.id}
    if run.who:
        facts["Who"] = run.who
    facts["Seed"] = str(run.seed)
    n_inputs = len(jobs().inputs(run.id))
    facts["Texts examined"] = f"{n_inputs:,}" if n_inputs else "not opened yet"
    for part, identity in run.identities.items():
        facts |= identity_words(part, identity)
    if run.versions:
        facts["Versions"] = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    return facts


def _facts(facts: Mapping[str, str]) -> None:
    rows = {as_text(name): as_text(value) or "–" for name, value in facts.items()}
    st.table(pd.Series(rows, name="value").to_frame(), hide_header=True, border="horizontal")
