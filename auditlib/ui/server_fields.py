"""A model behind a server as fields and in words. No key is among them: that is typed elsewhere and kept nowhere."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from auditlib.models.endpoint.keys import KEY_VARIABLE
from auditlib.models.request import AUTO, MOST_AT_ONCE, STYLES, EndpointRequest
from auditlib.ui.served import warn_of_readers

STYLE_WORDS = {
    AUTO: "found out on connecting",
    "openai": "OpenAI's (echo and logprobs)",
    "vllm": "vLLM's (prompt_logprobs)",
}


def server_words(endpoint: EndpointRequest) -> str:
    """Which model, where, and all that was said of it."""
    words = [f"{endpoint.model} behind {endpoint.base_url}"]
    if endpoint.style != AUTO:
        words.append(f"asked in the style {endpoint.style}")
    if endpoint.tokenizer:
        words.append(f"with the tokenizer in {endpoint.tokenizer}")
    if endpoint.context_length:
        words.append(f"with windows of {endpoint.context_length:,} tokens")
    if endpoint.price is not None:
        words.append(f"at {endpoint.price:g} for a million tokens")
    if endpoint.most_tokens is not None:
        words.append(f"for at most {endpoint.most_tokens:,} tokens a run")
    if endpoint.most_cost is not None:
        words.append(f"for at most {endpoint.most_cost:g} a run")
    return ", ".join(words)


def server_fields(now: EndpointRequest | None, key: str) -> Callable[[], EndpointRequest]:
    """Fields filled with `now`; gives what they make, and raises `AuditError` where that makes no sense."""
    left, right = st.columns(2)
    base_url = left.text_input(
        "Base URL",
        now.base_url if now else "",
        placeholder="http://127.0.0.1:8000/v1",
        key=f"{key}_base_url",
        help="As the server's makers print it; it usually ends in /v1. Without user name, password or key.",
    )
    model = right.text_input(
        "Model name", now.model if now else "", key=f"{key}_model", help="The name by which the server knows it."
    )
    warn_of_readers(base_url)
    st.caption("A key is not given here: it is taken from the environment, or typed once the model is added.")
    tokenizer = st.text_input(
        "Folder of its tokenizer (optional)",
        (now.tokenizer or "") if now else "",
        key=f"{key}_tokenizer",
        help="Where tokenizer.json lies on the worker's machine: exact places and counts, long texts in windows.",
    )
    with st.expander("Price, budget, style, limits"):
        price, most_tokens, most_cost = _budget(now, key)
        style, context_length, at_once, variable = _manner(now, key)
    return lambda: EndpointRequest(
        base_url=base_url.strip(),
        model=model.strip(),
        style=style,
        tokenizer=tokenizer.strip() or None,
        context_length=context_length,
        at_once=at_once,
        price=price,
        most_tokens=most_tokens,
        most_cost=most_cost,
        key_variable=variable.strip(),
    )


def _budget(now: EndpointRequest | None, key: str) -> tuple[float | None, int | None, float | None]:
    left, middle, right = st.columns(3)
    price: float | None = left.number_input(
        "Price of a million tokens", 0.0, None, now.price if now else None, key=f"{key}_price", placeholder="not known"
    )
    most_tokens: int | None = middle.number_input(
        "Most tokens a run", 1, None, now.most_tokens if now else None, key=f"{key}_most_tokens", placeholder="no limit"
    )
    most_cost: float | None = right.number_input(
        "Most cost a run", 0.0, None, now.most_cost if now else None, key=f"{key}_most_cost", placeholder="no limit"
    )
    st.caption("In any one currency. A run that would go beyond ends, and what it has read is kept.")
    return price, most_tokens, most_cost


def _manner(now: EndpointRequest | None, key: str) -> tuple[str, int | None, int, str]:
    first, second = st.columns(2)
    style: str = first.selectbox(
        "Style", STYLES, STYLES.index(now.style) if now else 0, format_func=STYLE_WORDS.__getitem__, key=f"{key}_style"
    )
    variable = second.text_input(
        "Environment variable with the key", now.key_variable if now else KEY_VARIABLE, key=f"{key}_variable"
    )
    context_length: int | None = first.number_input(
        "Tokens of one window",
        8,
        None,
        now.context_length if now else None,
        key=f"{key}_context",
        placeholder="as the server says",
    )
    at_once = second.number_input("Requests at once", 1, MOST_AT_ONCE, now.at_once if now else 8, key=f"{key}_at_once")
    return style, context_length, int(at_once), variable
