"""The dialog in which the current model is changed: saved ones first, then any other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from auditlib.core import AuditError
from auditlib.jobs import SavedModel, saved_models
from auditlib.models.request import ModelRequest
from auditlib.ui.library import store
from auditlib.ui.messages import as_text, one_line, show_error
from auditlib.ui.model_fields import SERVER, SOURCES, chosen_source, kind_of, model_words
from auditlib.ui.runs import jobs
from auditlib.ui.served import where_texts_go

SAVED = "saved"


@st.dialog("Choose a model", width="medium")
def model_dialog(now: ModelRequest) -> None:
    """Filled with `now`. The chosen model is loaded before it becomes the current one."""
    try:
        with st.spinner("Looking at this machine …"):
            devices = jobs().devices()
        saved = [model for model in saved_models(store()) if model.request is not None]
    except AuditError as error:
        show_error(error)
        return
    others = {kind: words for kind, words in SOURCES.items() if kind != SERVER}
    kinds = {SAVED: "One that is saved"} | others if saved else others
    is_saved = now in [model.request for model in saved]
    first = SAVED if is_saved or kind_of(now) not in kinds else kind_of(now)
    known = list(kinds)
    place = known.index(first) if first in known else 0
    kind: str = st.radio("Which model", known, place, format_func=kinds.__getitem__)
    chosen = _one_of(saved, now) if kind == SAVED else chosen_source(now, "dialog", kind, devices)
    st.page_link(
        "pages/models.py",
        label="Add, name, check and compare models, also those behind servers",
        icon=":material/deployed_code:",
    )
    if st.button("Use this model", type="primary"):
        try:
            request = chosen()
            with st.spinner("Loading the model …" if request.endpoint is None else "Asking the server …"):
                jobs().model(request)
        except AuditError as error:
            show_error(error)
            return
        st.session_state["model_request"] = request
        st.rerun()


def _one_of(saved: Sequence[SavedModel], now: ModelRequest) -> Callable[[], ModelRequest]:
    place = next((i for i, model in enumerate(saved) if model.request == now), 0)
    model = st.selectbox("Model", saved, place, format_func=lambda one: one_line(one.name), key="dialog_saved")
    request = model.request or now
    st.caption(as_text(model_words(request)))
    if request.endpoint is not None:
        st.caption(where_texts_go(request))
    return lambda: request
