"""The cache of token statistics in one line: what it holds, what it may hold, and the button that clears it."""

from __future__ import annotations

import streamlit as st

from auditlib.core import AuditError, settings
from auditlib.store import CacheSize, Clearing, ClearingState, Store, TokenCache
from auditlib.ui.library import store
from auditlib.ui.messages import show_error, size, some

POLL_SECONDS = 1.0
SAID = "cache_said"


@st.cache_resource(show_spinner=False)
def _clearing(_store: Store, name: str, limit_bytes: int) -> Clearing:
    """One for everybody at this page, so that nobody starts a second one."""
    return Clearing(TokenCache(_store, limit_bytes))


def cache_line() -> None:
    """Size, limit and button; while a clearing is under way, how far it is."""
    st.subheader("Cache of token statistics")
    st.caption(
        "What a model made of a text is kept, so that no text is read twice by the same model. "
        "When the limit is reached, what was not used for longest goes first."
    )
    try:
        clearing = _clearing(store(), store().name, settings().cache_bytes)
        if clearing.state.is_running:
            _followed(clearing)
            return
        _say(st.session_state.pop(SAID, None))
        held = TokenCache(store(), settings().cache_bytes).size()
    except AuditError as error:
        show_error(error)
        return
    words, button = st.columns([4, 1], vertical_alignment="center")
    words.markdown(
        f"Holds **{some(held.rows, 'text')}** in **{size(held.bytes)}** of at most {size(settings().cache_bytes)}."
    )
    if button.button("Clear", icon=":material/mop:", disabled=not held.rows, width="stretch", key="clear_cache"):
        _clear_dialog(clearing, held)


def _say(ended: ClearingState | None) -> None:
    """How a clearing ended that was followed here."""
    if ended is None:
        return
    if ended.problem is not None:
        show_error(ended.problem)
    else:
        st.success(f"The cache is clear: {some(ended.total, 'text')} forgotten.", icon=":material/check:")


@st.dialog("Clear the cache?")
def _clear_dialog(clearing: Clearing, held: CacheSize) -> None:
    st.markdown(
        f"{some(held.rows, 'kept reading')} will be forgotten. Finished runs keep their results, but another k or "
        "threshold for them needs the texts read again, and so does a run that is under way."
    )
    if st.button("Clear the cache", type="primary", icon=":material/mop:"):
        try:
            clearing.start()
        except AuditError as error:
            show_error(error)
            return
        st.rerun()


@st.fragment(run_every=POLL_SECONDS)
def _followed(clearing: Clearing) -> None:
    state = clearing.state
    if not state.is_running:
        st.session_state[SAID] = state
        st.rerun()
    share = min(1.0, state.done / state.total) if state.total else 0.0
    st.progress(share, text=f"Forgotten: {state.done:,} of {state.total:,} texts")
    st.caption("Pages and runs go on meanwhile, and this goes on when the page is closed.")
