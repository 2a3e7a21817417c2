"""A finished unlearning audit as its page holds it: numbers, the works where they are still there, people's ratings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import streamlit as st

from auditlib.audits.unlearning import Chunk, Completion, UnlearningResult, cut_works, judged_again
from auditlib.audits.unlearning.gallery import Gallery
from auditlib.core import AuditError
from auditlib.jobs.kept_generation import generation_speed
from auditlib.jobs.unlearning_files import keep_ratings, load_gallery, load_unlearning, people_ratings
from auditlib.jobs.unlearning_texts import UnlearningParameters, unlearning_parameters, unlearning_works
from auditlib.store import Run
from auditlib.ui.library import store
from auditlib.ui.messages import show_error

NO_LOGO = {"displaylogo": False}


@dataclass(frozen=True)
class FinishedUnlearning:
    """What one finished run left.

    chunks  texts by the id of their chunk; empty where the works are gone or were changed, for `without_texts`
    speed   tokens drawn, and the seconds that took
    """

    run: Run
    parameters: UnlearningParameters
    found: UnlearningResult
    gallery: Gallery
    speed: tuple[int, float]
    chunks: Mapping[str, Chunk]
    without_texts: str

    def name_of(self, chunk_id: str) -> str:
        """How people find a chunk."""
        line = next(one for one in self.found.screening.lines if one.id == chunk_id)
        return f"{line.work}, from word {line.first_word + 1:,}"


def opened(run: Run) -> FinishedUnlearning:
    """A finished run, opened once. Raises `AuditError` where its files cannot be read."""
    held: FinishedUnlearning | None = st.session_state.get("unlearning_finished")
    if held is None or held.run.id != run.id:
        with st.spinner("Opening the run …"):
            parameters = unlearning_parameters(run.parameters)
            found = load_unlearning(store(), run)
            chunks, why = _texts(run, parameters, found)
            held = FinishedUnlearning(
                run, parameters, found, load_gallery(store(), run), generation_speed(store(), run), chunks, why
            )
        st.session_state["unlearning_finished"] = held
    return held


def as_shown(done: FinishedUnlearning, factor: float) -> tuple[UnlearningResult, dict[tuple[str, int], int]]:
    """The audit through another window and with people's ratings, and these. Asks no model."""
    ratings = people_ratings(store(), done.run)
    key = (done.run.id, factor, tuple(sorted(ratings.items())))
    kept: tuple[object, UnlearningResult] | None = st.session_state.get("unlearning_shown")
    if kept is None or kept[0] != key:
        is_as_it_was = factor == done.found.settings.factor and not ratings
        kept = (key, done.found if is_as_it_was else judged_again(done.found, factor, ratings))
        st.session_state["unlearning_shown"] = kept
    return kept[1], ratings


def rate(run: Run, one: Completion, rating: int | None) -> None:
    """Keeps a person's rating of a completion with the run, or takes it back."""
    ratings = people_ratings(store(), run)
    ratings.pop((one.chunk, one.sample), None)
    if rating is not None:
        ratings[one.chunk, one.sample] = rating
    try:
        keep_ratings(store(), run, ratings, datetime.now(UTC))
    except AuditError as error:
        show_error(error)


def _texts(run: Run, parameters: UnlearningParameters, found: UnlearningResult) -> tuple[dict[str, Chunk], str]:
    settings = found.settings
    try:
        cut = cut_works(unlearning_works(parameters, store(), run), settings.chunk_words, settings.prompt_words)
    except AuditError as error:
        return {}, f"{error.wrong} {error.remedy}"
    chunks = {chunk.id: chunk for chunk in cut.chunks}
    if {line.id for line in found.screening.lines} - set(chunks):
        return {}, "The works are no longer those that were read. Duplicate the run on the works as they are."
    return chunks, ""
