"""A model on this machine that is not loaded: what it would take, and what its publishers say of it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from auditlib.core import AuditError
from auditlib.jobs import ModelFilesLook
from auditlib.models.bundled import LANGUAGE_MODEL
from auditlib.models.request import BUNDLED, ModelRequest
from auditlib.ui.messages import as_text, show_error, size
from auditlib.ui.model_fields import kind_of
from auditlib.ui.runs import jobs

LOOKS = "models_looks"


def files_of_model(request: ModelRequest) -> None:
    """Asked for by a button, as it may have to fetch gigabytes or unpack a file first."""
    looks: dict[ModelRequest, ModelFilesLook] = st.session_state.setdefault(LOOKS, {})
    if request not in looks:
        needs = {"hub": " They are fetched first where they are not here yet.", "here": "", "bundled": ""}
        if st.button("Look at its files", icon=":material/search:", key="models_look"):
            try:
                with st.spinner("Looking at the files …"):
                    looks[request] = jobs().look(request)
                st.rerun()
            except AuditError as error:
                show_error(error)
        st.caption(f"Says how much memory it takes, and what its publishers say.{needs[kind_of(request)]}")
        return
    _show(looks[request], request)


def _show(look: ModelFilesLook, request: ModelRequest) -> None:
    there = "" if look.available is None else f"; {size(look.available)} are free"
    line = f"Takes about **{size(look.needed)}** on {as_text(look.device)} in {as_text(look.dtype)}{there}."
    if look.fits:
        st.markdown(line)
    else:
        st.warning(f"{line} It may not fit.", icon=":material/memory:")
    card = look.card
    said = {
        "Licence": card.licence or ((LANGUAGE_MODEL.licence,) if request.source == BUNDLED else ()),
        "Made from": card.base_model,
        "Trained on": card.training_data,
        "Languages": card.languages,
    }
    known = {name: ", ".join(values) for name, values in said.items() if values}
    if card.problem:
        st.caption(as_text(card.problem))
    if not known:
        st.caption("Its publishers say nothing of it in a model card.")
        return
    st.table(
        pd.DataFrame({"": list(known), "Its publishers say": [as_text(value) for value in known.values()]}).set_index(
            ""
        )
    )
