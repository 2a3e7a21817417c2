"""What the worker has in its memory, what it does now, and the way to free a model's memory."""

from __future__ import annotations

import streamlit as st

from auditlib.core import AuditError
from auditlib.jobs import LoadedModel, WorkerState
from auditlib.ui.messages import as_text, show_error, size
from auditlib.ui.model_fields import model_words
from auditlib.ui.runs import jobs, worker_missing, worker_state

POLL_SECONDS = 3.0


@st.fragment(run_every=POLL_SECONDS)
def worker_memory() -> None:
    """Looked at every few seconds; where no worker is there, how to start one."""
    st.subheader("In the worker's memory")
    state = worker_state()
    if not state.is_there:
        worker_missing(state)
        st.caption("Runs can be looked at, started, renamed and deleted all the same; those that are queued wait.")
        return
    process = "" if state.process is None else f" · process {state.process}"
    st.caption(as_text(f"Version {state.version}{process}") + f" · {_at_work(state)}")
    if not state.models:
        st.markdown("No model is loaded. One is when a run or a page first needs it.")
    for place, model in enumerate(state.models):
        _model(place, model)


def _at_work(state: WorkerState) -> str:
    if state.run_id is None:
        return "no run is at work"
    try:
        return f"at work on {as_text(jobs().run(state.run_id).name)}"
    except AuditError:  # another workspace's, or deleted a moment ago
        return "at work on a run that is not in this list"


def _model(number: int, model: LoadedModel) -> None:
    words, button = st.columns([5, 1], vertical_alignment="center")
    rate = f" · {model.tokens_per_second:,.0f} tokens a second" if model.tokens_per_second else ""
    if model.request.endpoint is None:
        place = f"{size(model.memory_bytes)} on {as_text(model.device)} in {as_text(model.identity.dtype)}"
    else:
        place = f"connected, on the {as_text(model.device)}"
    words.markdown(f"**{as_text(model.identity.name)}** · {place} · window of {model.context_length:,} tokens{rate}")
    words.caption(as_text(f"Asked for as {model_words(model.request)}"))
    if button.button("Unload", icon=":material/eject:", key=f"unload_{number}", width="stretch"):
        try:
            jobs().unload(model.request)
        except AuditError as error:
            show_error(error)
            return
        st.rerun(scope="fragment")
