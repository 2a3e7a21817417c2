"""Whether a model has forgotten what it was made to forget: before and after, chunk by chunk."""

from __future__ import annotations

import streamlit as st

from auditlib.store import RunState
from auditlib.ui.navigation import enter_through_app
from auditlib.ui.runs import chosen_run, run_state
from auditlib.ui.unlearning_choice import KIND, choose_unlearning, load_demo, start_unlearning
from auditlib.ui.unlearning_result import show_unlearning

enter_through_app(__file__)
title, demo = st.columns([4, 1], vertical_alignment="bottom")
title.title("Unlearning")
demo.button("Demo", on_click=load_demo, icon=":material/science:", width="stretch")
st.markdown(
    "Did a model forget what it was made to forget? Bring the model before and after, the works that were to go, and, "
    "for a clear answer, works that were to stay and works that neither model ever saw. Both models read all of them; "
    "the one after is given beginnings and asked how they go on."
)

run = chosen_run(KIND)
chosen = choose_unlearning()
if chosen is not None:
    start_unlearning(chosen)
if run is not None:
    st.divider()
    run_state(run)
    if run.state is RunState.DONE:
        show_unlearning(run)
