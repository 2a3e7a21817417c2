"""Where a calibration's two sets come from: the workspace's documents, files uploaded here, or the demo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from auditlib.audits.demo import demo_passages, planted_request
from auditlib.audits.sets import LabelledSets, labelled_sets, told_apart
from auditlib.core import AuditError, Document, Label, settings
from auditlib.documents import STEPS, Upload, read_files, supported_suffixes
from auditlib.documents.sets import count_sets, length_histogram
from auditlib.evidence import plan
from auditlib.ui.calibration_run import ChosenSets
from auditlib.ui.cutting import choose_cutting, cuts_of, key_of
from auditlib.ui.document_sets import lengths_chart
from auditlib.ui.library import labelled_documents, workspace
from auditlib.ui.messages import as_text, show_error

DOCUMENTS, UPLOADED, DEMO = "From Documents", "Upload here", "Demo"
SET_LABELS = (Label.MEMBER, Label.NON_MEMBER)


def load_demo() -> None:
    """The demo's sets, and the model that was taught one of them."""
    st.session_state["calibrate_way"] = DEMO
    st.session_state["calibrate_cut_method"] = "whole"
    st.session_state["model_request"] = planted_request()


def choose_sets() -> ChosenSets | None:
    """Draws the choice of sets and what was chosen, and how it is cut; None where there is nothing to calibrate."""
    st.session_state.setdefault("calibrate_way", DOCUMENTS)
    way = st.segmented_control(
        "Where the two sets come from",
        [DOCUMENTS, UPLOADED, DEMO],
        key="calibrate_way",
        label_visibility="collapsed",
    )
    try:
        texts, bring = {
            DOCUMENTS: ("documents", _from_documents),
            UPLOADED: ("brought", _uploaded),
            DEMO: ("demo", _demo),
        }[way or DOCUMENTS]
        documents = bring()
        if not documents:
            return None
        cutting = choose_cutting("calibrate_cut")
        apart = told_apart(documents)
        cuts = cuts_of(key_of(apart), apart, cutting)
        sets = _sets(key_of(apart), cutting, [snippet for cut in cuts for snippet in cut.snippets])
    except AuditError as error:
        show_error(error)
        return None
    _show(sets, [cut.note for cut in cuts if cut.note])
    return ChosenSets(texts, tuple(documents), cutting, sets)


@st.cache_data(show_spinner="Comparing the two sets …", max_entries=4)
def _sets(key: Any, cutting: Any, _snippets: Sequence[Any]) -> LabelledSets:
    return labelled_sets(_snippets)


def _from_documents() -> list[Document]:
    labelled = [d for d in workspace().documents() if d.label is not Label.UNKNOWN]
    if not labelled:
        st.info(
            "No document is marked as a member or a non-member yet. Bring texts on the Documents page and mark them "
            "there, upload the two sets here, or look at the demo.",
            icon=":material/library_books:",
        )
        return []
    marks = tuple((d.key, d.document_id, d.label.value, d.group) for d in labelled)
    return labelled_documents(str(settings().home_folder), marks)


def _uploaded() -> list[Document]:
    """Files of members and files of non-members; a label that stands in a file gives way to the box it was put in."""
    documents: list[Document] = []
    explained = {
        Label.MEMBER: "Members: texts known to be in the training data",
        Label.NON_MEMBER: "Non-members: texts known not to be",
    }
    for column, label in zip(st.columns(2), SET_LABELS, strict=True):
        files = column.file_uploader(
            explained[label], accept_multiple_files=True, key=f"calibrate_upload_{label.value}"
        )
        if not files:
            continue
        found, errors = _read(tuple(file.file_id for file in files), [(file.name, file.getvalue()) for file in files])
        documents += [replace(document, label=label) for document in found]
        with column:
            for error in errors:
                show_error(error)
    if not documents:
        st.caption(f"Any of {', '.join(supported_suffixes())}; tables give one text a row.")
    return documents


@st.cache_data(show_spinner="Opening the files …", max_entries=8)
def _read(file_ids: tuple[str, ...], _files: Sequence[tuple[str, bytes]]) -> tuple[list[Document], list[AuditError]]:
    results = list(read_files([Upload(name, data) for name, data in _files], tuple(STEPS)))
    documents = [document for result in results for document in result.documents]
    return documents, [result.error for result in results if result.error is not None]


def _demo() -> list[Document]:
    st.caption(
        "80 passages written for this program, so no published model has read them. A coin, in the form of a seed "
        "fixed beforehand, made half of them members: these were then taught to the planted model, and only these."
    )
    return _demo_passages()


@st.cache_data(show_spinner="Opening the demo …")
def _demo_passages() -> list[Document]:
    return demo_passages()


def _show(sets: LabelledSets, notes: Sequence[str]) -> None:
    counts = count_sets(sets.snippets)
    rows = [
        {
            "Set": f"{label.value}s",
            "Texts": f"{counts[label].snippets:,}",
            "Works they are from": f"{counts[label].groups:,}",
            "Words": f"{counts[label].words:,}",
        }
        for label in SET_LABELS
    ]
    st.table(pd.DataFrame(rows).set_index("Set"))
    for note in sets.notes:
        st.warning(as_text(note), icon=":material/content_copy:")
    with st.expander("What sets of this size can show, and how long their texts are"):
        members, others = counts[Label.MEMBER], counts[Label.NON_MEMBER]
        try:
            for sentence in plan(members.snippets, others.snippets, members.groups, others.groups).sentences:
                st.markdown(f"- {as_text(sentence)}")
        except AuditError:
            st.markdown("- Each set needs texts from at least two works before anything can be said.")
        st.plotly_chart(
            lengths_chart(length_histogram(sets.snippets)), key="calibrate_lengths", config={"displaylogo": False}
        )
        for note in notes[:5]:
            st.caption(as_text(note))
        if len(notes) > 5:
            st.caption(f"… and {len(notes) - 5:,} more notes of this kind.")
