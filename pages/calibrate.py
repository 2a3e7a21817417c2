"""Two sets with a known answer under one model: what each score is worth, and whether that is the model's doing."""

from __future__ import annotations

import streamlit as st

from auditlib.ui.calibration_result import show_calibration
from auditlib.ui.calibration_run import is_of_current_model, latest, run_button
from auditlib.ui.calibration_save import shelf_of_calibrations
from auditlib.ui.calibration_sets import choose_sets, load_demo
from auditlib.ui.messages import as_text
from auditlib.ui.navigation import enter_through_app

enter_through_app(__file__)
title, demo = st.columns([4, 1], vertical_alignment="bottom")
title.title("Calibrate")
demo.button("Demo", on_click=load_demo, icon=":material/science:", width="stretch")
st.markdown(
    "Bring texts that the model is known to have been trained on (members) and texts that it is known not to have seen "
    "(non-members). You learn how well each score tells them apart, how sure that is, and whether the words alone "
    "would have done as well."
)

sets, cutting = choose_sets()
if sets is not None:
    run_button(sets, cutting)
read = latest()
if read is not None:
    st.divider()
    if sets is None or sets.digest != read.sets.digest:
        st.warning(
            "The results below are of the sets that were read last, not of those above.", icon=":material/history:"
        )
    elif not is_of_current_model():
        st.warning(
            f"The results below are of {as_text(read.identity.name)}, not of the model chosen now.",
            icon=":material/history:",
        )
    show_calibration(read)
with st.expander("Saved calibrations"):
    shelf_of_calibrations()
