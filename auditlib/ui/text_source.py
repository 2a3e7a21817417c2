"""Where the Inspect page's text comes from: pasted, uploaded, or one of the examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from auditlib.core import AuditError, Document, settings
from auditlib.documents import STEPS, FileResult, Upload, excerpt, pasted_document, read_files, supported_suffixes
from auditlib.ui.messages import duration
from auditlib.ui.models import current_request, loaded_current
from auditlib.ui.runs import jobs
from auditlib.ui.served import sending_notice

EXAMPLES_FOLDER = Path(__file__).parents[2] / "assets" / "examples"
EXAMPLES = {
    "a famous opening": EXAMPLES_FOLDER / "pride-and-prejudice.txt",
    "an unpublished story": EXAMPLES_FOLDER / "lock-keeper.txt",
}
PASTED, UPLOADED = "Paste", "Upload"
# Formats that people write letter by letter are read letter by letter; the others come with page furniture.
READ_AS_THEY_STAND = (".txt", ".md", ".csv", ".tsv", ".jsonl", ".parquet")
PART_WORDS = 2_000


def text_source() -> None:
    """Draws the input; `chosen_document` gives what was put in, `text_size` says how much that is."""
    columns = st.columns(3, vertical_alignment="bottom")
    st.session_state.setdefault("text_way", PASTED)
    with columns[0]:
        way = st.segmented_control("Bring a text", [PASTED, UPLOADED], key="text_way", label_visibility="collapsed")
    for column, (name, file) in zip(columns[1:], EXAMPLES.items(), strict=True):
        column.button(f"Try {name}", on_click=_take_example, args=(file,), width="stretch", icon=":material/science:")
    if way == UPLOADED:
        _upload()
    else:
        st.text_area("Text", key="text_pasted", height=170, placeholder="Paste a text here …")


def chosen_document() -> Document:
    """The document that was brought. Raises `AuditError` where there is none, or too much of it."""
    if st.session_state.get("text_way") == UPLOADED:
        document = _chosen_of_upload()
    else:
        text = st.session_state.get("text_pasted") or ""
        if not text.strip():
            raise AuditError("There is no text yet.", "Paste a text, or try one of the examples.")
        document = pasted_document(text)
    limit = settings().inspect_characters
    if len(document.text) > limit:
        raise AuditError(
            f"{document.title} has {len(document.text):,} characters, and this page reads up to {limit:,} at a time.",
            "Take a part of it, or read it whole from a shell: python -m auditlib score FILE",
        )
    return document


def _take_example(file: Path) -> None:
    st.session_state["text_way"] = PASTED
    st.session_state["text_pasted"] = file.read_text(encoding="utf-8")


def _upload() -> None:
    upload = st.file_uploader(f"A file ({', '.join(supported_suffixes())})", key="text_file")
    if upload is None:
        return
    as_it_stands = upload.name.lower().endswith(READ_AS_THEY_STAND)
    st.checkbox(
        "Clean the text first (page numbers, running heads, divided words, licence text, white space)",
        value=not as_it_stands,
        key="text_clean",
    )
    documents = [d for result in _results(upload) for d in result.documents]
    if len(documents) > 1:
        st.selectbox(
            f"This file holds {len(documents):,} texts",
            range(len(documents)),
            format_func=lambda i: f"{i + 1}. {documents[i].title}",
            key="text_place",
        )
    if documents:
        n_words = len(documents[_place(len(documents))].text.split())
        if n_words > PART_WORDS:
            left, right = st.columns(2)
            left.number_input("From word", 1, n_words, 1, step=PART_WORDS, key="text_from")
            right.number_input("How many words", 2, n_words, PART_WORDS, step=500, key="text_words")


def _chosen_of_upload() -> Document:
    upload = st.session_state.get("text_file")
    if upload is None:
        raise AuditError("No file was chosen yet.", "Choose a file first.")
    results = _results(upload)
    documents = [document for result in results for document in result.documents]
    if not documents:
        errors = [result.error for result in results if result.error is not None]
        raise errors[0] if errors else AuditError(f"{upload.name} holds no text.", "Choose another file.")
    document = documents[_place(len(documents))]
    n_words = len(document.text.split())
    if n_words <= PART_WORDS:
        return document
    first = min(int(st.session_state.get("text_from", 1)), n_words) - 1
    part = excerpt(document, first, int(st.session_state.get("text_words", PART_WORDS)))
    return pasted_document(
        part.text, f"{document.title}, words {first + 1:,} to {first + part.word_count:,} of {n_words:,}"
    )


def _results(upload: Any) -> list[FileResult]:
    """What became of the uploaded file, read once for each way of cleaning it."""
    clean = bool(st.session_state.get("text_clean", True))
    key = (upload.file_id, clean)
    kept = st.session_state.get("text_results")
    if kept is None or kept[0] != key:
        with st.spinner("Opening the file …"):
            without = () if clean else tuple(STEPS)
            kept = (key, list(read_files([Upload(upload.name, upload.getvalue())], without)))
        st.session_state["text_results"] = kept
    results: list[FileResult] = kept[1]
    return results


def _place(n_documents: int) -> int:
    return min(int(st.session_state.get("text_place", 0)), n_documents - 1)


def text_size() -> None:
    """How much text there is, and how long reading it will take, where that is known before starting.

    It belongs below the button that reads the text. A hand that presses the button leaves the field, which commits the
    text: a line that then came in above would push the button away from under the hand, and the press would be lost.
    """
    try:
        document = chosen_document()
    except AuditError:
        return
    line = f"{len(document.text.split()):,} words"
    model = loaded_current()
    if model is not None and model.tokens_per_second:
        try:
            (n_tokens,) = model.lengths([document.text])  # which sends nothing of it to a server
            if n_tokens is not None:
                line += f" · reading takes about {duration(2 * n_tokens / model.tokens_per_second)}"
        except AuditError:
            pass
    st.caption(line)
    sending_notice(jobs(), current_request(), lambda: [(document.text, 2)])
