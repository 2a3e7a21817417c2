"""Bringing files: several at once, what to clean, which column is the text, and what became of each."""

from __future__ import annotations

from typing import Any

import streamlit as st

from auditlib.core import AuditError, Label
from auditlib.documents import STEPS, Columns, supported_suffixes
from auditlib.ui.library import UploadReport, add_uploads, table_columns
from auditlib.ui.messages import as_text, show_error

TABLES = (".csv", ".tsv", ".jsonl", ".parquet")
LABEL_NAMES = {
    Label.UNKNOWN: "not known",
    Label.MEMBER: "members (known to be in the training data)",
    Label.NON_MEMBER: "non-members (known not to be)",
}
MOST_ERRORS_SHOWN = 20


def document_upload() -> None:
    """Draws the upload, and its outcome once there is one."""
    st.session_state.setdefault("upload_round", 0)
    files = st.file_uploader(
        f"Books and files ({', '.join(supported_suffixes())})",
        accept_multiple_files=True,
        key=f"uploads_{st.session_state['upload_round']}",
    )
    if files:
        columns = {file.file_id: picked for file in files if (picked := _columns_of(file)) is not None}
        left, right = st.columns(2)
        label = left.selectbox("These texts are", list(LABEL_NAMES), format_func=LABEL_NAMES.__getitem__)
        with right.expander("What is cleaned"):
            kept = {name: st.checkbox(step.about, True, key=f"step_{name}") for name, step in STEPS.items()}
            without = [name for name, is_on in kept.items() if not is_on]
        if st.button(f"Read {len(files)} file{'s' if len(files) > 1 else ''}", type="primary"):
            _read(files, columns, without, label)
    if (report := st.session_state.pop("upload_report", None)) is not None:
        _show(report)


def _columns_of(file: Any) -> Columns | None:
    """Which columns to read, for a table; None for anything else."""
    if not file.name.lower().endswith(TABLES):
        return None
    found = table_columns(file.file_id, file.name, file.getvalue())
    if found is None or isinstance(found, AuditError):
        return None  # said when it is read
    st.markdown(f"**{as_text(file.name)}** has {len(found.names)} columns. Which of them hold:")
    text, label, group = st.columns(3)
    none = "(none)"
    options = [none, *found.names]

    def pick(place: Any, what: str, guess: str | None) -> str | None:
        index = options.index(guess) if guess in options else 0
        picked: str = place.selectbox(what, options, index, key=f"{what}_{file.file_id}")
        return None if picked == none else picked

    chosen = text.selectbox(
        "the text", found.names, found.names.index(found.guess.text), key=f"the text_{file.file_id}"
    )
    return Columns(
        text=chosen,
        label=pick(label, "member or not (optional)", found.guess.label),
        group=pick(group, "what belongs together (optional)", found.guess.group),
    )


def _read(files: list[Any], columns: dict[str, Columns], without: list[str], label: Label) -> None:
    bar = st.progress(0.0, text="Opening …")

    def progress(done: int, name: str) -> None:
        bar.progress(done / len(files), text=f"Read {as_text(name)} …")

    try:
        report = add_uploads(files, columns, without, label, progress)
    except AuditError as error:
        show_error(error)
        return
    finally:
        bar.empty()
    st.session_state["upload_report"] = report
    st.session_state["upload_round"] += 1  # an emptied uploader, for the next batch
    st.rerun()


def _show(report: UploadReport) -> None:
    if report.n_documents:
        st.success(f"Added {report.n_documents:,} text{'s' if report.n_documents > 1 else ''}.")
    if report.were_there:
        names = ", ".join(as_text(name) for name in report.were_there[:5])
        more = f" and {len(report.were_there) - 5} more" if len(report.were_there) > 5 else ""
        st.info(f"Here already, and stored once: {names}{more}.")
    for error in report.errors[:MOST_ERRORS_SHOWN]:
        show_error(error)
    if len(report.errors) > MOST_ERRORS_SHOWN:
        st.error(f"{len(report.errors) - MOST_ERRORS_SHOWN:,} more files could not be read.")
