"""Several runs at once: two compared, any number cancelled or deleted together."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from auditlib.core import AuditError
from auditlib.store import FINISHED, UNFINISHED, Run, RunLine, RunState
from auditlib.ui.messages import as_text, show_error, some
from auditlib.ui.run_views import VIEWS, identity_words, words_of
from auditlib.ui.runs import jobs
from auditlib.ui.runs_dialogs import delete_dialog
from auditlib.ui.runs_table import kind_label


def several_runs(lines: Sequence[RunLine]) -> None:
    """What can be done with all of `lines`, newest first; two of them are shown side by side."""
    unfinished = [line for line in lines if line.state in UNFINISHED]
    finished = [line for line in lines if line.state in FINISHED]
    st.subheader(some(len(lines), "run"))
    with st.container(horizontal=True):
        if st.button(
            f"Cancel {len(unfinished):,}" if unfinished else "Cancel",
            icon=":material/cancel:",
            disabled=not unfinished,
            key="cancel_several",
        ):
            _cancel(unfinished)
        if st.button(
            f"Delete {len(finished):,}" if finished else "Delete",
            icon=":material/delete:",
            disabled=not finished,
            key="delete_several",
        ):
            delete_dialog(finished)
    if unfinished and finished:
        st.caption(f"{some(len(unfinished), 'run')} of these must be cancelled before being deleted.")
    if len(lines) == 2:
        try:
            newer, older = (jobs().run(line.id) for line in lines)
            compare(older, newer)
        except AuditError as error:
            show_error(error)


def compare(first: Run, second: Run) -> None:
    """Two runs side by side, the one that came first on the left. Raises `AuditError`."""
    st.subheader("Side by side")
    st.markdown(f"**First**: {as_text(first.name) or '(no name)'}  \n**Second**: {as_text(second.name) or '(no name)'}")
    if first.kind != second.kind:
        kinds = f"{kind_label(first.kind)} and {kind_label(second.kind)}"
        st.info(f"These are runs of two kinds ({as_text(kinds)}), whose results cannot be set side by side.")
        return
    _differences(first, second)
    missing = [name for name, run in (("first", first), ("second", second)) if run.state is not RunState.DONE]
    if missing:
        which = "Neither run is" if len(missing) == 2 else f"The {missing[0]} run is not"
        st.info(f"{which} done, so there are no results to compare yet.", icon=":material/hourglass_empty:")
    elif first.kind in VIEWS:
        VIEWS[first.kind].compare(first, second)
    else:
        st.info("There is no page for runs of this kind here, so their results cannot be compared.")


def _differences(first: Run, second: Run) -> None:
    one, two = (words_of(run) | _made_with(run) for run in (first, second))
    rows = [
        {
            "What differs": as_text(name),
            "First": as_text(one.get(name, "–")),
            "Second": as_text(two.get(name, "–")),
        }
        for name in dict.fromkeys([*one, *two])
        if one.get(name) != two.get(name)
    ]
    if rows:
        st.table(pd.DataFrame(rows).set_index("What differs"))
    else:
        st.markdown("Both were asked for the same, of the same model.")


def _made_with(run: Run) -> dict[str, str]:
    """Exactly which models and libraries a run had, once they were opened."""
    facts = {f"Version of {name}": version for name, version in run.versions.items()}
    for part, identity in run.identities.items():
        facts |= identity_words(part, identity)
    return facts


def _cancel(lines: Sequence[RunLine]) -> None:
    try:
        n = sum(jobs().cancel(line.id) for line in lines)
    except AuditError as error:
        show_error(error)
        return
    late = len(lines) - n
    st.session_state["runs_said"] = f"{some(n, 'run')} cancelled." + (f" {late:,} had ended already." if late else "")
    st.rerun()
