"""The current model: shown in the side bar, changed in a dialog, held by the worker for everyone on this machine."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from auditlib.core import AuditError
from auditlib.jobs import LoadedModel, RemoteModel, WorkerState
from auditlib.models.bundled import LANGUAGE_MODEL
from auditlib.models.request import BUNDLED, ModelRequest
from auditlib.ui.messages import as_text
from auditlib.ui.model_dialog import model_dialog
from auditlib.ui.runs import jobs, worker_missing, worker_state
from auditlib.ui.served import address_of

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
    with st.spinner("Loading the model …" if current_request().endpoint is None else "Asking the server …"):
        return jobs().model(current_request())


def loaded_current() -> RemoteModel | None:
    """The chosen model if it is in the worker's memory already."""
    try:
        if _held(worker_state(), current_request()) is None:
            return None
        return jobs().model(current_request())
    except AuditError:
        return None


@dataclass(frozen=True)
class ModelSidebar:
    """What the side bar says of the current model, and where, until the page has been drawn."""

    request: ModelRequest
    name: DeltaGenerator
    facts: DeltaGenerator


def model_sidebar() -> ModelSidebar:
    """Name of the current model and the way to another one; `finish_model_sidebar` says the rest after the page."""
    request = current_request()
    with st.sidebar:
        st.caption("MODEL")
        sidebar = ModelSidebar(request, st.empty(), st.empty())
        sidebar.name.markdown(_name(request))
        if st.button("Change model", icon=":material/swap_horiz:", width="stretch"):
            model_dialog(request)
    return sidebar


def finish_model_sidebar(sidebar: ModelSidebar) -> None:
    """What is known of the current model, once it is loaded; or that no worker is there.

    A page that shows a run has perhaps made that run's model the current one: then its name is drawn again, which costs
    less than a rerun, and a rerun would swallow what people click meanwhile.
    """
    request = current_request()
    if request != sidebar.request:
        sidebar.name.markdown(_name(request))
    _show_facts(sidebar.facts, request)


def _name(request: ModelRequest) -> str:
    lines = [f"**{as_text(_source_name(request))}**"]
    if request.adapter:
        lines.append(f"with the adapter **{as_text(Path(request.adapter).name)}**")
    if address := address_of(request):
        lines.append(f"on the server **{as_text(address.host)}**")
    return "\n\n".join(lines)


def model_name(request: ModelRequest) -> str:
    """What people call it: short, and with its adapter."""
    if request.endpoint is not None:
        return f"{request.endpoint.model} on {address_of(request).host}"  # type: ignore[union-attr]
    name = Path(_source_name(request)).name
    return f"{name} + {Path(request.adapter).name}" if request.adapter else name


def _source_name(request: ModelRequest) -> str:
    if request.endpoint is not None:
        return request.endpoint.model
    return LANGUAGE_MODEL.name if request.source == BUNDLED else request.source


def _show_facts(place: DeltaGenerator, request: ModelRequest) -> None:
    state = worker_state()
    if not state.is_there:
        with place:
            worker_missing(state)
        return
    model = _held(state, request)
    if model is None:
        place.caption("loaded when first needed" if request.endpoint is None else "connected when first needed")
        return
    place.caption(as_text(_facts(model)))


def _held(state: WorkerState, request: ModelRequest) -> LoadedModel | None:
    return next((model for model in state.models if model.request == request), None)


def _facts(model: LoadedModel) -> str:
    if model.request.endpoint is not None:
        return f"connected · window of {model.context_length:,} tokens · {model.identity.backend}"
    return (
        f"{model.identity.dtype} on {model.device} · {model.memory_bytes / 1e6:,.0f} MB · window of "
        f"{model.context_length:,} tokens · weights {model.identity.weights_sha256[:10]}…"
    )
