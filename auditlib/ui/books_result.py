"""What the Books page says of a finished run: which books, how sure, by what, and how that depends on the settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import streamlit as st

from auditlib.audits.books import BookAudit, BookResult, ReadBooks, Shelf, judged_with
from auditlib.audits.calibration import K_SCORES
from auditlib.audits.saved_calibration import Calibration
from auditlib.core import AuditError
from auditlib.evidence import Interval, Word
from auditlib.jobs import (
    BooksSummary,
    books_parameters,
    load_books,
    load_read_books,
    load_used_calibration,
)
from auditlib.jobs.books_report import evidence_as_shown
from auditlib.reports.book_figures import (
    means_by_shelf,
    rate_histogram,
    rates_by_book,
    score_by_shelf,
    sensitivity_figure,
)
from auditlib.reports.figures import auc_by_method, roc_figure, roc_log_figure
from auditlib.reports.package import Package, make_package, spreadsheet_csv
from auditlib.scoring import SCORES
from auditlib.store import Run
from auditlib.ui.books_one import one_book
from auditlib.ui.books_shelves import CORRECTIONS
from auditlib.ui.handing_over import hand_over
from auditlib.ui.library import store
from auditlib.ui.messages import as_text, show_error, signed, some
from auditlib.ui.rules import name_of_rule, rules_with
from auditlib.ui.run_heading import run_heading
from auditlib.ui.verdicts import verdict_box

MOST_ROWS = 30
FEWEST_FOR_HISTOGRAM = 8
AXES = {"score": "score", "k": "k", "words": "words", "rule": "threshold"}
NO_LOGO = {"displaylogo": False}


@dataclass(frozen=True)
class FinishedBooks:
    """A finished run and what is needed to judge its books otherwise, without the model and without their texts."""

    run: Run
    summary: BooksSummary
    read: ReadBooks
    calibration: Calibration | None


def show_books(run: Run) -> None:
    """Everything that a finished run found about its books."""
    try:
        done = _finished(run)
        placed = done.read.placed
        material = f"{some(len(placed.on(Shelf.AUDITED)), 'book')} audited, {some(len(placed.work_of), 'snippet')} read"
        run_heading(run, placed.identity, books_parameters(run.parameters).model, material, placed.notes)
        audit = _controls(done)
        _answer(done, audit)
        _table(done, audit)
        _rates(done, audit)
        one_book(done.run, done.summary, done.read, audit)
        _reference(done, audit)
        _sensitivity(done)
        hand_over(run, (audit.settings,), lambda by, with_texts: _package(done, audit, by, with_texts))
        _origin(done, audit)
    except AuditError as error:
        show_error(error)


def _package(done: FinishedBooks, audit: BookAudit, by: str, with_texts: bool) -> Package:
    return make_package(evidence_as_shown(store(), done.run, done.summary, done.read, audit, by, with_texts))


def _finished(run: Run) -> FinishedBooks:
    held: FinishedBooks | None = st.session_state.get("books_finished")
    if held is None or held.run.id != run.id:
        with st.spinner("Opening the run …"):
            summary = load_books(store(), run)
            held = FinishedBooks(
                run, summary, load_read_books(store(), run, summary), load_used_calibration(store(), run)
            )
        st.session_state["books_finished"] = held
        for name in ("score", "k", "alpha", "rule", "correction"):
            st.session_state.pop(f"books_{name}", None)
    return held


def _controls(done: FinishedBooks) -> BookAudit:
    first, fixed = done.summary.found.settings, done.calibration is not None
    names = list(done.summary.found.methods) or [first.score]
    ks = sorted({*done.read.numbers.ks, first.k})
    rules = rules_with(first.rule)
    began = {
        "score": first.score,
        "k": first.k,
        "alpha": first.alpha,
        "rule": name_of_rule(first.rule),
        "correction": first.correction,
    }
    for name, value in began.items():
        st.session_state.setdefault(f"books_{name}", value)
    score, k, rule, alpha, correction = st.columns(5)
    chosen: str = score.selectbox(
        "Score", names, format_func=lambda name: SCORES[name].label, key="books_score", disabled=fixed
    )
    percent: float = k.select_slider(
        "k (% of tokens)", ks, format_func=lambda v: f"{v:g}", key="books_k", disabled=fixed or chosen not in K_SCORES
    )
    way: str = rule.selectbox("Threshold by", list(rules), key="books_rule")
    level = alpha.number_input("Alpha", 0.001, 0.5, step=0.01, format="%.3f", key="books_alpha")
    method: str = correction.selectbox(
        "p corrected by", list(CORRECTIONS), format_func=CORRECTIONS.__getitem__, key="books_correction"
    )
    settings = replace(
        first,
        score=chosen,
        k=float(percent),
        rule=rules[way],
        alpha=float(level),
        correction=method,  # type: ignore[arg-type]
    )
    if settings == first:
        return done.summary.found
    key = (done.run.id, settings)
    kept: tuple[object, BookAudit] | None = st.session_state.get("books_judged")
    if kept is None or kept[0] != key:
        with st.spinner("Judging anew …"):
            kept = (key, judged_with(done.read, done.summary.found, settings, done.calibration))
        st.session_state["books_judged"] = kept
    return kept[1]


def _answer(done: FinishedBooks, audit: BookAudit) -> None:
    works, model = done.read.placed.works, as_text(done.read.placed.identity.name)
    by_word: dict[Word, list[str]] = {word: [] for word in Word}
    for book in audit.judged.books:
        by_word[book.verdict.word].append(f"“{as_text(works[book.work].title)}”")
    n, supported = len(audit.judged.books), by_word[Word.SUPPORTED]
    with st.container(border=True):
        if supported:
            st.markdown(f"#### :material/task_alt: :blue[Supported] for {len(supported):,} of {some(n, 'book')}")
            st.markdown(
                f"**{_listed(supported)}**: more like what {model} was trained on than the known books that it was not."
            )
        else:
            st.markdown(f"#### :material/help: No book of {n:,} is supported as one that {model} was trained on")
        if by_word[Word.NOT_SUPPORTED]:
            st.markdown(f"**No evidence in this test** for {_listed(by_word[Word.NOT_SUPPORTED])}.")
        if by_word[Word.INCONCLUSIVE]:
            st.markdown(f"**The test could not tell** for {_listed(by_word[Word.INCONCLUSIVE])}.")
        st.caption(as_text(audit.known.verdict.limits))


def _listed(titles: list[str]) -> str:
    return ", ".join(titles[:8]) + (f" and {len(titles) - 8:,} more" if len(titles) > 8 else "")


def _table(done: FinishedBooks, audit: BookAudit) -> None:
    st.subheader("Each book")
    table = book_table(done.read, audit)
    st.dataframe(table, hide_index=True, height="auto" if len(table) <= 10 else 640)
    judged = audit.judged
    st.caption(
        f"Rates are shares of a book's snippets above the threshold, and the same corrected for the detector's errors, "
        f"with 95% intervals. p counts, of {judged.n_works:,} known non-member works, those whose mean score is as "
        f"high; corrected for {some(len(judged.books), 'book')} it cannot be below {judged.smallest:.3g}. Of the known "
        f"member works {judged.power:.0%} would have reached alpha by themselves."
    )
    if judged.no_threshold:
        st.caption(as_text(judged.no_threshold))
    st.download_button(
        "This table (CSV)",
        lambda: spreadsheet_csv(table),
        file_name="books.csv",
        mime="text/csv",
        icon=":material/table:",
        on_click="ignore",
    )


def book_table(read: ReadBooks, audit: BookAudit) -> pd.DataFrame:
    """One row a book, the smallest p first."""
    rows = []
    for book in sorted(audit.judged.books, key=_order):
        work = read.placed.works[book.work]
        corrected = None if book.rate is None else book.rate.corrected
        rows.append(
            {
                "Book": work.title,
                "Verdict": book.verdict.word.value,
                "Raw rate": "–" if book.rate is None else _percent(book.rate.raw),
                "Corrected rate": "–" if corrected is None else _percent(corrected),
                "p": "–" if book.p is None else f"{book.p:.3g}",
                "p corrected": "–" if book.p_corrected is None else f"{book.p_corrected:.3g}",
                "Mean score": "–" if book.mean is None else signed(book.mean, 3),
                "Snippets": book.n_snippets,
                "Author": work.author,
                "Year": "" if work.year is None else str(work.year),
            }
        )
    table = pd.DataFrame(rows)
    return table.drop(columns=[name for name in ("Author", "Year") if not table[name].any()])


def _order(book: BookResult) -> tuple[float, float]:
    return (2.0 if book.p is None else book.p, -(book.mean or 0.0) if book.mean is not None else 0.0)


def _rates(done: FinishedBooks, audit: BookAudit) -> None:
    left, right = st.columns(2)
    rated = any(book.rate is not None for book in audit.judged.books)
    with left:
        st.subheader("How much of each book")
        if rated:
            _rate_charts(done, audit)
            st.caption("An interval that is wide says that the known shelves do not tell the rate better than that.")
        else:
            st.caption("There are no rates: see below the table why.")
    with right:
        st.subheader("Where the books stand")
        means, titles = _means(done, audit)
        st.plotly_chart(
            means_by_shelf(means, titles, SCORES[audit.settings.score].unit), key="books_means", config=NO_LOGO
        )
        st.caption("Each mark is a work. p of a book is the share of known non-members at or to the right of it.")
        with st.popover("All snippets", icon=":material/stacked_line_chart:"):
            _all_snippets(done, audit)


def _all_snippets(done: FinishedBooks, audit: BookAudit) -> None:
    placed, found, known = done.read.placed, audit.settings, audit.known
    scores = {
        Shelf.MEMBERS.value: known.scores[known.is_member],
        Shelf.NON_MEMBERS.value: known.scores[~known.is_member],
        Shelf.AUDITED.value: done.read.numbers.scores(found.score, found.k, places=placed.snippets_on(Shelf.AUDITED)),
    }
    figure = score_by_shelf(scores, f"{SCORES[found.score].label} ({SCORES[found.score].unit})", audit.judged.threshold)
    st.plotly_chart(figure, key="books_snippets", config=NO_LOGO)


def _rate_charts(done: FinishedBooks, audit: BookAudit) -> None:
    rated = [(book.work, book.rate) for book in audit.judged.books if book.rate is not None]
    rated.sort(key=lambda pair: -pair[1].raw.estimate)
    shown, works = rated[:MOST_ROWS], done.read.placed.works
    figure = rates_by_book(
        [works[work].title for work, _ in shown], [r.raw for _, r in shown], [r.corrected for _, r in shown]
    )
    st.plotly_chart(figure, key="books_rates", config=NO_LOGO)
    if len(rated) > len(shown):
        st.caption(f"The {MOST_ROWS} books with the highest raw rates, of {len(rated):,}.")
    if len(rated) > FEWEST_FOR_HISTOGRAM:
        corrected = [rate.corrected.estimate for _, rate in rated if rate.corrected is not None]
        histogram = rate_histogram([rate.raw.estimate for _, rate in rated], corrected)
        st.plotly_chart(histogram, key="books_histogram", config=NO_LOGO)


def _means(done: FinishedBooks, audit: BookAudit) -> tuple[dict[Shelf, np.ndarray], dict[Shelf, Sequence[str]]]:
    means: dict[Shelf, np.ndarray] = {}
    titles: dict[Shelf, Sequence[str]] = {}
    known, works = audit.known, done.read.placed.works
    for shelf, own in ((Shelf.MEMBERS, known.is_member), (Shelf.NON_MEMBERS, ~known.is_member)):
        numbers = np.unique(known.works[own])
        means[shelf] = np.array([known.scores[own & (known.works == number)].mean() for number in numbers])
        titles[shelf] = [
            "a text of the calibration" if known.source else works[int(number)].title for number in numbers
        ]
    means[Shelf.AUDITED] = np.array([np.nan if b.mean is None else b.mean for b in audit.judged.books])
    titles[Shelf.AUDITED] = [works[book.work].title for book in audit.judged.books]
    return means, titles


def _reference(done: FinishedBooks, audit: BookAudit) -> None:
    st.subheader("What the known books are worth")
    label, model = SCORES[audit.settings.score].label, done.read.placed.identity.name
    meaning = {
        Word.SUPPORTED: f"{label} tells books that {model} was trained on from books that it was not.",
        Word.NOT_SUPPORTED: f"No evidence that {label} tells these known books apart under {model}.",
        Word.INCONCLUSIVE: f"These known books could not tell whether {label} recognises what {model} was trained on.",
    }
    verdict_box(audit.known.verdict, meaning[audit.known.verdict.word])
    findings, blind = audit.known.findings, done.read.placed.blind
    if findings is None or blind is None:
        st.caption(f"Judged by the saved calibration “{as_text(audit.known.source)}”.")
        return
    left, right = st.columns(2)
    with left:
        aucs = {SCORES[name].label: method.findings.auc for name, method in audit.methods.items()}
        st.plotly_chart(auc_by_method(aucs, blind.blind.auc, label), key="books_aucs", config=NO_LOGO)
        members, others = audit.known.n_works
        st.caption(f"AUC on {some(members, 'known member work')} and {some(others, 'known non-member work')}.")
    with right:
        logarithmic = st.toggle("Logarithmic axes: what happens at few false positives", key="books_log")
        curves = {label: audit.methods[audit.settings.score].roc}
        curves |= {SCORES[n].label: m.roc for n, m in audit.methods.items() if n != audit.settings.score}
        st.plotly_chart((roc_log_figure if logarithmic else roc_figure)(curves), key="books_roc", config=NO_LOGO)
    for name, reason in audit.unavailable.items():
        st.caption(f"{SCORES[name].label}: {as_text(reason)}")


def _sensitivity(done: FinishedBooks) -> None:
    with st.expander("How the verdicts change with the settings"):
        variants, works = done.summary.found.variants, done.read.placed.works
        if any(variant.words for variant in variants):
            titles = [works[book.work].title for book in done.summary.found.judged.books]
            st.plotly_chart(sensitivity_figure(variants, titles, AXES), key="books_sensitivity", config=NO_LOGO)
        st.caption(
            "One setting is changed at a time from those of the run; shorter snippets are the beginnings of those that "
            "were read. Only rates depend on the threshold rule. Choosing settings by this chart would spoil p."
        )
        for variant in variants:
            if variant.missing and not variant.words:
                st.caption(as_text(f"{variant.axis} {variant.value}: {variant.missing}"))


def _origin(done: FinishedBooks, audit: BookAudit) -> None:
    with st.expander("Where these numbers come from"):
        placed = done.read.placed
        facts = {
            **placed.identity.as_dict(),
            "run": done.run.id,
            "shelves (SHA-256 over all)": placed.shelves_sha256,
            "seed of snippets": str(placed.cutting.seed),
            "seed of statistics": str(audit.settings.seed),
            **done.summary.versions,
        }
        st.dataframe(
            pd.DataFrame(
                {
                    "what": [n.replace("_", " ") for n in facts],
                    "value": ["–" if v is None else v for v in facts.values()],
                }
            ),
            hide_index=True,
        )


def _percent(value: Interval) -> str:
    return f"{value.estimate:.0%} ({value.low:.0%} to {value.high:.0%})"
