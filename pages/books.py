"""Which books a model was trained on: known shelves, audited books, and what can be said of each."""

from __future__ import annotations

import streamlit as st

from auditlib.store import RunState
from auditlib.ui.books_result import show_books
from auditlib.ui.books_shelves import KIND, choose_books, load_demo, start_books
from auditlib.ui.navigation import enter_through_app
from auditlib.ui.runs import chosen_run, run_state

enter_through_app(__file__)
title, demo = st.columns([4, 1], vertical_alignment="bottom")
title.title("Books")
demo.button("Demo", on_click=load_demo, icon=":material/science:", width="stretch")
st.markdown(
    "Which books did the model read? Bring books that it is known to have read, books that it cannot have read, and "
    "those in question. Each of these gets a rate, a p-value against the known books that it was not trained on, and "
    "a verdict with its reasons."
)

run = chosen_run(KIND)
chosen = choose_books()
if chosen is not None:
    start_books(chosen)
if run is not None:
    st.divider()
    run_state(run)
    if run.state is RunState.DONE:
        show_books(run)
