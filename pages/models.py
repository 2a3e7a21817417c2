"""The models that this workspace knows by name: added, checked, seen with what they allow, and compared."""

from __future__ import annotations

import streamlit as st

from auditlib.core import AuditError
from auditlib.jobs import saved_models
from auditlib.ui.library import store
from auditlib.ui.messages import show_error
from auditlib.ui.models_add import add_model
from auditlib.ui.models_compare import compare_models
from auditlib.ui.models_list import chosen_model, listed, models_table
from auditlib.ui.models_one import one_model
from auditlib.ui.navigation import enter_through_app
from auditlib.ui.runs import worker_state

enter_through_app(__file__)
st.title("Models")
st.markdown(
    "Which model is audited: the bundled one, one on this machine, or one behind a server. Named here, any of them can "
    "be chosen on every page."
)
try:
    models = listed(saved_models(store()))
except AuditError as problem:
    show_error(problem)
    st.stop()

state = worker_state()
models_table(models, state.models)
look, add, compare = st.tabs(["Look at one", "Add a model", "Compare two"])
with look:
    one_model(chosen_model(models), state.models)
with add:
    add_model()
with compare:
    compare_models(models)
