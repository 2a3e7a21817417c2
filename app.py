"""The page that `make run` serves: navigation, the current model, and nothing else."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from auditlib.ui.models import finish_model_sidebar, model_sidebar, warm_up
from auditlib.ui.navigation import entered_through_app

st.set_page_config(
    page_title="Pretraining Audit", page_icon=str(Path(__file__).parent / "assets" / "icon.svg"), layout="wide"
)
page = st.navigation(
    {
        "Look": [
            st.Page(
                "pages/inspect_text.py", title="Inspect", url_path="inspect", icon=":material/visibility:", default=True
            ),
            st.Page("pages/method.py", title="Method", icon=":material/menu_book:"),
        ],
        "Audit": [
            st.Page("pages/calibrate.py", title="Calibrate", icon=":material/balance:"),
            st.Page("pages/books.py", title="Books", icon=":material/auto_stories:"),
            st.Page("pages/unlearning.py", title="Unlearning", icon=":material/backspace:"),
            st.Page("pages/runs.py", title="Runs", url_path="runs", icon=":material/history:"),
        ],
        "Set up": [
            st.Page("pages/documents.py", title="Documents", icon=":material/library_books:"),
            st.Page("pages/models.py", title="Models", url_path="models", icon=":material/deployed_code:"),
        ],
    }
)
entered_through_app()
warm_up()
sidebar = model_sidebar()
page.run()
finish_model_sidebar(sidebar)
