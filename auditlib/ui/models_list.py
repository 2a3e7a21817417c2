"""The models by name, in a table, and the one of them that is looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from auditlib.jobs import LoadedModel, SavedModel
from auditlib.models.bundled import LANGUAGE_MODEL
from auditlib.models.request import ModelRequest
from auditlib.ui.messages import one_line
from auditlib.ui.model_fields import kind_of, model_words
from auditlib.ui.models import current_request, model_name

CHOSEN = "models_chosen"
NEXT = "models_next"
KINDS = {"bundled": "bundled", "here": "on this machine", "hub": "from the hub", "server": "behind a server"}


@dataclass(frozen=True)
class ListedModel:
    """A model of the list. `request` is None where what was kept cannot be understood, and `problem` says so."""

    name: str
    request: ModelRequest | None
    is_saved: bool = True
    problem: str = ""

    @property
    def label(self) -> str:
        """Its name for a place that knows no Markdown."""
        return one_line(self.name)


def listed(saved: Sequence[SavedModel]) -> dict[str, ListedModel]:
    """Every model that can be chosen: the bundled one, saved ones, and the current one where it is neither."""
    found = {"bundled": ListedModel(f"{LANGUAGE_MODEL.name} (bundled)", ModelRequest(), False)}
    found |= {saved_key(one.name): ListedModel(one.name, one.request, True, one.problem) for one in saved}
    now = current_request()
    if now not in [one.request for one in found.values()]:
        found["current"] = ListedModel(f"{model_name(now)} (current, not saved)", now, False)
    return found


def saved_key(name: str) -> str:
    """What a saved model is called among those listed."""
    return f"saved {name}"


def models_table(models: Mapping[str, ListedModel], held: Sequence[LoadedModel]) -> None:
    """Name, what it is, and whether it is the current one or in memory."""
    in_memory = [model.request for model in held]
    rows = []
    for model in models.values():
        request, state = model.request, []
        if request is not None and request == current_request():
            state.append("current")
        if request is not None and request in in_memory:
            state.append("loaded" if request.endpoint is None else "connected")
        rows.append(
            {
                "Name": model.label,
                "State": ", ".join(state),
                "Where": "cannot be read" if request is None else KINDS[kind_of(request)],
                "What": "" if request is None else one_line(model_words(request)),
            }
        )
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch")


def chosen_model(models: Mapping[str, ListedModel]) -> ListedModel:
    """The one to look at: the current one at first, and one that was just added or renamed."""
    if wanted := st.session_state.pop(NEXT, None):
        st.session_state[CHOSEN] = wanted
    if st.session_state.get(CHOSEN) not in models:
        now = current_request()
        st.session_state[CHOSEN] = next(key for key, model in models.items() if model.request == now)
    key: str = st.selectbox("Model", list(models), key=CHOSEN, format_func=lambda one: models[one].label)
    return models[key]


def look_next_at(name: str) -> None:
    """The saved model of that name is looked at when the page is drawn anew."""
    st.session_state[NEXT] = saved_key(name)
