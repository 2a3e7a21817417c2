"""Two sets with a known answer under one model: what each score is worth, and whether that is the model's doing."""

from __future__ import annotations

import streamlit as st

from auditlib.store import RunState
from auditlib.ui.calibration_result import show_calibration
from auditlib.ui.calibration_run import KIND, start_calibration
from auditlib.ui.calibration_save import shelf_of_calibrations
from auditlib.ui.calibration_sets import choose_sets, load_demo
from auditlib.ui.navigation import enter_through_app
from auditlib.ui.runs import chosen_run, run_state

enter_through_app(__file__)
title, demo = st.columns([4, 1], vertical_alignment="bottom")
title.title("Calibrate")
demo.button("Demo", on_click=load_demo, icon=":material/science:", width="stretch")
st.markdown(
    "Bring texts that the model is known to have been trained on (members) and texts that it is known not to have seen "
    "(non-members). You learn how well each score tells them apart, how sure that is, and whether the words alone "
    "would have done as well."
)

run = chosen_run(KIND)
sets = choose_sets()
if sets is not None:
    start_calibration(sets)
if run is not None:
    st.divider()
    run_state(run)
    if run.state is RunState.DONE:
        show_calibration(run)
with st.expander("Saved calibrations"):
    shelf_of_calibrations()
