"""The judge before it is asked: which chat model, what it may cost, and which texts go to it."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

import streamlit as st

from auditlib.audits.unlearning import Chunks
from auditlib.jobs.unlearning_texts import UnlearningParameters, expected_judging
from auditlib.models.judge_questions import MOST_EACH
from auditlib.models.judge_request import KEY_VARIABLE, JudgeRequest
from auditlib.ui.messages import as_text

PRICED_TOKENS = 1_000_000


def choose_judge(parameters: UnlearningParameters, chunks: Chunks, has_questions: bool) -> UnlearningParameters:
    """The parameters with a judge, where one was named. Raises `AuditError` for one that cannot be."""
    with st.expander("A judge, if you have one"):
        st.markdown(
            "Any chat model behind OpenAI's interface rates from 1 to 5 how alike a completion and the true "
            "continuation are, with a reason. Without one everything else is done, and you can rate completions "
            "yourself."
        )
        address, name = st.columns([3, 2])
        url = address.text_input("Base URL", placeholder="https://server.example/v1", key="unlearning_judge_url")
        model = name.text_input("Model", placeholder="as its server calls it", key="unlearning_judge_model")
        price, most_tokens, most_cost, each = st.columns(4)
        priced = price.number_input(
            "Price of a million tokens", 0.0, None, None, key="unlearning_judge_price", placeholder="unknown"
        )
        tokens = most_tokens.number_input(
            "At most so many tokens", 1, None, None, key="unlearning_judge_tokens", placeholder="no limit"
        )
        cost = most_cost.number_input(
            "At most such a cost", 0.0, None, None, key="unlearning_judge_cost", placeholder="no limit"
        )
        questions = each.number_input(
            "Questions that it makes of each chunk",
            0,
            MOST_EACH,
            0,
            key="unlearning_judged_questions",
            disabled=has_questions,
            help="about works to be forgotten, where you have brought no file of questions",
        )
        st.caption(
            f"Its key is read from {KEY_VARIABLE} in the worker's environment, and sent only to servers that "
            f"{KEY_VARIABLE}_HOSTS names there. It is never typed here, stored or shown."
        )
    if not url.strip():
        return parameters
    judge = JudgeRequest(
        url.strip(),
        model.strip(),
        price=priced or None,
        most_tokens=None if tokens is None else int(tokens),
        most_cost=cost or None,
    )
    asked = replace(parameters, judge=judge, judged_questions=0 if has_questions else int(questions))
    _said(asked, chunks)
    return asked


def _said(asked: UnlearningParameters, chunks: Chunks) -> None:
    """Which texts will go where, and what that costs, before any goes."""
    judge = asked.judge
    if judge is None:
        return
    pairs, tokens = expected_judging(asked, chunks)
    cost = "" if judge.price is None else f", a cost of about {tokens * judge.price / PRICED_TOKENS:,.2f}"
    made = " For its questions, every chunk of the works to be forgotten goes there whole." * bool(
        asked.judged_questions
    )
    st.warning(
        f"**Texts leave this machine:** to {as_text(urlsplit(judge.base_url).netloc)} go "
        f"{pairs:,} pairs of a chunk's true continuation and what the unlearned model wrote, about {tokens:,} tokens"
        f"{cost}, at most twice that where answers have to be asked for again.{made} No other text is sent, and "
        "nothing that was answered before is asked again.",
        icon=":material/outbound:",
    )
