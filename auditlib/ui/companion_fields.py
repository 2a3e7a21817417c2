"""What an audit may read besides its texts, chosen on the page that starts it; models by their saved names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from auditlib.audits.companions import DEMO_CORPUS, MOST_SHOTS, OWN, PREFIX_WORDS, CompanionSettings
from auditlib.core import AuditError
from auditlib.jobs import saved_models
from auditlib.models.request import ModelRequest
from auditlib.scoring import SCORES
from auditlib.store import StoredDocument, Workspace
from auditlib.ui.library import store
from auditlib.ui.messages import as_text, one_line, show_error, some
from auditlib.ui.model_fields import model_words
from auditlib.ui.models_list import ListedModel, listed
from auditlib.ui.served import warn_of_readers, where_texts_go

NONE = "none"
MASKED = "masked"
VARIANTS = {
    NONE: "none",
    OWN: "by the audited model's own likely alternatives",
    MASKED: "by a masked language model (BERT and its kin)",
}
CORPORA = {"": "none", "demo": DEMO_CORPUS, "documents": "documents of the workspace"}


def companion_fields(kind: str) -> CompanionSettings:
    """The fields, folded; `kind` is that of the run. Nothing is read besides unless something is chosen."""
    alone = sum(not score.needs_a_second_look for score in SCORES.values())
    with st.expander("More evidence: a reference model, a placebo, variants, prefixes, a corpus"):
        st.caption(
            f"{alone} scores need the texts alone; the others need what is chosen here. A reference, a placebo and "
            "each prefix take about as long again as reading the texts, variants as many times that as there are of "
            "each."
        )
        try:
            return _fields(kind)
        except AuditError as error:
            show_error(error)
            return CompanionSettings()


def companion_words(settings: CompanionSettings) -> str:
    """What is read besides, in a sentence for the line below a start button; empty where nothing is."""
    said = [
        "by the reference model" if settings.reference else "",
        "by the placebo model" if settings.placebo else "",
        f"in {settings.n_neighbours} variants" if settings.neighbours else "",
        "after two prefixes" if settings.shots else "",
    ]
    return f"Each text is also read {', '.join(filter(None, said))}. " if any(said) else ""


def readings(texts: Sequence[str], settings: CompanionSettings) -> list[tuple[str, int]]:
    """Each text with how often the audited model reads it: as it stands, in lower case, in variants, after prefixes."""
    variants = settings.n_neighbours if settings.neighbours else 0
    reads = [(text, 2 + variants + (2 if settings.shots else 0)) for text in texts]
    # What stands in front is not known yet, but how long it is; it is sent with every text.
    return [*reads, ("known " * (PREFIX_WORDS * settings.shots), 2 * len(texts))] if settings.shots else reads


def companion_facts(settings: CompanionSettings) -> dict[str, str]:
    """What a run reads besides, by what it is; only what was chosen."""
    variants = f"{settings.n_neighbours} of each text, {VARIANTS.get(settings.neighbours, settings.neighbours)}"
    facts = {
        "Reference model": model_words(settings.reference) if settings.reference else "",
        "Placebo model": model_words(settings.placebo) if settings.placebo else "",
        "Variants": variants if settings.neighbours else "",
        "Works in each prefix": str(settings.shots or ""),
        "Corpus": settings.corpus_name or CORPORA[settings.corpus] if settings.corpus else "",
    }
    return {name: said for name, said in facts.items() if said}


def _fields(kind: str) -> CompanionSettings:
    models = listed(saved_models(store()))
    left, right = st.columns(2)
    with left:
        reference = _model(
            "Reference model",
            models,
            f"{kind}_beside_reference",
            "For the score Reference: a model of the same making that has not been trained on these texts.",
        )
    with right:
        placebo = _model(
            "Placebo model",
            models,
            f"{kind}_beside_placebo",
            "A model that cannot have seen either set. What it tells apart is in the texts, not in the audited model.",
        )
    with left:
        neighbours, n_neighbours = _neighbours(kind)
    with right:
        shots = st.number_input(
            "Works in each prefix",
            0,
            MOST_SHOTS,
            0,
            key=f"{kind}_beside_shots",
            help="For ReCaLL and Con-ReCall: so many known non-members, and members, stand before every text. They are "
            "drawn at random and then measured by no score. 0 leaves both scores out; the papers take up to 12.",
        )
    corpus, ids, name = _corpus(kind)
    for request in (reference, placebo):
        if request is not None and request.endpoint is not None:
            st.info(where_texts_go(request), icon=":material/upload:")
            warn_of_readers(request.endpoint.base_url)
    return CompanionSettings(reference, placebo, neighbours, n_neighbours, int(shots), corpus, ids, name)  # type: ignore[arg-type]


def _model(label: str, models: Mapping[str, ListedModel], key: str, help_text: str) -> ModelRequest | None:
    usable = {name: model for name, model in models.items() if model.request is not None}
    chosen: str = st.selectbox(
        label,
        [NONE, *usable],
        format_func=lambda one: NONE if one == NONE else usable[one].label,
        key=key,
        help=f"{help_text} Models are added and named on the Models page.",
    )
    return None if chosen == NONE else usable[chosen].request


def _neighbours(kind: str) -> tuple[str, int]:
    way: str = st.selectbox(
        "Variants of each text",
        list(VARIANTS),
        format_func=VARIANTS.__getitem__,
        key=f"{kind}_beside_neighbours",
        help="For the score Neighbour: the same text with a few words replaced by others that fit.",
    )
    if way == NONE:
        return "", CompanionSettings().n_neighbours
    count = st.number_input("Variants", 1, 100, CompanionSettings().n_neighbours, key=f"{kind}_beside_n_neighbours")
    if way == OWN:
        return OWN, int(count)
    source = st.text_input("Masked language model", placeholder="folder or hub id", key=f"{kind}_beside_masked").strip()
    if not source:
        st.caption("Name one, or no variants are made.")
    return source, int(count)


def _corpus(kind: str) -> tuple[str, tuple[str, ...], str]:
    """Which corpus, the ids of its documents, and its name."""
    way: str = st.selectbox(
        "Corpus to count words in",
        list(CORPORA),
        format_func=CORPORA.__getitem__,
        key=f"{kind}_beside_corpus",
        help="For DC-PDD: how common each token is anyway. A large corpus of ordinary texts serves best.",
    )
    if way != "documents":
        return way, (), ""
    documents = {one.key: one for one in Workspace(store()).documents()}
    if not documents:
        st.caption(as_text("There is no document in the workspace; bring some on the Documents page."))
        return "", (), ""
    chosen: list[int] = st.multiselect(
        "Its documents",
        list(documents),
        format_func=lambda one: _title(documents[one]),
        key=f"{kind}_beside_corpus_documents",
    )
    if not chosen:
        return "", (), ""
    first = documents[chosen[0]].title
    name = first if len(chosen) == 1 else f"{first} and {some(len(chosen) - 1, 'other document')}"
    return "documents", tuple(documents[key].document_id for key in chosen), one_line(name)


def _title(document: StoredDocument) -> str:
    return f"{one_line(document.title)} ({document.n_words:,} words)"
