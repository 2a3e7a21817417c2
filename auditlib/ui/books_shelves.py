"""The book audit before it runs: which book stands where, how it is cut and judged, and what that can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd
import streamlit as st

from auditlib.audits.books import BookPlan, BookSettings, Shelf, Shelves, plan_books
from auditlib.audits.companions import CompanionSettings
from auditlib.audits.saved_calibration import Calibration
from auditlib.core import AuditError, Label
from auditlib.documents.catalogue import Entry, read_catalogue
from auditlib.documents.cutting import Cutting
from auditlib.jobs import BooksParameters, ShelvedDocument, chosen_calibration, demo_books_request, planned_shelves
from auditlib.scoring import DEFAULT_K, SCORES
from auditlib.store import StoredDocument
from auditlib.store.workspace import DEFAULT_NAME
from auditlib.ui.calibration_save import saved_calibrations
from auditlib.ui.companion_fields import companion_fields, companion_words, readings
from auditlib.ui.cutting import choose_cutting
from auditlib.ui.library import store, workspace
from auditlib.ui.messages import as_text, show_error
from auditlib.ui.models import current_request, loaded_current, model_name
from auditlib.ui.rules import RULES
from auditlib.ui.runs import start_form

KIND = "books"
DOCUMENTS, DEMO = "From Documents", "Demo"
SHELF_OF = {Label.MEMBER: Shelf.MEMBERS, Label.NON_MEMBER: Shelf.NON_MEMBERS, Label.UNKNOWN: Shelf.AUDITED}
LEFT_OUT = "left out"
REFERENCE_SHELF, SAVED = "Two shelves of known books", "A saved calibration"
CORRECTIONS = {"bh": "Benjamini-Hochberg", "by": "Benjamini-Yekutieli (any dependence)"}
MOST_WARNINGS = 8


@dataclass(frozen=True)
class ChosenBooks:
    """What a run would be asked for, and what is to be expected of it."""

    parameters: BooksParameters
    shelves: Shelves
    plan: BookPlan


def load_demo() -> None:
    """The demo's shelves, its settings, and the model that was taught two of its books."""
    asked = demo_books_request()
    st.session_state["books_way"] = DEMO
    st.session_state["books_reference"] = REFERENCE_SHELF
    st.session_state["books_cut_method"] = asked.cutting.method
    st.session_state["books_cut_words"] = asked.cutting.words
    st.session_state["books_cut_count"] = asked.cutting.count
    st.session_state["model_request"] = asked.model


def choose_books() -> ChosenBooks | None:
    """Draws the choice; None where there is nothing to audit yet, or the shelves cannot be used."""
    st.session_state.setdefault("books_way", DOCUMENTS)
    way = st.segmented_control(
        "Where the books come from", [DOCUMENTS, DEMO], key="books_way", label_visibility="collapsed"
    )
    try:
        documents = _demo() if way == DEMO else _from_documents()
        if documents is None:
            return None
        calibration = _reference()
        cutting = choose_cutting("books_cut", Cutting("sample"))  # the paper's hundred snippets of 512 words
        parameters = BooksParameters(
            current_request(),
            "demo" if way == DEMO else "documents",
            documents,
            calibration,
            cutting,
            _settings(),
            CompanionSettings() if calibration else companion_fields(KIND),
        )
        shelves, plan = _planned(parameters)
    except AuditError as error:
        show_error(error)
        return None
    _show(shelves, plan)
    return ChosenBooks(parameters, shelves, plan)


def start_books(chosen: ChosenBooks) -> None:
    """The button that starts the run."""
    n = len(chosen.shelves.on(Shelf.AUDITED))
    start_form(
        KIND,
        f"{n:,} book{'' if n == 1 else 's'}, {model_name(current_request())}",
        lambda: chosen.parameters,
        " ".join(chosen.plan.facts[-1:])
        + f" {companion_words(chosen.parameters.companions)}"
        + "Afterwards k, score and threshold are changed without reading again.",
        "Audit",
        reads=lambda: readings([one.text for one in chosen.shelves.snippets], chosen.parameters.companions),
    )


def _demo() -> tuple[ShelvedDocument, ...]:
    st.caption(
        "The 80 passages of the demo stand on the known shelves, 40 of them taught to the planted model. Audited are "
        "four short books: two were taught to it ten times over, two were not. Nobody else has read any of them."
    )
    return ()


def _from_documents() -> tuple[ShelvedDocument, ...] | None:
    stored = workspace().documents()
    if not stored:
        st.info(
            "No books yet. Bring them on the Documents page (EPUB, PDF, Word, text, a zip of these; several at once), "
            "mark those that the model is known to have read and those that it cannot have read, and come back; or "
            "look at the demo.",
            icon=":material/library_books:",
        )
        return None
    st.markdown("Every text of **Documents** stands on a shelf by its mark; unmarked ones are audited. Change it here:")
    entries = _catalogue()
    edited = st.data_editor(
        _table(stored, entries),
        key=f"books_table_{len(stored)}_{len(entries)}",
        hide_index=True,
        disabled=["Words", "File"],
        column_config={
            "Shelf": st.column_config.SelectboxColumn(options=[*(s.value for s in Shelf), LEFT_OUT], required=True),
            "Year": st.column_config.NumberColumn(min_value=1000, max_value=2099, step=1, format="%d"),
            "Words": st.column_config.NumberColumn(format="localized"),
        },
    )
    return tuple(
        ShelvedDocument(
            one.document_id,
            Shelf(row["Shelf"]),
            group=str(row["Work"] or ""),
            title=str(row["Title"] or ""),
            author=str(row["Author"] or ""),
            year=None if pd.isna(row["Year"]) else int(row["Year"]),
        )
        for one, row in zip(stored, edited.to_dict("records"), strict=True)
        if row["Shelf"] != LEFT_OUT
    )


def _catalogue() -> Mapping[str, Entry]:
    file = st.file_uploader(
        "A table of books (CSV with the columns file, title, author, year, label), if you have one",
        type=["csv", "tsv"],
        key="books_catalogue",
    )
    return {} if file is None else read_catalogue(file.getvalue(), file.name)


def _table(stored: Sequence[StoredDocument], entries: Mapping[str, Entry]) -> pd.DataFrame:
    rows = []
    for one in stored:
        said = entries.get(one.source_name.replace("\\", "/").rsplit("/", 1)[-1], Entry(None, None, None, None))
        label = one.label if said.label is None else said.label
        title = said.title or one.title
        rows.append(
            {
                "Shelf": SHELF_OF[label].value,
                "Title": title,
                "Author": one.author if said.author is None else said.author,
                "Year": one.year if said.year is None else said.year,
                "Work": title if one.group in ("", one.title) else one.group,
                "Words": one.n_words,
                "File": one.source_name,
            }
        )
    return pd.DataFrame(rows).astype({"Year": "Int64"})


def _reference() -> str:
    """The name of the calibration that takes the place of the known shelves; empty for none."""
    way = st.radio("Judged by", [REFERENCE_SHELF, SAVED], horizontal=True, key="books_reference")
    if way != SAVED:
        return ""
    saved = saved_calibrations()
    if not saved:
        raise AuditError("No calibration is saved yet.", "Save one on the Calibrate page, or judge by known books.")
    chosen: str = st.selectbox("Calibration", list(saved), key="books_calibration")
    calibration: Calibration = saved[chosen]
    st.caption(
        as_text(
            f"{SCORES[calibration.score].label} at k = {calibration.k:g}% under {calibration.model.name}; model, "
            "score, k and length of snippets must be the same here."
        )
    )
    return chosen


def _settings() -> BookSettings:
    with st.expander("How they are judged"):
        score, k, rule, alpha, correction = st.columns(5)
        chosen: str = score.selectbox(
            "Score",
            list(SCORES),
            index=list(SCORES).index("min_k"),
            format_func=lambda n: SCORES[n].label,
            key="books_ask_score",
        )
        percent = k.number_input("k (% of tokens)", 1.0, 100.0, DEFAULT_K, step=5.0, format="%g", key="books_ask_k")
        way: str = rule.selectbox("Threshold by", list(RULES), key="books_ask_rule")
        level = alpha.number_input("Alpha", 0.001, 0.5, 0.05, step=0.01, format="%.3f", key="books_ask_alpha")
        method: str = correction.selectbox(
            "p corrected by", list(CORRECTIONS), format_func=CORRECTIONS.__getitem__, key="books_ask_correction"
        )
    return BookSettings(chosen, float(percent), RULES[way], float(level), method)  # type: ignore[arg-type]


def _planned(parameters: BooksParameters) -> tuple[Shelves, BookPlan]:
    """Shelves and plan. Raises `AuditError` where the shelves cannot be used."""
    calibration = chosen_calibration(parameters, store(), DEFAULT_NAME)
    shelves = _arranged(replace(parameters, settings=BookSettings()))
    model = loaded_current()
    rate = model.tokens_per_second if model else None
    return shelves, plan_books(shelves, parameters.settings, calibration, rate)


@st.cache_resource(show_spinner="Looking through the books …", max_entries=3)
def _arranged(parameters: BooksParameters) -> Shelves:
    return planned_shelves(parameters, store(), DEFAULT_NAME)


def _show(shelves: Shelves, plan: BookPlan) -> None:
    rows = []
    for shelf in Shelf:
        works = [shelves.works[place] for place in shelves.on(shelf)]
        rows.append(
            {
                "Shelf": shelf.value,
                "Works": f"{len(works):,}",
                "Snippets": f"{sum(work.n_snippets for work in works):,}",
                "Words": f"{sum(work.n_words for work in works):,}",
            }
        )
    st.table(pd.DataFrame(rows).set_index("Shelf"))
    for warning in plan.warnings[:MOST_WARNINGS]:
        st.warning(as_text(warning), icon=":material/warning:")
    with st.expander("What shelves of this size can show", expanded=False):
        for sentence in (*plan.warnings[MOST_WARNINGS:], *plan.facts):
            st.markdown(f"- {as_text(sentence)}")
