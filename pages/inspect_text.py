"""One text under one model: every token's log-probability, the bottom k% marked, and what the scores are."""

from __future__ import annotations

import streamlit as st

from auditlib.core import AuditError
from auditlib.ui.inspect_result import show_result
from auditlib.ui.messages import show_error
from auditlib.ui.models import current_request
from auditlib.ui.navigation import enter_through_app
from auditlib.ui.reading import read_document
from auditlib.ui.served import where_texts_go
from auditlib.ui.text_source import chosen_document, text_size, text_source

enter_through_app(__file__)
st.title("Inspect")
st.markdown(
    "Paste or upload a text and see, word by word, how well the model foresaw it. "
    "Texts that a model was trained on tend to hold few words that surprise it."
)

text_source()
clicked = st.button("Read this text", type="primary", icon=":material/play_arrow:")
text_size()
if clicked:
    try:
        st.session_state["inspection"] = read_document(chosen_document())
    except AuditError as error:
        show_error(error)

if "inspection" in st.session_state:
    show_result(st.session_state["inspection"])
else:
    st.info(
        "Nothing has been read yet. Bring a paragraph or a few pages, or try one of the examples above. "
        + where_texts_go(current_request()),
        icon=":material/lightbulb:",
    )
