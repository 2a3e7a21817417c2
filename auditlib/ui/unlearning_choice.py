"""The unlearning audit before it runs: which models, which works in which role, and how they are tested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import streamlit as st

from auditlib.audits.unlearning import DEMO_SETTINGS, Chunks, Role, UnlearningSettings, cut_works, read_questions
from auditlib.core import AuditError, Label
from auditlib.jobs.plain import to_plain
from auditlib.jobs.unlearning_texts import (
    RoleDocument,
    UnlearningParameters,
    chosen_works,
    demo_parameters,
    questions_file,
    unlearning_parameters,
)
from auditlib.models.request import ModelRequest
from auditlib.scoring import SCORES
from auditlib.store.workspace import DEFAULT_NAME
from auditlib.ui.library import store, workspace
from auditlib.ui.messages import as_text, show_error, some
from auditlib.ui.model_fields import model_fields
from auditlib.ui.models import current_request, model_name
from auditlib.ui.runs import start_form
from auditlib.ui.unlearning_judge import choose_judge

KIND = "unlearning"
DOCUMENTS, DEMO = "From Documents", "Demo"
LEFT_OUT = "left out"
ROLE_OF = {Label.MEMBER: Role.KEEP, Label.NON_MEMBER: Role.HELD_OUT, Label.UNKNOWN: Role.FORGET}
FIELDS = ("chunk_words", "prompt_words", "samples", "new_tokens", "most_chunks")
MOST_NOTES = 6


@dataclass(frozen=True)
class ChosenUnlearning:
    """What a run would be asked for, with the files that it brings."""

    parameters: UnlearningParameters
    chunks: Chunks
    files: Mapping[str, bytes]


def load_demo() -> None:
    """The demo's books, its three models and its settings."""
    st.session_state["unlearning_way"] = DEMO
    _fill(DEMO_SETTINGS)


def choose_unlearning() -> ChosenUnlearning | None:
    """Draws the choice; None where there is nothing to audit yet, or it cannot be audited so."""
    st.session_state.setdefault("unlearning_way", DOCUMENTS)
    way = st.segmented_control(
        "Where the works come from",
        [DOCUMENTS, DEMO],
        key="unlearning_way",
        label_visibility="collapsed",
        on_change=_fill_for_way,
    )
    try:
        parameters = _demo() if way == DEMO else _from_documents()
        if parameters is None:
            return None
        parameters = replace(parameters, settings=_settings())
        parameters = replace(parameters, seed=parameters.settings.seed)
        unlearning_parameters(to_plain(parameters))
        chunks = _chunks(parameters)
        _counts(chunks)
        files = _questions()
        parameters = choose_judge(parameters, chunks, has_questions=bool(files))
    except AuditError as error:
        show_error(error)
        return None
    return ChosenUnlearning(parameters, chunks, files)


def start_unlearning(chosen: ChosenUnlearning) -> None:
    """The button that starts the run."""
    asked = chosen.parameters
    n_models = 2 if asked.reference is None else 3
    settings = asked.settings
    n_completed = sum(min(len(chosen.chunks.of(role)), settings.most_chunks) for role in Role)
    each = f"at most {settings.new_tokens:,} tokens" if settings.new_tokens else "as long as the work goes on"
    start_form(
        KIND,
        f"{model_name(asked.unlearned)}: forgotten?",
        lambda: asked,
        f"{n_models} models read {some(len(chosen.chunks.chunks), 'chunk')} each; then {n_completed:,} of them are "
        f"continued {settings.samples:,} times, {each}. On two processor cores the demo takes some minutes, full-sized "
        "models on a processor hours: it goes on when this page is closed. Window and ratings are changed afterwards.",
        "Audit",
        lambda: chosen.files,
    )


def _demo() -> UnlearningParameters:
    st.caption(
        "Four short books written for this program. The planted model was taught two of them; another adapter then "
        "made it forget the first. The other two nobody has ever read, and the bundled model without any adapter has "
        "seen none of the four. So the right answers are known."
    )
    return demo_parameters()


def _from_documents() -> UnlearningParameters | None:
    stored = workspace().documents()
    if not stored:
        st.info(
            "No works yet. Bring them on the Documents page: those to be forgotten, and, if you can, some to be kept "
            "and some that no model saw (newer than both, or never published). Or look at the demo.",
            icon=":material/library_books:",
        )
        return None
    left, right = st.columns(2)
    with left:
        original = model_fields(current_request(), "unlearning_original", "Original model")
    with right:
        unlearned = model_fields(current_request(), "unlearning_unlearned", "Unlearned model")
    reference = None
    if st.checkbox("Compare with a model that never saw the works to be forgotten", key="unlearning_has_reference"):
        reference = model_fields(ModelRequest(), "unlearning_reference", "Never-trained model")
    if original == unlearned:
        st.warning(
            "Original and unlearned model are the same. Open them above, and say which is which.",
            icon=":material/content_copy:",
        )
    st.markdown(
        "Each text of **Documents** has a role by its mark: non-members were never seen, members are to be kept, "
        "unmarked ones to be forgotten. Change it here:"
    )
    edited = st.data_editor(
        pd.DataFrame(
            [
                {
                    "Role": ROLE_OF[one.label].value,
                    "Work": one.group or one.title,
                    "Words": one.n_words,
                    "File": one.source_name,
                }
                for one in stored
            ]
        ),
        key=f"unlearning_table_{len(stored)}",
        hide_index=True,
        disabled=["Words", "File"],
        column_config={
            "Role": st.column_config.SelectboxColumn(options=[*(r.value for r in Role), LEFT_OUT], required=True),
            "Words": st.column_config.NumberColumn(format="localized"),
        },
    )
    documents = tuple(
        RoleDocument(one.document_id, Role(row["Role"]), str(row["Work"] or ""))
        for one, row in zip(stored, edited.to_dict("records"), strict=True)
        if row["Role"] != LEFT_OUT
    )
    return UnlearningParameters(original, unlearned, reference, documents=documents)


def _settings() -> UnlearningSettings:
    _fill(UnlearningSettings(), only_missing=True)
    with st.expander("How they are tested"):
        first = st.columns(4)
        score: str = first[0].selectbox(
            "Score",
            list(SCORES),
            index=list(SCORES).index("min_k"),
            format_func=lambda name: SCORES[name].label,
            key="unlearning_score",
        )
        k = first[1].number_input("k (% of tokens)", 1.0, 100.0, 20.0, 5.0, "%g", key="unlearning_k")
        words = first[2].number_input("Words in a chunk", 1, 100_000, key="unlearning_chunk_words")
        prompt = first[3].number_input("of which are the prompt", 1, 100_000, key="unlearning_prompt_words")
        second = st.columns(4)
        samples = second[0].number_input("Continuations of each", 1, 100, key="unlearning_samples")
        tokens = second[1].number_input(
            "Tokens of each", 0, 1024, key="unlearning_new_tokens", help="0: as many as the work's own continuation has"
        )
        most = second[2].number_input(
            "Chunks continued, of each role", 2, 10_000, key="unlearning_most_chunks", help="drawn at random"
        )
        margin = second[3].number_input(
            "Margin", 0.01, 0.49, 0.1, 0.05, key="unlearning_margin", help="difference of AUCs that would not matter"
        )
        third = st.columns(4)
        seed = third[0].number_input("Seed", 0, 2**31 - 1, 0, key="unlearning_seed")
    return UnlearningSettings(
        chunk_words=int(words),
        prompt_words=int(prompt),
        score=score,
        k=float(k),
        samples=int(samples),
        new_tokens=int(tokens),
        most_chunks=int(most),
        margin=float(margin),
        seed=int(seed),
    )


def _fill_for_way() -> None:
    _fill(DEMO_SETTINGS if st.session_state.get("unlearning_way") == DEMO else UnlearningSettings())


def _fill(settings: UnlearningSettings, only_missing: bool = False) -> None:
    for name in FIELDS:
        if not only_missing or f"unlearning_{name}" not in st.session_state:
            st.session_state[f"unlearning_{name}"] = getattr(settings, name)


def _chunks(parameters: UnlearningParameters) -> Chunks:
    """The works cut. Raises `AuditError` where they are too short or cannot be had."""
    settings = parameters.settings
    return _cut(
        str(store().home),
        parameters.texts,
        parameters.documents,
        settings.chunk_words,
        settings.prompt_words,
    )


@st.cache_resource(show_spinner="Cutting the works …", max_entries=4)
def _cut(home: str, texts: Any, documents: tuple[RoleDocument, ...], words: int, prompt_words: int) -> Chunks:
    return cut_works(chosen_works(texts, documents, store(), DEFAULT_NAME), words, prompt_words)


def _counts(chunks: Chunks) -> None:
    rows = []
    for role in Role:
        own = chunks.of(role)
        works = {chunk.work for chunk in own}
        rows.append({"Works": role.value, "Number": f"{len(works):,}", "Chunks": f"{len(own):,}"})
    st.table(pd.DataFrame(rows).set_index("Works"))
    for note in chunks.notes[:MOST_NOTES]:
        st.warning(as_text(note), icon=":material/content_cut:")
    if not chunks.of(Role.HELD_OUT):
        st.warning(
            "Without works that neither model ever saw there is nothing to compare with, so the verdict will be "
            "“inconclusive” unless both models are alike.",
            icon=":material/compare:",
        )


def _questions() -> Mapping[str, bytes]:
    file = st.file_uploader(
        "Questions about the works (CSV or JSONL with the columns question and answer), if you have some",
        type=["csv", "tsv", "jsonl"],
        key="unlearning_questions",
    )
    if file is None:
        return {}
    questions = read_questions(file.name, file.getvalue())
    st.caption(f"{some(len(questions.questions), 'question')} from this file.")
    for note in questions.notes[:MOST_NOTES]:
        st.warning(as_text(note), icon=":material/rule:")
    return questions_file(questions)
