"""The current model: shown in the side bar, changed in a dialog, loaded once for everyone on this page."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from auditlib.core import AuditError, settings
from auditlib.models.bundled import LANGUAGE_MODEL
from auditlib.models.request import AUTO, BUNDLED, HUB_PREFIX, ModelRequest
from auditlib.ui.messages import as_text, show_error

if TYPE_CHECKING:
    from auditlib.models.local import LocalModel
    from auditlib.models.opening import ModelShelf

SOURCES = {
    "bundled": f"The bundled model ({LANGUAGE_MODEL.name})",
    "here": "A folder or .gguf file on the machine this page runs on",
    "hub": "A model of the Hugging Face hub",
}
WARM_UP_TEXT = "The committee met on a grey morning to hear what the river had done to the lower fields. " * 12

_importing = threading.Lock()


def shelf() -> ModelShelf:
    """The models of this process."""
    # Importing torch takes seconds. The page draws itself first, and two threads never import it at once.
    with _importing:
        from auditlib.models.opening import SHELF
    return SHELF


@st.cache_resource(show_spinner=False)
def warm_up() -> threading.Thread:
    """Loads the bundled model behind the first page view, so that it is ready when a text has been pasted."""

    def load() -> None:
        try:
            model = shelf().open(ModelRequest(), settings())
            list(model.token_stats([WARM_UP_TEXT]))
        except AuditError:
            pass  # said on the page, if and when somebody asks for that model

    thread = threading.Thread(target=load, name="warm-up", daemon=True)
    thread.start()
    return thread


def current_request() -> ModelRequest:
    """The model that this person has chosen."""
    request: ModelRequest = st.session_state.setdefault("model_request", ModelRequest())
    return request


def open_current() -> LocalModel:
    """The chosen model, loaded. Raises `AuditError`."""
    with st.spinner("Loading the model …"):
        return shelf().open(current_request(), settings())


def loaded_current() -> LocalModel | None:
    """The chosen model if it is in memory already."""
    if warm_up().is_alive():
        return None  # torch may still be on its way in; the page does not wait for it
    return shelf().loaded().get(current_request())


def model_sidebar() -> DeltaGenerator:
    """Name of the current model and the way to another one; returns the place for `show_model_facts`."""
    request = current_request()
    name = LANGUAGE_MODEL.name if request.source == BUNDLED else request.source
    with st.sidebar:
        st.caption("MODEL")
        st.markdown(f"**{as_text(name)}**")
        if request.adapter:
            st.markdown(f"with the adapter **{as_text(Path(request.adapter).name)}**")
        place = st.empty()
        if st.button("Change model", icon=":material/swap_horiz:", width="stretch"):
            _model_dialog()
    return place


def show_model_facts(place: DeltaGenerator) -> None:
    """Fills `place` with what is known of the current model, once it is loaded."""
    model = loaded_current()
    if model is None:
        place.caption("loaded when first needed")
        return
    identity = model.identity
    place.caption(
        as_text(
            f"{identity.dtype} on {model.device} · {model.memory_bytes / 1e6:,.0f} MB · window of "
            f"{model.context_length:,} tokens · weights {identity.weights_sha256[:10]}…"
        )
    )


@st.dialog("Choose a model", width="medium")
def _model_dialog() -> None:
    with st.spinner("Looking at this machine …"):
        shelf()
    from auditlib.models.opening import available_devices, available_dtypes

    now = current_request()
    kind = st.radio(
        "Which model", list(SOURCES), format_func=SOURCES.__getitem__, index=list(SOURCES).index(_kind_of(now.source))
    )
    source, revision = BUNDLED, ""
    if kind == "here":
        named = st.text_input("Folder or .gguf file", value=now.source if kind == _kind_of(now.source) else "")
        # An absolute path is never taken for a name on the hub: who chooses this machine stays on it.
        source = str(Path(named.strip()).expanduser().absolute()) if named.strip() else ""
        st.caption("Weights as safetensors or GGUF. Pickled weights and code that comes with a model are never run.")
    elif kind == "hub":
        known = now.source.removeprefix(HUB_PREFIX) if kind == _kind_of(now.source) else ""
        source = HUB_PREFIX + st.text_input("Hub id", placeholder="owner/name", value=known).strip()
        revision = st.text_input("Revision (optional)", value=now.revision or "")
        st.caption("The model is fetched to this machine. Your texts are not sent anywhere.")
    with st.expander("Adapter, device, data type, expected hash"):
        adapter = st.text_input("Folder of a PEFT adapter to merge in (optional)", value=now.adapter or "")
        device = st.selectbox("Device", [AUTO, *available_devices()], format_func=_auto_label)
        dtypes = available_dtypes(available_devices()[0] if device == AUTO else device)
        dtype = st.selectbox("Data type", [AUTO, *dtypes], format_func=_auto_label)
        sha256 = st.text_input("Expected SHA-256 of the weights (optional)", value=now.sha256 or "")
    if st.button("Use this model", type="primary"):
        request = ModelRequest(
            source.strip(), device, dtype, revision.strip() or None, sha256.strip() or None, adapter.strip() or None
        )
        try:
            with st.spinner("Loading the model …"):
                shelf().open(request, settings())
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
