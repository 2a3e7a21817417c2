"""A verdict as people read it: one word, what it means here, every reason, and how far it reaches."""

from __future__ import annotations

import re

import streamlit as st

from auditlib.audits.unlearning import ForgottenWord, UnlearningVerdict
from auditlib.evidence import Verdict, Word
from auditlib.ui.messages import as_text

_LOOKS: dict[str, tuple[str, str]] = {
    Word.SUPPORTED: (":material/task_alt:", "blue"),
    Word.NOT_SUPPORTED: (":material/do_not_disturb_on:", "gray"),
    Word.INCONCLUSIVE: (":material/help:", "orange"),
    ForgottenWord.FORGOTTEN: (":material/task_alt:", "blue"),
    ForgottenWord.NOT_FORGOTTEN: (":material/do_not_disturb_on:", "gray"),
}


def _with_minus_signs(sentence: str) -> str:
    return re.sub(r"(?<!\S)-(?=\d)", "−", sentence)


def verdict_box(verdict: Verdict | UnlearningVerdict, meaning: str) -> None:
    """`meaning` is one plain sentence of what the word says in this place."""
    with st.container(border=True):
        word = verdict.word.value
        icon, colour = _LOOKS[verdict.word]
        st.markdown(f"#### {icon} :{colour}[{word[0].upper()}{word[1:]}]")
        st.markdown(f"**{as_text(meaning)}**")
        st.markdown(
            "  \n".join(
                f"{':material/check:' if holds else ':material/close:'} {as_text(_with_minus_signs(sentence))}"
                for holds, sentence in verdict.reasons
            )
        )
        st.caption(as_text(verdict.limits))
