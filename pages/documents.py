"""The workspace's texts: brought in, cleaned, marked, and put together as two sets."""

from __future__ import annotations

import streamlit as st

from auditlib.core import AuditError
from auditlib.ui.document_list import document_list, document_preview
from auditlib.ui.document_sets import document_sets
from auditlib.ui.document_upload import document_upload
from auditlib.ui.library import workspace
from auditlib.ui.messages import show_error
from auditlib.ui.navigation import enter_through_app

enter_through_app(__file__)
st.title("Documents")
st.markdown(
    "Bring books and files as you have them. They are read and cleaned on this machine, and stay on it; "
    "what cleaning takes out is shown, and can be put back."
)
try:
    store = workspace()
except AuditError as problem:
    show_error(problem)
    st.stop()

document_upload()
documents = store.documents()
if not documents:
    st.info(
        "No texts yet. Bring EPUB, PDF, Word, HTML, text, tables of texts, or a zip of any of these; several at once.",
        icon=":material/lightbulb:",
    )
else:
    st.subheader(f"{len(documents):,} text{'s' if len(documents) > 1 else ''}")
    document_list(documents)
    document_preview(documents)
    st.subheader("Members and non-members")
    document_sets(documents)
