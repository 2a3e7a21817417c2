"""Every page is drawn through app.py, however its address was reached.

Until app.py has run once, a freshly started Streamlit takes the folder `pages/` for its older kind of app and
serves a page's address without app.py: with another menu and without the model. A page that finds itself there
sends the person through app.py and back.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st


def entered_through_app() -> None:
    """Called by app.py before it runs a page; brings back whoever was sent here by `enter_through_app`."""
    st.session_state["entered_through_app"] = True
    if wanted := st.session_state.pop("wanted_page", None):
        st.switch_page(wanted, query_params=st.session_state.pop("wanted_query", {}))


def enter_through_app(page_file: str) -> None:
    """Called by a page first, with its `__file__`."""
    if not st.session_state.get("entered_through_app"):
        st.session_state["wanted_page"] = f"pages/{Path(page_file).name}"
        st.session_state["wanted_query"] = st.query_params.to_dict()  # a link to a run must still be one
        st.switch_page("app.py")
