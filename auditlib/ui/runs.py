"""Runs as pages start and watch them; what a finished run found is shown by the page of its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import streamlit as st

from auditlib.core import AuditError, settings
from auditlib.jobs import JobClient, WorkerState
from auditlib.jobs.plain import from_plain
from auditlib.jobs.sending import Reads
from auditlib.models.request import ModelRequest
from auditlib.store import FINISHED, UNFINISHED, Run, RunProgress, RunState
from auditlib.ui.library import store
from auditlib.ui.messages import as_text, duration, show_error
from auditlib.ui.served import models_in, sending_notice

POLL_SECONDS = 1.0
LINK = "run"  # ?run=... opens a run again


def jobs() -> JobClient:
    """The workspace's runs, and the worker. Raises `AuditError` where the data folder cannot be used."""
    return JobClient(store(), settings())


def start_form(
    kind: str,
    name: str,
    parameters: Callable[[], object],
    said: str,
    label: str,
    files: Callable[[], Mapping[str, bytes]] = dict,
    reads: Callable[[], Reads] | None = None,
) -> None:
    """A name, who asks, and the button that starts a run of `kind`; the page then shows that run.

    `parameters`, and `files` that the run brings, are asked for when the button was clicked, and may raise
    `AuditError`; `parameters` also before, for the models that are in them. `said` stands below: what will be read, and
    how long it takes. `reads` gives every text with how often the model will read it, for the estimate of what a server
    is sent; where the texts go is said in any case.
    """
    name_field, who_field, button = st.columns([3, 2, 1], vertical_alignment="bottom")
    chosen = name_field.text_input("Name of the run", placeholder=name, max_chars=200, key=f"{kind}_run_name")
    who = who_field.text_input("Who runs it", max_chars=200, key=f"{kind}_run_who", placeholder="stands on the report")
    clicked = button.button(label, type="primary", icon=":material/play_arrow:", width="stretch")
    st.caption(said)
    with suppress(AuditError):  # what cannot be started is said when somebody starts it
        for model in models_in(parameters()):
            sending_notice(jobs(), model, reads)
    if clicked:
        try:
            run = jobs().start(kind, chosen.strip() or name, parameters(), who.strip(), files())
        except AuditError as error:
            show_error(error)
            return
        choose_run(kind, run.id)
        st.rerun()


def choose_run(kind: str, run_id: str) -> None:
    """The page of `kind` shows this run from now on."""
    st.session_state[f"{kind}_run"] = run_id
    st.query_params[LINK] = run_id


def chosen_run(kind: str) -> Run | None:
    """The run that the page of `kind` shows: the one of its address, or the one that was looked at last."""
    run_id = st.query_params.get(LINK) or st.session_state.get(f"{kind}_run")
    if not run_id:
        return None
    try:
        run = jobs().run(run_id)
    except AuditError as error:
        show_error(error)
        run = None
    if run is not None and run.kind != kind:
        st.info("The run of this address is of another kind. It opens from the Runs page.", icon=":material/history:")
        run = None
    if run is None:
        forget_run(kind)
        return None
    is_new_here = st.session_state.get(f"{kind}_run") != run.id
    choose_run(kind, run.id)
    if is_new_here:
        _take_model(run)
    return run


def forget_run(kind: str) -> None:
    """The page of `kind` shows no run."""
    st.session_state.pop(f"{kind}_run", None)
    st.query_params.pop(LINK, None)


def _take_model(run: Run) -> None:
    """Who opens a run by its link, or draws its page anew, finds its model chosen; the side bar follows by itself."""
    try:
        request = from_plain(ModelRequest, run.parameters["model"])
    except (KeyError, ValueError):
        return  # of another version, whose page then says so
    st.session_state["model_request"] = request


def run_state(run: Run) -> None:
    """Where an unfinished, failed or cancelled run is, followed while it is under way; a done one says nothing."""
    if run.state in UNFINISHED:
        _followed(run.id)
    elif run.state is not RunState.DONE:
        _ended(run)


def worker_state() -> WorkerState:
    """Whether a worker is there, asked now."""
    try:
        return jobs().worker_state()
    except AuditError as error:
        return WorkerState(False, str(error))


def worker_missing(state: WorkerState) -> None:
    """Says how to start a worker, where none is there."""
    if not state.is_there:
        st.warning(as_text(state.said), icon=":material/power_off:")


def progress_line(run: Run) -> str:
    """Stage, done and total, rate and time left in a line, for an unfinished run."""
    if run.state is RunState.QUEUED:
        return "Waiting for its turn"
    at = run.progress
    if at is None or not at.stage:
        return "Starting"
    return _said(at)


def _said(at: RunProgress) -> str:
    line = at.stage[0].upper() + at.stage[1:]
    if at.total:
        line += f": {at.done:,} of {at.total:,} tokens" if at.stage == "reading" else f": {at.done:,} of {at.total:,}"
    if at.per_second:
        line += f" · {at.per_second:,.0f} a second"
    if at.seconds_left is not None and at.done < at.total:
        line += f" · about {duration(at.seconds_left)} left in this stage"
    return line


@st.fragment(run_every=POLL_SECONDS)
def watch(run_id: str) -> None:
    """How far an unfinished run is, looked at every second; the page is drawn anew when it has ended."""
    _progress(run_id)


@st.fragment(run_every=POLL_SECONDS)
def _followed(run_id: str) -> None:
    with st.container(border=True):
        _progress(run_id)
        words, button = st.columns([4, 1], vertical_alignment="center")
        words.caption("This goes on when the page is closed; its address brings you back here, and so does Runs.")
        if button.button("Cancel", icon=":material/cancel:", key=f"cancel_{run_id}", width="stretch"):
            try:
                jobs().cancel(run_id)
            except AuditError as error:
                show_error(error)
                return
            st.rerun()


def _progress(run_id: str) -> None:
    try:
        run = jobs().run(run_id)
    except AuditError as error:
        show_error(error)
        return
    if run.state in FINISHED:
        st.rerun()
    at = run.progress
    share = at.done / at.total if run.state is RunState.RUNNING and at is not None and at.total else 0.0
    st.progress(min(1.0, max(0.0, share)), text=as_text(progress_line(run)))
    worker_missing(worker_state())


def _ended(run: Run) -> None:
    with st.container(border=True):
        if run.state is RunState.FAILED:
            st.error(as_text(run.problem or "This run failed."), icon=":material/error:")
        else:
            st.info("This run was cancelled. What it has read is kept.", icon=":material/cancel:")
        if st.button("Resume", icon=":material/resume:", key=f"resume_{run.id}"):
            try:
                jobs().resume(run.id)
            except AuditError as error:
                show_error(error)
                return
            st.rerun()
