"""How the numbers are made, in plain words, and what they cannot show."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from auditlib.scoring import SCORES
from auditlib.ui.navigation import enter_through_app

enter_through_app(__file__)
st.title("Method")
st.markdown(
    """
**The idea.** A language model gives every word a probability, given the words before it. A text that the model was
trained on tends to hold few words that surprise it much; a new text of the same kind nearly always holds some.
Min-K% Prob (Shi et al., 2024) therefore looks only at the *k* percent of tokens that the model expected least.

**What happens to a text.** It is cut into the model's own tokens and passed through the model once. For each token
five things are kept: its log-probability (in nats; 0 = certain, −2.3 = one in ten, −6.9 = one in a thousand), its
rank among all tokens, the mean and the variance of the log-probability that the model itself expected there, and the
token's place in your text. Every score, chart and colour is computed from these; the model is not asked again. The
Lowercase score alone needs a second reading, of the text in lower case, which is done in the same go.

**Where the first word is.** Some models put a start-of-text mark in front, and then the first word is scored too.
Others do not; the first token is then context only, and shown underlined with dots.

**Long texts.** Nothing is cut off. A text longer than the model's window is read in windows that overlap by half,
and each token is taken from the window in which it has the most text before it.

**Control tokens.** Letters such as `</s>` in your text are read as those letters, and not as the control tokens of
the model that are written with them.
"""
)
st.subheader("The scores")
st.table(
    pd.DataFrame(
        [{"Score": s.label, "What it measures": s.meaning, "How to read it": s.direction} for s in SCORES.values()]
    ).set_index("Score")
)
st.subheader("What this cannot show")
st.markdown(
    """
A score is statistical evidence about a model; it does not show that anything was copied. One score of one text says
little: easy prose scores like known prose, and short texts scatter widely. It begins to mean something when it is
compared with texts of the same kind, length and time whose origin is known.
"""
)
