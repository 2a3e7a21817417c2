"""The documents of the workspace: a table to mark and delete in, and one of them opened."""

from __future__ import annotations

from html import escape

import pandas as pd
import streamlit as st

from auditlib.core import AuditError, Document, Label
from auditlib.documents import STEPS, clean_again, pieces, removed_words
from auditlib.store import StoredDocument
from auditlib.ui.library import workspace
from auditlib.ui.messages import as_text, show_error

LONGEST_RUN = 2_000  # characters of unchanged text shown between two removals
MOST_PIECES = 400


def document_list(documents: list[StoredDocument]) -> None:
    """Every document with its words, warnings, label and group; labels and groups can be changed in place."""
    table = pd.DataFrame(
        {
            "delete": False,
            "title": [d.title for d in documents],
            "label": [d.label.value for d in documents],
            "group": [d.group for d in documents],
            "words": [d.n_words for d in documents],
            "words removed": [d.n_words_removed for d in documents],
            "file": [d.source_name for d in documents],
            "warnings": [" ".join(d.warnings) for d in documents],
        },
        index=[d.key for d in documents],
    )
    edited = st.data_editor(
        table,
        hide_index=True,
        disabled=["title", "words", "words removed", "file", "warnings"],
        column_config={
            "delete": st.column_config.CheckboxColumn("✕", help="Mark for deletion", width="small"),
            "title": st.column_config.TextColumn(width="medium"),
            "label": st.column_config.SelectboxColumn(options=[label.value for label in Label], required=True),
            "group": st.column_config.TextColumn(help="Texts of one group (a book) are kept together"),
            "words": st.column_config.NumberColumn(format="localized"),
            "words removed": st.column_config.NumberColumn(format="localized"),
        },
        key=f"documents_{hash(tuple(documents))}",
    )
    changed = edited[(edited["label"] != table["label"]) | (edited["group"] != table["group"])]
    for key, row in changed.iterrows():
        workspace().mark(int(str(key)), Label(row["label"]), str(row["group"] or "").strip())
    if len(changed):
        st.rerun()
    marked = [int(key) for key in edited.index[edited["delete"]]]
    what = "this text and what was stored of it" if len(marked) == 1 else f"{len(marked)} texts and what was stored"
    if marked and st.button(f"Delete {what}", icon=":material/delete:"):
        workspace().delete(marked)
        st.rerun()


def document_preview(documents: list[StoredDocument]) -> None:
    """One document as it was brought, with what cleaning took out greyed, and the way to clean it otherwise."""
    titles = {d.key: f"{d.title} ({d.n_words:,} words)" for d in documents}
    key = st.selectbox("Open a text", list(titles), format_func=titles.__getitem__)
    try:
        document = workspace().open(key)
    except AuditError as error:
        show_error(error)
        return
    for warning in document.warnings:
        st.warning(as_text(warning), icon=":material/warning:")
    removed = removed_words(document)
    kept = len(document.text.split())
    parts = [f"{n:,} by “{STEPS[step].about}”" for step, n in removed.items() if step in STEPS]
    st.markdown(
        f"**{kept:,} words remain"
        + (f"; {sum(removed.values()):,} were removed:** {', '.join(parts)}." if removed else "; none were removed.**")
    )
    st.html(preview_html(document))
    _clean_otherwise(key, document)


def preview_html(document: Document) -> str:
    """The original with removed parts struck and greyed; long runs that stayed are cut in the middle.

    Everything that comes from the document is escaped.
    """
    shown = []
    for number, piece in enumerate(pieces(document)):
        if number == MOST_PIECES:
            shown.append("<p><em>… and so on to the end of the text.</em></p>")
            break
        if piece.step is None:
            shown.append(escape(_shortened(piece.original)))
            continue
        about = escape(STEPS[piece.step].about if piece.step in STEPS else piece.step, quote=True)
        shown.append(f'<del title="{about}" style="opacity:.45">{escape(_shortened(piece.original))}</del>')
        if piece.text_now.strip():
            shown.append(f'<ins title="{about}" style="text-decoration-style:dotted">{escape(piece.text_now)}</ins>')
    style = (
        "white-space:pre-wrap;overflow-wrap:anywhere;max-height:26rem;overflow-y:auto;padding:.8rem 1rem;"
        "border:1px solid rgba(128,128,128,.4);border-radius:.4rem;line-height:1.55;font-size:.92rem"
    )
    return f'<div style="{style}">{"".join(shown)}</div>'


def _shortened(text: str) -> str:
    """`text`, or its first and last words where it is long."""
    if len(text) <= LONGEST_RUN:
        return text
    half = LONGEST_RUN // 2
    start = text.rfind(" ", 0, half) + 1 or half
    end = text.find(" ", len(text) - half)
    end = len(text) - half if end == -1 else end
    return f"{text[:start]}… [{len(text[start:end].split()):,} words] …{text[end:]}"


def _clean_otherwise(key: int, document: Document) -> None:
    with st.expander("Clean it otherwise"):
        without = [
            step.name
            for step in STEPS.values()
            if not st.checkbox(step.about, step.name in document.steps, key=f"again_{key}_{step.name}")
        ]
        if st.button("Clean again", key=f"again_{key}"):
            workspace().replace(key, clean_again(document, without))
            st.rerun()
