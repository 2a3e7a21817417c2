"""The current model: shown in the side bar, changed in a dialog, held by the worker for everyone on this machine."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from auditlib.core import AuditError
from auditlib.jobs import LoadedModel, RemoteModel, WorkerState
from auditlib.models.bundled import LANGUAGE_MODEL
from auditlib.models.request import AUTO, BUNDLED, HUB_PREFIX, ModelRequest
from auditlib.ui.messages import as_text, show_error
from auditlib.ui.runs import jobs, worker_missing, worker_state

SOURCES = {
    "bundled": f"The bundled model ({LANGUAGE_MODEL.name})",
    "here": "A folder or .gguf file on the machine this page runs on",
    "hub": "A model of the Hugging Face hub",
}
WARM_UP_TEXT = "The committee met on a grey morning to hear what the river had done to the lower fields. " * 12
WARM_UP_SECONDS = 60.0  # `make run` starts page and worker together, and the page is there first


@st.cache_resource(show_spinner=False)
def warm_up() -> threading.Thread:
    """Has the worker load the bundled model behind the first page view, so that it is ready when a text is pasted."""

    def load() -> None:
        try:
            client = jobs()
            until = time.monotonic() + WARM_UP_SECONDS
            while not client.worker_state().is_there and time.monotonic() < until:
                time.sleep(0.5)
            list(client.model(ModelRequest()).token_stats([WARM_UP_TEXT]))
        except AuditError:
            pass  # said on the page, if and when somebody asks for that model

    thread = threading.Thread(target=load, name="warm-up", daemon=True)
    thread.start()
    return thread


def current_request() -> ModelRequest:
    """The model that this person has chosen."""
    request: ModelRequest = st.session_state.setdefault("model_request", ModelRequest())
    return request


def open_current() -> RemoteModel:
    """The chosen model, loaded. Raises `AuditError`."""
    with st.spinner("Loading the model …"):
        return jobs().model(current_request())


def loaded_current() -> RemoteModel | None:
    """The chosen model if it is in the worker's memory already."""
    try:
        if _held(worker_state(), current_request()) is None:
            return None
        return jobs().model(current_request())
    except AuditError:
        return None


def model_sidebar() -> DeltaGenerator:
    """Name of the current model and the way to another one; returns the place for `show_model_facts`."""
    request = current_request()
    with st.sidebar:
        st.caption("MODEL")
        st.markdown(f"**{as_text(_source_name(request))}**")
        if request.adapter:
            st.markdown(f"with the adapter **{as_text(Path(request.adapter).name)}**")
        place = st.empty()
        if st.button("Change model", icon=":material/swap_horiz:", width="stretch"):
            _model_dialog()
    return place


def model_name(request: ModelRequest) -> str:
    """What people call it: short, and with its adapter."""
    name = Path(_source_name(request)).name
    return f"{name} + {Path(request.adapter).name}" if request.adapter else name


def _source_name(request: ModelRequest) -> str:
    return LANGUAGE_MODEL.name if request.source == BUNDLED else request.source


def show_model_facts(place: DeltaGenerator) -> None:
    """Fills `place` with what is known of the current model, once it is loaded; or says that no worker is there."""
    state = worker_state()
    if not state.is_there:
        with place:
            worker_missing(state)
        return
    model = _held(state, current_request())
    if model is None:
        place.caption("loaded when first needed")
        return
    place.caption(as_text(_facts(model)))


def _held(state: WorkerState, request: ModelRequest) -> LoadedModel | None:
    return next((model for model in state.models if model.request == request), None)


def _facts(model: LoadedModel) -> str:
    return (
        f"{model.identity.dtype} on {model.device} · {model.memory_bytes / 1e6:,.0f} MB · window of "
        f"{model.context_length:,} tokens · weights {model.identity.weights_sha256[:10]}…"
    )


@st.dialog("Choose a model", width="medium")
def _model_dialog() -> None:
    try:
        with st.spinner("Looking at this machine …"):
            devices = jobs().devices()
    except AuditError as error:
        show_error(error)
        return
    now = current_request()
    kind = st.radio(
        "Which model", list(SOURCES), format_func=SOURCES.__getitem__, index=list(SOURCES).index(_kind_of(now.source))
    )
    source, revision = BUNDLED, ""
    if kind == "here":
        named = st.text_input("Folder or .gguf file", value=now.source if kind == _kind_of(now.source) else "")
        # An absolute path is never taken for a name on the hub: who chooses this machine stays on it.
        source = os.path.abspath(os.path.expanduser(named.strip())) if named.strip() else ""
        st.caption("Weights as safetensors or GGUF. Pickled weights and code that comes with a model are never run.")
    elif kind == "hub":
        known = now.source.removeprefix(HUB_PREFIX) if kind == _kind_of(now.source) else ""
        source = HUB_PREFIX + st.text_input("Hub id", placeholder="owner/name", value=known).strip()
        revision = st.text_input("Revision (optional)", value=now.revision or "")
        st.caption("The model is fetched to this machine. Your texts are not sent anywhere.")
    with st.expander("Adapter, device, data type, expected hash"):
        adapter = st.text_input("Folder of a PEFT adapter to merge in (optional)", value=now.adapter or "")
        device = st.selectbox("Device", [AUTO, *devices], format_func=_auto_label)
        dtypes = devices[next(iter(devices)) if device == AUTO else device]
        dtype = st.selectbox("Data type", [AUTO, *dtypes], format_func=_auto_label)
        sha256 = st.text_input("Expected SHA-256 of the weights (optional)", value=now.sha256 or "")
    if st.button("Use this model", type="primary"):
        request = ModelRequest(
            source.strip(), device, dtype, revision.strip() or None, sha256.strip() or None, adapter.strip() or None
        )
        try:
            with st.spinner("Loading the model …"):
                jobs().model(request)
        except AuditError as error:
            show_error(error)
            return
        st.session_state["model_request"] = request
        st.rerun()


def _kind_of(source: str) -> str:
    if source == BUNDLED:
        return "bundled"
    return "hub" if source.startswith(HUB_PREFIX) else "here"


def _auto_label(value: str) -> str:
    return "Chosen for this machine" if value == AUTO else value
