"""Where the Inspect page's text comes from: pasted, uploaded, or one of the examples."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from auditlib.core import AuditError, Document, settings
from auditlib.documents import SUFFIXES, document_of, read_file
from auditlib.ui.messages import duration
from auditlib.ui.models import loaded_current

EXAMPLES_FOLDER = Path(__file__).parents[2] / "assets" / "examples"
EXAMPLES = {
    "a famous opening": EXAMPLES_FOLDER / "pride-and-prejudice.txt",
    "an unpublished story": EXAMPLES_FOLDER / "lock-keeper.txt",
}
PASTED, UPLOADED = "Paste", "Upload"


def text_source() -> None:
    """Draws the input; `chosen_document` gives what was put in."""
    columns = st.columns(3, vertical_alignment="bottom")
    st.session_state.setdefault("text_way", PASTED)
    with columns[0]:
        way = st.segmented_control("Bring a text", [PASTED, UPLOADED], key="text_way", label_visibility="collapsed")
    for column, (name, file) in zip(columns[1:], EXAMPLES.items(), strict=True):
        column.button(f"Try {name}", on_click=_take_example, args=(file,), width="stretch", icon=":material/science:")
    if way == UPLOADED:
        st.file_uploader(f"A text file ({', '.join(SUFFIXES)})", key="text_file")
    else:
        st.text_area("Text", key="text_pasted", height=170, placeholder="Paste a text here …")
    _say_size()


def chosen_document() -> Document:
    """The document that was brought. Raises `AuditError` where there is none, or too much of it."""
    if st.session_state.get("text_way") == UPLOADED:
        upload = st.session_state.get("text_file")
        if upload is None:
            raise AuditError("No file was chosen yet.", "Choose a text file first.")
        document = read_file(upload.name, upload.getvalue())
    else:
        text = st.session_state.get("text_pasted") or ""
        if not text.strip():
            raise AuditError("There is no text yet.", "Paste a text, or try one of the examples.")
        document = document_of(text, "The pasted text")
    limit = settings().inspect_characters
    if len(document.text) > limit:
        raise AuditError(
            f"{document.source_name} has {len(document.text):,} characters, and this page reads up to {limit:,} "
            "at a time.",
            "Take a part of it, or read it whole from a shell: python -m auditlib score FILE",
        )
    return document


def _take_example(file: Path) -> None:
    st.session_state["text_way"] = PASTED
    st.session_state["text_pasted"] = file.read_text(encoding="utf-8")


def _say_size() -> None:
    """How much text there is, and how long reading it will take, where that is known before starting."""
    try:
        document = chosen_document()
    except AuditError:
        return
    line = f"{len(document.text.split()):,} words"
    model = loaded_current()
    if model is not None and model.tokens_per_second:
        try:
            n_tokens = 2 * model.tokens_to_read(document.text)
            line += f" · reading takes about {duration(n_tokens / model.tokens_per_second)}"
        except AuditError:
            pass
    st.caption(line)
