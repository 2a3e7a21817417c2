"""Adding a model: what it is, where it lies, and a name. Nothing is loaded and nothing is sent by it."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from auditlib.core import AuditError
from auditlib.jobs import save_model
from auditlib.models.request import ModelRequest
from auditlib.store.saved_models import LONGEST_NAME
from auditlib.ui.library import store
from auditlib.ui.messages import as_text, show_error
from auditlib.ui.model_fields import DTYPES, SOURCES, chosen_source
from auditlib.ui.models import model_name
from auditlib.ui.models_list import look_next_at
from auditlib.ui.runs import jobs

ADDED = "models_added"
SAID = "models_said"
# Where no worker says what there is; a name that the machine has not is refused when the model is loaded.
ANY_DEVICE = dict.fromkeys(("cpu", "cuda", "mps"), DTYPES[1:])


def add_model() -> None:
    """The fields, and the button that keeps what stands in them."""
    if said := st.session_state.pop(SAID, None):
        st.success(as_text(said), icon=":material/check:")
    n_added = st.session_state.setdefault(ADDED, 0)  # in the widgets' names, so that they are empty after each
    kind: str = st.radio(
        "What kind of model", list(SOURCES), 1, format_func=SOURCES.__getitem__, key=f"add_kind_{n_added}"
    )
    # A form, so that what is typed in one field is not drawn over while the page answers to another.
    with st.form("models_add", border=False):
        chosen = chosen_source(ModelRequest(), f"add_{n_added}_{kind}", kind, _devices())
        name_field, button = st.columns([4, 1], vertical_alignment="bottom")
        name = name_field.text_input(
            "Name", max_chars=LONGEST_NAME, key=f"add_name_{n_added}", placeholder="what you will know it by"
        )
        clicked = button.form_submit_button("Add", type="primary", icon=":material/add:", width="stretch")
    if clicked:
        try:
            request = _meant(chosen())
            called = name.strip() or model_name(request)
            save_model(store(), called, request, datetime.now(UTC))
        except AuditError as error:
            show_error(error)
            return
        st.session_state[ADDED] += 1
        st.session_state[SAID] = f"Added “{called}”. Look at it, and check it, under “Look at one”."
        look_next_at(called)
        st.rerun()


def _meant(request: ModelRequest) -> ModelRequest:
    if request.endpoint is None and request.source in ("", "hub:"):
        raise AuditError("No model was named.", "Give a folder, a .gguf file or a hub id (owner/name).")
    return request


def _devices() -> dict[str, list[str]]:
    try:
        return jobs().devices()
    except AuditError:
        return {device: list(dtypes) for device, dtypes in ANY_DEVICE.items()}
