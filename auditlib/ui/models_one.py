"""One model: what it is, whether it is in memory, what it gives, and which scores it allows."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from auditlib.core import AuditError, Capability
from auditlib.jobs import LoadedModel
from auditlib.models.request import ModelRequest
from auditlib.scoring import SCORES, needed_besides, not_allowed_because
from auditlib.ui.library import saved_model_names
from auditlib.ui.messages import as_text, show_error, size
from auditlib.ui.model_fields import model_words
from auditlib.ui.models import current_request
from auditlib.ui.models_files import files_of_model
from auditlib.ui.models_list import ListedModel, look_next_at
from auditlib.ui.models_server import server_of_model
from auditlib.ui.runs import jobs


def one_model(model: ListedModel, held: Sequence[LoadedModel]) -> None:
    """Its own words, the buttons, and what is known of it."""
    request = model.request
    if request is None:
        st.warning(as_text(model.problem), icon=":material/warning:")
        _rename_and_remove(model)
        return
    st.caption(as_text(model_words(request)))
    loaded = next((one for one in held if one.request == request), None)
    _buttons(model, request, loaded)
    if request.endpoint is not None:
        server_of_model(request, request.endpoint)
    if loaded is not None:
        _facts(loaded)
        _scores(loaded)
    if request.endpoint is None:
        files_of_model(request)
    if loaded is None:
        st.caption("What it gives, and which scores it allows, is known once it is loaded or connected.")


def _buttons(model: ListedModel, request: ModelRequest, loaded: LoadedModel | None) -> None:
    use, load, names = st.columns([1, 1, 2])
    is_current = request == current_request()
    label = "The current model" if is_current else "Make it current"
    if use.button(label, icon=":material/check:", disabled=is_current, width="stretch", key="models_use"):
        st.session_state["model_request"] = request
        st.rerun()
    try:
        if loaded is not None:
            words = "Unload" if request.endpoint is None else "Disconnect"
            if load.button(words, icon=":material/eject:", width="stretch", key="models_unload"):
                jobs().unload(request)
                st.rerun()
        elif request.endpoint is None and load.button(
            "Load", icon=":material/memory:", width="stretch", key="models_load"
        ):
            with st.spinner("Loading the model …"):
                jobs().model(request)
            st.rerun()
    except AuditError as error:
        show_error(error)
    if model.is_saved:
        with names:
            _rename_and_remove(model)


def _rename_and_remove(model: ListedModel) -> None:
    left, right = st.columns(2)
    with left.popover("Rename", icon=":material/edit:", width="stretch"):
        name = st.text_input("New name", model.label, key=f"models_name_{model.name}")
        if st.button("Rename", key="models_rename"):
            try:
                saved_model_names().rename(model.name, name)
            except AuditError as error:
                show_error(error)
                return
            look_next_at(name.strip())
            st.rerun()
    with right.popover("Remove", icon=":material/delete:", width="stretch"):
        st.markdown("Its name is forgotten. Its files, runs and readings stay.")
        if st.button("Remove", key="models_remove"):
            try:
                saved_model_names().remove(model.name)
            except AuditError as error:
                show_error(error)
                return
            st.rerun()


def _facts(loaded: LoadedModel) -> None:
    identity = loaded.identity
    facts = {
        "Runs on": loaded.device,
        "Data type": identity.dtype,
        "Window": f"{loaded.context_length:,} tokens",
        "Vocabulary": f"{loaded.vocabulary_size:,} tokens" if loaded.vocabulary_size else "not told",
        "Speed of the last reading": f"{loaded.tokens_per_second:,.0f} tokens a second"
        if loaded.tokens_per_second
        else "nothing read yet",
        "Weights": identity.weights_sha256,
        "Gives": ", ".join(one for one in Capability if one in loaded.capabilities),
    }
    if loaded.request.endpoint is None:
        facts = {"Memory": size(loaded.memory_bytes)} | facts
    st.table(pd.DataFrame({"": list(facts), "This model": [as_text(value) for value in facts.values()]}).set_index(""))


def _scores(loaded: LoadedModel) -> None:
    st.markdown("**Scores that it allows**")
    rows = []
    for score in SCORES.values():
        why_not = not_allowed_because(score, loaded.capabilities, loaded.takes_prefixes, loaded.vocabulary_size)
        besides = needed_besides(score)
        rows.append({"Score": score.label, "Allowed": _allowed(why_not, besides), "Why not": why_not or ""})
    st.table(pd.DataFrame(rows).set_index("Score"))


def _allowed(why_not: str | None, besides: str) -> str:
    if why_not:
        return "no"
    return f"yes, with {besides}" if besides else "yes"
