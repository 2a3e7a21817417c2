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
st.subheader("Calibration: what a score is worth")
st.markdown(
    """
A score means something only beside scores of texts with a known answer. A calibration takes *members* (texts that
were in the training data) and *non-members* (texts that were not) and reports:

- **AUC**, the chance that a random member scores higher than a random non-member: 1 is perfect, 0.5 is chance. It
  always comes with a 95% interval: DeLong's where each text stands alone, and a bootstrap over whole works where
  several texts come from one work, because these are not independent.
- **TPR at 5% FPR**: how many members are found when 5% of non-members may be called members. The threshold is fixed
  on one half of the texts and tried on the other. A rate that so few non-members cannot resolve is refused, not
  estimated.
- **The words alone**: a classifier that never asks the model tries the same task from words, letters, lengths and
  years. On the field's published benchmarks such a classifier beats the published detectors. If it does as well as
  the score, then the score has not been shown to see the model's memory, whatever its AUC.
- **Lengths**, and two runs that must find nothing: labels the other way round, and non-members against non-members.

**The verdict** is one of three words. *Supported*: the AUC's interval lies above 0.5, p after correction for all scores
tried is at most alpha, the score beats the words alone, these account for at most half of the separation, the score
adds to what they tell, lengths are comparable, and no text stands in both sets. *Not supported*: the sets were large
enough to show an AUC of 0.7, and it was not there. *Inconclusive*: anything else, with what is missing.

**One text** is then placed among the calibration's texts: p is the share of non-members of about its length that score
at least as high (with the text itself counted in). This takes the text to be of the same kind as those non-members,
which no computation can check. Where the non-members are pieces of a few works, which score alike, p counts more
witnesses than there are for a text of any other work, and the page says so.
"""
)
st.subheader("Books: which ones a model was trained on")
st.markdown(
    """
Snippets of one book are not independent of each other, so a book is one witness and not a hundred. What is compared is
the mean score of its snippets.

- **p** is the share of known non-member *works* whose mean is at least as high, the book itself counted in: with 40 of
  them it cannot be below 1/41. Over a shelf of books it is corrected by Benjamini-Hochberg (or Benjamini-Yekutieli).
- **The raw rate** is the share of a book's snippets above the threshold. A detector that errs makes it wrong: of a book
  that was never read some snippets are above it all the same. **The corrected rate** takes the errors out that the
  detector made on the known works, and its interval counts how uncertain these are.
- **Word for word**: how likely the model would write 50 tokens of the book by itself after the 50 before them, from the
  same reading as everything else.
"""
)
st.subheader("The demo")
st.markdown(
    """
The demo's 80 passages and 4 short books were written for this program. A seed fixed beforehand made half of them
members; a small adapter was taught these and nothing else (the *planted* model), and a second one was made to forget
one of the books again. So for once the truth is known. The commands that made both are `plant` and `unlearn`.
"""
)
st.subheader("What this cannot show")
st.markdown(
    """
A score is statistical evidence about a model; it does not show that anything was copied. One score of one text says
little: easy prose scores like known prose, and short texts scatter widely. It begins to mean something when it is
compared with texts of the same kind, length and time whose origin is known.
"""
)
