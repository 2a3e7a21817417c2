"""How documents are cut into snippets, as pages ask for it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from auditlib.core import Document
from auditlib.documents.cutting import METHODS, Cutting
from auditlib.documents.snippets import Cut


def choose_cutting(key: str, usual: Cutting | None = None) -> Cutting:
    """Four fields in a row, at `usual` until somebody moves them. `key` tells the fields of one page from another's."""
    usual = usual or Cutting()
    began = {"method": usual.method, "count": usual.count, "words": usual.words, "seed": usual.seed}
    for field, value in began.items():
        st.session_state.setdefault(f"{key}_{field}", value)
    method, count, words, seed = st.columns([2, 1, 1, 1])
    chosen: str = method.selectbox(
        "What is scored", list(METHODS), format_func=METHODS.__getitem__, key=f"{key}_method"
    )
    n = count.number_input("Snippets a text", 1, 10_000, disabled=chosen != "sample", key=f"{key}_count")
    w = words.number_input("Words a snippet", 1, 100_000, disabled=chosen == "whole", key=f"{key}_words")
    s = seed.number_input("Seed", 0, 2**31 - 1, disabled=chosen != "sample", key=f"{key}_seed")
    return Cutting(chosen, int(n), int(w), int(s))


@st.cache_data(show_spinner="Cutting snippets …", max_entries=4)
def cuts_of(key: tuple[tuple[str, ...], ...], _documents: Sequence[Document], cutting: Cutting) -> list[Cut]:
    """Every document cut the same way; `key` names the documents with their labels and groups."""
    return [cutting.cut(document) for document in _documents]


def key_of(documents: Sequence[Document]) -> tuple[tuple[str, ...], ...]:
    """What names documents for a cache: their texts' hashes, labels, groups and titles."""
    return tuple((d.id, d.label.value, d.group, d.title) for d in documents)
