"""One audited book opened: its verdict, where along it the model knows it, and what could be had word for word."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from auditlib.audits.books import BookAudit, BookResult, ReadBooks, Shelf, extraction_map, profile
from auditlib.audits.books.passages import ExtractionMap, shelf_windows
from auditlib.core import AuditError, settings
from auditlib.evidence import Word
from auditlib.jobs import BooksSummary, books_parameters, snippet_text
from auditlib.jobs.cached_reading import text_key
from auditlib.jobs.executing import kept_plan
from auditlib.reports.book_figures import extraction_figure, extraction_histogram, profile_figure
from auditlib.scoring import SCORES, Reading
from auditlib.store import Artifacts, Run, TokenCache
from auditlib.ui.heatmap import heatmap, heatmap_payload
from auditlib.ui.library import store
from auditlib.ui.messages import as_text, show_error, signed
from auditlib.ui.runs import jobs
from auditlib.ui.verdicts import verdict_box

NO_LOGO = {"displaylogo": False}


def one_book(run: Run, summary: BooksSummary, read: ReadBooks, audit: BookAudit) -> None:
    """A choice among the audited books, and the chosen one."""
    st.subheader("One book")
    books = sorted(audit.judged.books, key=lambda book: (2.0 if book.p is None else book.p, book.work))
    works = read.placed.works
    chosen = st.selectbox(
        "Book",
        [book.work for book in books],
        format_func=lambda work: works[work].title,
        key=f"books_one_{run.id}",
        label_visibility="collapsed",
    )
    book = next(book for book in books if book.work == chosen)
    _verdict(read, book)
    if not book.n_snippets:
        return
    found = profile(read, book.work, audit.settings.score, audit.settings.k)
    unit = SCORES[audit.settings.score].unit
    where, others = extraction_map(read, book.work), shelf_windows(read, Shelf.NON_MEMBERS)
    left, right = st.columns(2)
    with left:
        st.markdown("**Along the book**")
        st.plotly_chart(
            profile_figure(found, f"score ({unit})", audit.judged.threshold),
            key=f"books_profile_{chosen}",
            config=NO_LOGO,
        )
        st.caption(f"{book.n_snippets:,} snippets. Higher means more like what the model was trained on.")
    with right:
        st.markdown("**Word for word**")
        if len(where.log_p):
            st.plotly_chart(
                extraction_figure({works[book.work].title: where}, others), key=f"books_map_{chosen}", config=NO_LOGO
            )
            st.caption(
                "How likely the model would write each passage of 50 tokens by itself after the 50 before it. Dotted: "
                "0.001, 0.01 and 0.5."
            )
        else:
            st.caption("Snippets of fewer than 101 tokens hold no passage of 50 tokens after 50 others.")
    if len(where.log_p):
        _beside_the_others(read, audit, book.work, where, others)
    _outstanding(run, summary, read, audit, book)


def _verdict(read: ReadBooks, book: BookResult) -> None:
    work = read.placed.works[book.work]
    meaning = {
        Word.SUPPORTED: "This book is more like what the model was trained on than the known books that it was not.",
        Word.NOT_SUPPORTED: "No evidence in this test that the model was trained on this book.",
        Word.INCONCLUSIVE: "The test could not tell whether the model was trained on this book.",
    }
    verdict_box(book.verdict, meaning[book.verdict.word])
    by = f" by {as_text(work.author)}" if work.author else ""
    year = f", {work.year}" if work.year is not None else ""
    editions = f" Other editions, not read: {as_text(', '.join(work.editions))}." if work.editions else ""
    reason = book.rate.reason if book.rate is not None else book.no_rate
    st.caption(f"{as_text(work.title)}{by}{year}, {work.n_words:,} words.{editions} {as_text(reason)}")


def _beside_the_others(
    read: ReadBooks, audit: BookAudit, work: int, where: ExtractionMap, others: NDArray[np.float64]
) -> None:
    """What could be had word for word of this book, and of the books that the model was not trained on."""
    title = read.placed.works[work].title
    st.plotly_chart(extraction_histogram(where.log_p, others, title), key=f"books_windows_{work}", config=NO_LOGO)
    summaries = {"this book": audit.extractions.by_work[work]}
    summaries |= {shelf: found for shelf, found in audit.extractions.by_shelf.items() if shelf != Shelf.AUDITED.value}
    rows = []
    for name, summary in summaries.items():
        row: dict[str, str] = {"": name, "Windows": f"{summary.n_windows:,}"}
        for threshold, share in zip(summary.thresholds, summary.shares, strict=True):
            row[f"p ≥ {threshold:g}"] = f"{share:.1%}"
        longest = [f"{run:,}" for run in summary.longest_runs]
        row["Longest run of windows at each"] = " · ".join(longest)
        rows.append(row)
    st.table(pd.DataFrame(rows).set_index(""))
    st.caption(
        "A window is a passage of 50 tokens, one every 10; p is the chance that the model, given the 50 tokens before "
        "it, writes it word for word in one try."
    )


def _outstanding(run: Run, summary: BooksSummary, read: ReadBooks, audit: BookAudit, book: BookResult) -> None:
    """The most and the least member-like snippets as heatmaps, where text and reading are still there."""
    found = profile(read, book.work, audit.settings.score, audit.settings.k)
    places = read.placed.snippets_of(book.work)
    rows = [("most like the training data", place) for place in found.most]
    rows += [("least", place) for place in found.least]
    st.markdown("**Snippets that stand out**")
    st.dataframe(
        pd.DataFrame(
            [
                {
                    "Which": which,
                    "From word": int(found.first_word[place]) + 1,
                    "Words": int(found.word_count[place]),
                    "Score": signed(float(found.scores[place]), 3),
                }
                for which, place in rows
            ]
        ),
        hide_index=True,
    )
    names = [f"{which}, from word {int(found.first_word[place]) + 1:,}" for which, place in rows]
    choice, button = st.columns([3, 1], vertical_alignment="bottom")
    number = choice.selectbox(
        "Snippet", range(len(rows)), format_func=names.__getitem__, key=f"books_snippet_{run.id}_{book.work}"
    )
    shown = (run.id, book.work, int(rows[number][1]))
    if button.button("Show its heatmap", icon=":material/grid_on:", width="stretch"):
        st.session_state["books_heatmap"] = shown
    if st.session_state.get("books_heatmap") != shown:
        return
    try:
        _heatmap(run, summary, int(places[rows[number][1]]))
    except AuditError as error:
        show_error(error)


def _heatmap(run: Run, summary: BooksSummary, place: int) -> None:
    key = (run.id, place)
    if st.session_state.get("books_payload", (None,))[0] != key:
        with st.spinner("Fetching text and reading …"):
            st.session_state["books_payload"] = (key, _payload(run, summary, place))
    payload: dict[str, Any] = st.session_state["books_payload"][1]
    heatmap(payload, key=f"books-heatmap-{payload['id'][:16]}")


def _payload(run: Run, summary: BooksSummary, place: int) -> dict[str, Any]:
    parameters, placed = books_parameters(run.parameters), summary.placed
    document = placed.works[int(placed.work_of[place])].documents[int(placed.part[place])]
    first_word, words = int(placed.first_word[place]), int(placed.word_count[place])
    text = snippet_text(parameters, store(), run, document, first_word, words)
    if text is None or text_key(text) != summary.snippets_sha256[place]:
        raise AuditError("The books are no longer those that were read.", "Duplicate the run on the books as they are.")
    plan = kept_plan(Artifacts(store()), run.id)
    cache = TokenCache(store(), settings().cache_bytes)
    found = {} if plan is None else cache.get(placed.identity, plan.windowing, [text_key(text)])
    if not found:
        raise AuditError(
            "The cache no longer holds this reading.", "Duplicate the run, or read the passage on the Inspect page."
        )
    model = jobs().model(parameters.model)
    return heatmap_payload(model, Reading(text, found[text_key(text)]))
