"""Two models beside each other: what they are, how far they agree on a text, and how fast they read it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from auditlib.core import AuditError, ModelIdentity, TokenStats
from auditlib.jobs import RemoteModel
from auditlib.models.agreement import Agreement, agreement
from auditlib.models.request import ModelRequest
from auditlib.ui.messages import as_text, one_line, show_error
from auditlib.ui.models_list import ListedModel
from auditlib.ui.runs import jobs
from auditlib.ui.served import sending_notice

COMPARED = "models_compared"
HASH = re.compile("[0-9a-f]{64}")
SHOWN_HASH = 16  # of its 64 letters
TEXT = (
    "The committee met on a grey morning to hear what the river had done to the lower fields. Nobody had brought the "
    "map, and so the engineer drew one on the back of the agenda, with the mill where the school should have been."
)
FIELDS = {
    "name": "Name",
    "source": "Asked for as",
    "revision": "Revision",
    "weights_sha256": "Weights (SHA-256)",
    "config_sha256": "Configuration (SHA-256)",
    "tokenizer_sha256": "Tokenizer (SHA-256)",
    "dtype": "Data type",
    "backend": "Backend",
    "adapter": "Adapter (SHA-256)",
}


@dataclass(frozen=True)
class Compared:
    """Two models that have read one text: a speed is in tokens a second, of that reading."""

    requests: tuple[ModelRequest, ModelRequest]
    identities: tuple[ModelIdentity, ModelIdentity]
    speeds: tuple[float | None, float | None]
    n_tokens: tuple[int, int]
    agreement: Agreement


def compare_models(models: Mapping[str, ListedModel]) -> None:
    """Two of them, a text, and what came of it."""
    usable = {key: model for key, model in models.items() if model.request is not None}
    if len(usable) < 2:
        st.info("Add a second model first; then the two can be compared.", icon=":material/lightbulb:")
        return
    left, right = st.columns(2)
    keys = list(usable)
    first: str = left.selectbox("First", keys, 0, format_func=lambda k: usable[k].label, key="models_first")
    second: str = right.selectbox("Second", keys, 1, format_func=lambda k: usable[k].label, key="models_second")
    text = st.text_area("A short text that both read", TEXT, max_chars=5000, key="models_text")
    requests = (usable[first].request or ModelRequest(), usable[second].request or ModelRequest())
    try:
        clicked = st.button("Compare", type="primary", icon=":material/compare_arrows:", key="models_compare")
        for request in dict.fromkeys(requests):  # below the button: see `text_source.text_size`
            sending_notice(jobs(), request, lambda: [(text, 1)])
        if clicked:
            with st.spinner("Both are reading …"):
                st.session_state[COMPARED] = _compared(requests, text)
    except AuditError as error:
        show_error(error)
        return
    done: Compared | None = st.session_state.get(COMPARED)
    if done is not None and done.requests == requests:
        _show(done, usable[first].name, usable[second].name)


def _compared(requests: tuple[ModelRequest, ModelRequest], text: str) -> Compared:
    client = jobs()
    one, other = client.model(requests[0]), client.model(requests[1])
    first, second = _read(one, text), _read(other, text)
    return Compared(
        requests,
        (one.identity, other.identity),
        (one.tokens_per_second, other.tokens_per_second),
        (first.n_tokens, second.n_tokens),
        agreement(first, second),
    )


def _read(model: RemoteModel, text: str) -> TokenStats:
    ((_, stats),) = model.token_stats([text])
    return stats


def _show(done: Compared, first: str, second: str) -> None:
    found = done.agreement
    if found.mean is not None and found.largest is not None:
        st.markdown(
            f"On this text ({done.n_tokens[0]:,} tokens) they differ by **{found.mean:.4f} nats a token** on average, "
            f"and by {found.largest:.4f} at most."
        )
    else:
        st.markdown(
            "They cut this text into **other tokens**, so their log-probabilities cannot be compared one by one."
        )
    names = {first: 0, f"{second} " if second == first else second: 1}
    one, other = (identity.as_dict() for identity in done.identities)
    rows = {
        label: (*map(_shown, (one[field], other[field])), _same(one[field], other[field]))
        for field, label in FIELDS.items()
    }
    rows["Tokens of the text"] = (*(f"{n:,}" for n in done.n_tokens), "")
    rows["Nats a character"] = (f"{found.first:.4f}", f"{found.second:.4f}", "")
    rows["Tokens a second"] = (*("–" if v is None else f"{v:,.0f}" for v in done.speeds), "")
    table = pd.DataFrame.from_dict(rows, orient="index", columns=[*map(one_line, names), ""])
    st.table(table.map(as_text))
    st.caption("Fewer nats a character: the text surprised the model less. Speeds are of this one reading.")


def _shown(value: str | None) -> str:
    if value is None:
        return "–"
    return f"{value[:SHOWN_HASH]}…" if HASH.fullmatch(value) else value


def _same(first: str | None, second: str | None) -> str:
    if any(value is not None and value.startswith("unknown") for value in (first, second)):
        return "not known"
    return "same" if first == second else "differs"
