"""Every audit that was ever asked for here: watched, cancelled, resumed, copied, compared, deleted."""

from __future__ import annotations

import streamlit as st

from auditlib.core import AuditError
from auditlib.ui.messages import as_text, show_error
from auditlib.ui.navigation import enter_through_app
from auditlib.ui.runs import jobs
from auditlib.ui.runs_cache import cache_line
from auditlib.ui.runs_one import one_run
from auditlib.ui.runs_several import several_runs
from auditlib.ui.runs_table import picked, runs_table
from auditlib.ui.runs_worker import worker_memory

enter_through_app(__file__)
st.title("Runs")
try:
    lines = jobs().lines()
except AuditError as problem:
    show_error(problem)
    st.stop()

chosen = picked()
if said := st.session_state.pop("runs_said", None):
    st.info(as_text(said), icon=":material/info:")
with st.container():  # its own place: what stands below does not move, nor stand there twice, when runs come and go
    if not lines:
        st.info(
            "Nothing has been run yet. Every audit is a run: it is queued, worked on in the background by a worker, "
            "and goes on when pages are closed and machines restarted. It is kept with its parameters, its results and "
            "the exact model. Here you watch, cancel, resume, repeat and compare them.",
            icon=":material/lightbulb:",
        )
        if st.button("Start with a calibration", type="primary", icon=":material/balance:"):
            st.switch_page("pages/calibrate.py")
    else:
        runs_table(lines)
    if len(chosen) == 1:
        one_run(chosen[0])
    elif chosen:
        several_runs([line for line in lines if line.id in chosen])
st.divider()
cache_line()
worker_memory()
