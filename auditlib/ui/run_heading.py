"""The lines above a finished run: what it is called, on which model it was, and what it told on its way."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from auditlib.core import ModelIdentity
from auditlib.models.request import ModelRequest
from auditlib.store import Run
from auditlib.ui.messages import as_text, duration
from auditlib.ui.models import current_request
from auditlib.ui.runs import jobs


def run_heading(run: Run, model: ModelIdentity, request: ModelRequest, material: str, notes: Sequence[str]) -> None:
    """`material` says how much was examined; `request` is what the run was asked to open."""
    st.subheader(as_text(run.name))
    took = f" · took {duration(run.seconds)}" if run.seconds is not None else ""
    who = f" · {as_text(run.who)}" if run.who else ""
    st.caption(f"{as_text(model.name)} · {material} · {run.created:%Y-%m-%d %H:%M} UTC{took}{who}")
    for note in (*notes, *jobs().notes(run.id)):
        st.caption(as_text(note))
    if request != current_request():
        st.warning(
            f"The results below are of {as_text(model.name)}, not of the model chosen now.", icon=":material/history:"
        )
