"""How documents are cut into snippets, as pages ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from auditlib.core import Document
from auditlib.documents.snippets import SNIPPETS, WORDS, Cut, sample, tile, truncate, whole

METHODS = {
    "whole": "whole texts",
    "sample": "a random sample of each",
    "tile": "all of each, piece by piece",
    "truncate": "the first words of each",
}


@dataclass(frozen=True)
class Cutting:
    """One way to cut: `method` is a key of METHODS; `count` and `seed` are of the random sample only."""

    method: str = "whole"
    count: int = SNIPPETS
    words: int = WORDS
    seed: int = 0

    def cut(self, document: Document) -> Cut:
        """The document's snippets."""
        if self.method == "sample":
            return sample(document, self.count, self.words, self.seed)
        if self.method == "tile":
            return tile(document, self.words)
        return truncate(document, self.words) if self.method == "truncate" else whole(document)


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
