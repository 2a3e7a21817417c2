"""All runs in a table that follows them: filtered, sorted, and picked from, one or several.

Which runs are picked is kept by their ids and not by their rows, since rows move when runs come and go or the filter
changes. One run alone is in the address too, as ?run=ID, so that it can be passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pandas as pd
import streamlit as st

from auditlib.core import AuditError
from auditlib.jobs import KINDS
from auditlib.store import UNFINISHED, RunLine, RunState
from auditlib.ui.messages import one_line, show_error, some
from auditlib.ui.runs import LINK, jobs
from auditlib.ui.times import zone_name, zone_of_reader

POLL_SECONDS = 2.0
MOST_HEIGHT = 420  # pixels: what is picked shall be in sight below
ROW_HEIGHT = 35
PICKED, DRAWN, SEEN_LINK = "runs_picked", "runs_drawn", "runs_seen_link"
TABLE, SHOWN = "runs_table", "runs_shown"
FILTERS = ("runs_text", "runs_kind", "runs_state", "runs_who")
NOBODY = "nobody named"

_EPOCH = datetime.min.replace(tzinfo=UTC)
ORDERS: dict[str, Callable[[Sequence[RunLine], datetime], list[RunLine]]] = {
    "newest first": lambda lines, now: list(lines),
    "oldest first": lambda lines, now: list(reversed(lines)),
    "name": lambda lines, now: sorted(lines, key=lambda line: line.name.casefold()),
    "longest": lambda lines, now: sorted(lines, key=lambda line: line.seconds(now) or 0.0, reverse=True),
    "last ended": lambda lines, now: sorted(lines, key=lambda line: line.finished or _EPOCH, reverse=True),
    "state": lambda lines, now: sorted(lines, key=lambda line: list(RunState).index(line.state)),
}


def picked() -> tuple[str, ...]:
    """Ids of the runs that are picked: those of the table, or the one of the address."""
    link = st.query_params.get(LINK)
    if link is not None and link != st.session_state.get(SEEN_LINK):
        pick((link,))
    ids: tuple[str, ...] = st.session_state.get(PICKED, ())
    if link is None and len(ids) == 1:  # back from another page, whose address knew nothing of it
        pick(ids)
    return ids


def pick(ids: tuple[str, ...]) -> None:
    """These runs, and no others, are picked from now on."""
    st.session_state[PICKED] = ids
    st.session_state[SEEN_LINK] = ids[0] if len(ids) == 1 else None
    if len(ids) == 1:
        st.query_params[LINK] = ids[0]
    else:
        st.query_params.pop(LINK, None)


def runs_table(lines: Sequence[RunLine]) -> None:
    """Filters and table, drawn anew every two seconds while a run is under way."""
    busy = _is_busy(lines)
    st.session_state[DRAWN] = (st.session_state.get(PICKED, ()), busy)
    st.fragment(_followed_table, run_every=POLL_SECONDS if busy else None)()


def matching(
    lines: Sequence[RunLine], text: str, kinds: Sequence[str], states: Sequence[str], whos: Sequence[str]
) -> list[RunLine]:
    """Those that have `text` in name, model, person or id, and are of the kinds, states and persons asked for.

    None asked for is any. The order stays.
    """
    sought = text.strip().casefold()
    return [
        line
        for line in lines
        if (not kinds or line.kind in kinds)
        and (not states or line.state.value in states)
        and (not whos or (line.who or NOBODY) in whos)
        and sought in "\n".join((line.name, *line.models, line.who, line.id)).casefold()
    ]


def state_text(line: RunLine) -> str:
    """The state in a word, with how much of the stage is done while that is known."""
    at = line.progress
    if line.state is not RunState.RUNNING or at is None:
        return line.state.value
    share = f" {min(1.0, at.done / at.total):.0%}" if at.total else ""
    return f"{at.stage or line.state.value}{share}"


def kind_label(kind: str) -> str:
    """What people call a kind; its bare name where this version does not know it."""
    return KINDS[kind].label if kind in KINDS else kind


def _is_busy(lines: Sequence[RunLine]) -> bool:
    return any(line.state in UNFINISHED for line in lines)


def _followed_table() -> None:
    try:
        lines = jobs().lines()
    except AuditError as error:
        show_error(error)
        return
    now = datetime.now(UTC)
    shown = _filtered(lines, now)
    ids = [line.id for line in shown]
    chosen: tuple[str, ...] = st.session_state.get(PICKED, ())
    if len(chosen) > 1 and not set(chosen) <= set(ids):
        pick(tuple(one for one in chosen if one in ids))  # nobody deletes what he does not see
    if not shown:
        st.info("No run is like that.", icon=":material/filter_alt_off:")
        st.button("Clear the filter", on_click=_clear_filter, icon=":material/filter_alt_off:")
    else:
        _table(shown, ids, now)
    n = f"{some(len(shown), 'run')} of {len(lines):,}" if len(shown) < len(lines) else some(len(lines), "run")
    st.caption(f"{n}. Tick one to see it, two to compare them, several to cancel or delete them together.")
    if (st.session_state.get(PICKED, ()), _is_busy(lines)) != st.session_state.get(DRAWN):
        st.rerun()  # what stands below is of other runs now, or there is nothing more to follow


def _table(shown: Sequence[RunLine], ids: list[str], now: datetime) -> None:
    rows = [place for place, one in enumerate(ids) if one in st.session_state.get(PICKED, ())]
    held = st.session_state.get(TABLE)
    if held is None or sorted(held["selection"]["rows"]) != rows:
        st.session_state[TABLE] = {"selection": {"rows": rows, "columns": [], "cells": []}}
    st.session_state[SHOWN] = ids
    zone = zone_of_reader()
    created = f"Created ({zone_name(zone)})"
    table = pd.DataFrame(
        {
            "Name": [one_line(line.name) or "(no name)" for line in shown],
            "State": [state_text(line) for line in shown],
            "Kind": [one_line(kind_label(line.kind)) for line in shown],
            "Model": [one_line(", ".join(line.models)) for line in shown],
            "Who": [one_line(line.who) for line in shown],
            created: pd.Series([line.created.astimezone(zone) for line in shown]),
            "Took": pd.to_timedelta([_rounded(line.seconds(now)) for line in shown], unit="s"),
        }
    )
    st.dataframe(
        table,
        hide_index=True,
        height=min(MOST_HEIGHT, ROW_HEIGHT * (len(shown) + 1) + 3),
        column_config={
            "State": st.column_config.TextColumn(width=95),
            "Kind": st.column_config.TextColumn(width=80),
            "Model": st.column_config.TextColumn(width=115),
            "Who": st.column_config.TextColumn(width=80),
            created: st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm", width=150),
            "Took": st.column_config.NumberColumn(
                format="localized", width=95, alignment="left", help="From its start to its end, pauses included"
            ),
        },
        key=TABLE,
        selection_mode="multi-row",
        on_select=_select,
        placeholder="–",
    )


def _rounded(seconds: float | None) -> float | None:
    """Whole seconds, and from an hour on whole minutes."""
    if seconds is None:
        return None
    return float(round(seconds) if seconds < 3600 else 60 * round(seconds / 60))


def _select() -> None:
    ids: list[str] = st.session_state.get(SHOWN, [])
    pick(tuple(ids[row] for row in st.session_state[TABLE]["selection"]["rows"] if row < len(ids)))


def _filtered(lines: Sequence[RunLine], now: datetime) -> list[RunLine]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            "Search", placeholder="name, model, who, id", key=FILTERS[0], width=180, icon=":material/search:"
        )
        kinds = _several("Kind", {line.kind for line in lines}, FILTERS[1], kind_label)
        states = _several("State", {line.state.value for line in lines}, FILTERS[2])
        whos = _several("Who", {line.who or NOBODY for line in lines}, FILTERS[3])
        order = st.selectbox("Order", list(ORDERS), key="runs_order", width=130)
    return ORDERS[order](matching(lines, text, kinds, states, whos), now)


def _several(label: str, there: set[str], key: str, said: Callable[[str], str] = str) -> list[str]:
    options = sorted(there)
    if held := st.session_state.get(key):  # what was chosen may be gone meanwhile
        st.session_state[key] = [value for value in held if value in there]
    return st.multiselect(
        label, options, key=key, format_func=lambda value: one_line(said(value)), placeholder="any", width=140
    )


def _clear_filter() -> None:
    for key in FILTERS:
        st.session_state[key] = "" if key == FILTERS[0] else []
