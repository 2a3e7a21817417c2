"""A model behind a server: where texts go, which key is sent, and every check that was made on connecting."""

from __future__ import annotations

import streamlit as st

from auditlib.core import AuditError
from auditlib.jobs import ServerExamination, saved_models
from auditlib.models.checks import Check, Outcome
from auditlib.models.request import EndpointRequest, ModelRequest
from auditlib.ui.library import store
from auditlib.ui.messages import as_text, one_line, show_error
from auditlib.ui.runs import jobs
from auditlib.ui.served import warn_of_readers, where_texts_go

EXAMINED = "models_examined"
TYPED = "models_keys_typed"
SIGNS = {
    Outcome.PASSED: ":green[:material/check_circle:]",
    Outcome.FAILED: ":red[:material/cancel:]",
    Outcome.NOT_CHECKED: ":gray[:material/remove:]",
}


def server_of_model(request: ModelRequest, endpoint: EndpointRequest) -> None:
    """What is said before anything is sent, the key, and the check."""
    with st.container(border=True):
        st.markdown(
            f"{where_texts_go(request)} Connecting sends a few sentences of ours (some thousand tokens at most), "
            "and no text of yours."
        )
        warn_of_readers(endpoint.base_url)
        try:
            _key(endpoint)
            _check(request)
        except AuditError as error:
            show_error(error)
    examined: dict[ModelRequest, ServerExamination] = st.session_state.setdefault(EXAMINED, {})
    if request in examined:
        _result(examined[request])


def _key(endpoint: EndpointRequest) -> None:
    client = jobs()
    state = client.key_state(endpoint.base_url, endpoint.key_variable)
    sign = ":material/key:" if state.is_sent else ":material/key_off:"
    st.markdown(f"{sign} {as_text(state.said)}")
    with st.expander("Type a key"):
        if not state.is_sent:
            st.caption(as_text(f"If the server wants one: {state.remedy[0].lower()}{state.remedy[1:]}"))
        # A field of another name each time: what was typed in the one before is gone from the page's memory too.
        n_typed = st.session_state.setdefault(TYPED, 0)
        with st.form("models_key", clear_on_submit=True, border=False):
            key = st.text_input(
                "Key for this address", type="password", autocomplete="off", key=f"models_key_{n_typed}"
            )
            sent = st.form_submit_button("Use this key", icon=":material/key:")
        st.caption("The worker holds it in memory for this address until it ends. It is written nowhere.")
        if st.button("Forget the typed key", icon=":material/key_off:", key="models_forget_key"):
            client.forget_key(endpoint.base_url)
            st.session_state.pop(EXAMINED, None)  # what was found was found with another key
            st.rerun()
    if sent:
        st.session_state[TYPED] += 1
        client.remember_key(endpoint.base_url, key)
        st.session_state.pop(EXAMINED, None)
        st.rerun()


def _check(request: ModelRequest) -> None:
    copies: dict[str, ModelRequest | None] = {"none": None}
    copies |= {one.name: one.request for one in saved_models(store()) if one.request and not one.request.endpoint}
    place, button = st.columns([3, 1], vertical_alignment="bottom")
    chosen: str = place.selectbox(
        "A copy of the same model on this machine to compare with (optional)",
        list(copies),
        format_func=one_line,
        key="models_copy",
    )
    if button.button(
        "Connect and check", type="primary", icon=":material/fact_check:", width="stretch", key="models_check"
    ):
        with st.spinner("Connecting and checking …"):
            st.session_state.setdefault(EXAMINED, {})[request] = jobs().examine(request, copies[chosen])
        st.rerun()


def _result(examination: ServerExamination) -> None:
    problem = examination.problem
    if problem is not None:
        show_error(problem)
    else:
        st.success("This server can be used: every check that decides was passed.", icon=":material/check_circle:")
    if examination.checks:
        st.markdown("  \n".join(_line(check) for check in examination.checks))


def _line(check: Check) -> str:
    note = "" if check.outcome is Outcome.PASSED else f" ({check.outcome.value})"
    return f"{SIGNS[check.outcome]} **{as_text(check.name)}**{note}: {as_text(check.sentence)}"
