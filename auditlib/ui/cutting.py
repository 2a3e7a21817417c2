"""How documents are cut into snippets, as pages ask for it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from auditlib.core import Document
from auditlib.documents.cutting import METHODS, Cutting
from auditlib.documents.snippets import SNIPPETS, WORDS, Cut


def choose_cutting(key: str) -> Cutting:
    """Four fields in a row. `key` tells the fields of one page from another's."""
    method, count, words, seed = st.columns([2, 1, 1, 1])
    chosen: str = method.selectbox(
        "What is scored", list(METHODS), format_func=METHODS.__getitem__, key=f"{key}_method"
    )
    n = count.number_input("Snippets a text", 1, 10_000, SNIPPETS, disabled=chosen != "sample", key=f"{key}_count")
    w = words.number_input("Words a snippet", 1, 100_000, WORDS, disabled=chosen == "whole", key=f"{key}_words")
    s = seed.number_input("Seed", 0, 2**31 - 1, 0, disabled=chosen != "sample", key=f"{key}_seed")
    return Cutting(chosen, int(n), int(w), int(s))


@st.cache_data(show_spinner="Cutting snippets …", max_entries=4)
def cuts_of(key: tuple[tuple[str, ...], ...], _documents: Sequence[Document], cutting: Cutting) -> list[Cut]:
    """Every document cut the same way; `key` names the documents with their labels and groups."""
    return [cutting.cut(document) for document in _documents]


def key_of(documents: Sequence[Document]) -> tuple[tuple[str, ...], ...]:
    """What names documents for a cache: their texts' hashes, labels, groups and titles."""
    return tuple((d.id, d.label.value, d.group, d.title) for d in documents)
