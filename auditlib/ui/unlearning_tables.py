"""Questions and their answers, and what both models' scores say about forgetting: tables of a finished audit."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from auditlib.audits.unlearning import UnlearningResult
from auditlib.audits.unlearning.forgetting import Separation
from auditlib.reports.plain_words import interval_text, p_text
from auditlib.reports.unlearning_facts import ROLE_WORDS
from auditlib.ui.messages import as_text, some


def questions(result: UnlearningResult) -> None:
    """What the unlearned model answers, where questions were asked."""
    test = result.questions
    if test is None:
        return
    st.subheader("What it answers")
    for note in test.notes:
        st.caption(as_text(note))
    if not test.lines:
        st.info(f"No answers were drawn. {as_text(test.missing)}", icon=":material/quiz:")
        return
    n_others = len(test.lines) - test.n_selected
    if test.difference is not None and test.p is not None:
        st.markdown(
            f"Of {some(len(test.lines), 'question')}, {test.n_selected:,} read about alike to both models. Their "
            f"answers hold **{test.mean_selected:.0%}** of the right answers' words (ROUGE-L recall), those of the "
            f"{n_others:,} others **{test.mean_unselected:.0%}**: a difference of "
            f"{interval_text(test.difference, '+.2f')}, p {p_text(test.p)} by permutation."
        )
    else:
        st.markdown(
            f"Of {some(len(test.lines), 'question')}, {test.n_selected:,} read about alike to both models. "
            f"{as_text(test.missing)}"
        )
    right = test.correct
    st.markdown(f"**Answered with every word of the right answer:** {some(len(right), 'question')}")
    if right:
        st.dataframe(
            pd.DataFrame(
                [
                    {
                        "Question": line.question,
                        "Right answer": line.answer,
                        "Answer of the unlearned model": line.best,
                        "Right": f"{line.n_correct:,} of {test.samples:,}",
                        "Selected": "yes" if line.selected else "no",
                        "Where it stands": f"{line.place.work}, word {line.place.first_word + 1:,}"
                        if line.place
                        else "in none of the works, word for word",
                        "There": line.place.quotation if line.place else "",
                    }
                    for line in right
                ]
            ),
            hide_index=True,
        )
    with st.expander("All questions"):
        st.dataframe(
            pd.DataFrame(
                [
                    {
                        "Question": line.question,
                        "Right answer": line.answer,
                        "Nearest answer": line.best,
                        "Recall, mean": round(line.mean_recall, 3),
                        "Recall, best": round(line.best_recall, 3),
                        "Ratio": round(line.ratio, 3),
                        "Selected": line.selected,
                    }
                    for line in test.lines
                ]
            ),
            hide_index=True,
        )


def forgetting_tables(result: UnlearningResult) -> None:
    """AUCs before and after with their differences and tests, and how much worse each kind of work is read."""
    found = result.forgetting
    st.subheader("Forgetting as statistics")
    rows = [_row(own, found.margin) for own in (found.forgotten, found.kept) if own is not None and not own.missing]
    if rows:
        st.table(pd.DataFrame(rows).set_index("Against works never seen"))
        st.caption(
            f"How well the score tells works from works that no model saw, as AUC with 95% intervals over "
            f"{found.forgotten.unit}: 1 every time, 0.5 not at all. Equivalence: whether works to be forgotten are "
            f"within {found.margin:g} of the never-trained model (of 0.5, where none was given), and works to be kept "
            "within that of what they were."
        )
    for own in (found.forgotten, found.kept):
        if own is not None and own.missing:
            st.info(as_text(f"{ROLE_WORDS[own.role]}: {own.missing}"), icon=":material/compare:")
    st.table(
        pd.DataFrame(
            [
                {
                    "": ROLE_WORDS[rise.role],
                    "Loss before (nats a token)": f"{rise.original:.2f}",
                    "Loss after": f"{rise.unlearned:.2f}",
                    "Rise (95% interval)": interval_text(rise.rise, "+.2f") if rise.rise else "–",
                }
                for rise in found.rises
            ]
        ).set_index("")
    )


def _row(own: Separation, margin: float) -> dict[str, str]:
    test = own.like_reference or own.like_chance
    if own.role.name == "KEEP":
        test = own.unchanged
    return {
        "Against works never seen": ROLE_WORDS[own.role],
        "Before": interval_text(own.original) if own.original else "–",
        "After": interval_text(own.unlearned) if own.unlearned else "–",
        "Fall": interval_text(own.fall, "+.2f") if own.fall else "–",
        "Never trained": interval_text(own.reference) if own.reference else "–",
        f"Equivalent within {margin:g}": "–" if test is None else ("yes" if test.equivalent else "not shown"),
    }
