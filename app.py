"""The page that `make run` serves: navigation, the current model, and nothing else."""

from __future__ import annotations

import streamlit as st

from auditlib.ui.models import model_sidebar, warm_up

st.set_page_config(page_title="Pretraining Audit", page_icon=":material/policy:", layout="wide")
page = st.navigation(
    {
        "Look": [
            st.Page("pages/inspect.py", title="Inspect", icon=":material/visibility:", default=True),
            st.Page("pages/method.py", title="Method", icon=":material/menu_book:"),
        ]
    }
)
warm_up()
model_sidebar()
page.run()
