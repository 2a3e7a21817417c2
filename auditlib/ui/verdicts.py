"""A verdict as people read it: one word, what it means here, every reason, and how far it reaches."""

from __future__ import annotations

import re

import streamlit as st

from auditlib.evidence import Verdict, Word
from auditlib.ui.messages import as_text

ICONS = {
    Word.SUPPORTED: ":material/task_alt:",
    Word.NOT_SUPPORTED: ":material/do_not_disturb_on:",
    Word.INCONCLUSIVE: ":material/help:",
}
COLOURS = {Word.SUPPORTED: "blue", Word.NOT_SUPPORTED: "gray", Word.INCONCLUSIVE: "orange"}


def _with_minus_signs(sentence: str) -> str:
    return re.sub(r"(?<!\S)-(?=\d)", "−", sentence)


def verdict_box(verdict: Verdict, meaning: str) -> None:
    """`meaning` is one plain sentence of what the word says in this place."""
    with st.container(border=True):
        word = verdict.word.value
        st.markdown(f"#### {ICONS[verdict.word]} :{COLOURS[verdict.word]}[{word[0].upper()}{word[1:]}]")
        st.markdown(f"**{as_text(meaning)}**")
        st.markdown(
            "  \n".join(
                f"{':material/check:' if holds else ':material/close:'} {as_text(_with_minus_signs(sentence))}"
                for holds, sentence in verdict.reasons
            )
        )
        st.caption(as_text(verdict.limits))
