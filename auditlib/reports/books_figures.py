"""Figures of a book audit: results in, plotly figure out, the same for a report and for a page.

Colours and marks are those of `figures.py`; audited books are neutral until a verdict fills them.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from auditlib.audits.books import BookAudit, PlacedWorks
from auditlib.audits.books.passages import ExtractionMap, Extractions, Profile
from auditlib.audits.books.sensitivity import Variant
from auditlib.audits.books.shelves import Shelf
from auditlib.evidence import CorrectedRate, Word
from auditlib.reports.figures import MEMBERS, NEUTRAL, NON_MEMBERS, framed

AUDITED = "#7d5fb2"
LONGEST_TITLE = 44  # characters on an axis
MOST_BARS = 40  # books in the figure of rates; more have the histogram and the table
FILLS = {Word.SUPPORTED: MEMBERS, Word.NOT_SUPPORTED: NEUTRAL, Word.INCONCLUSIVE: "#c9a227"}
SYMBOLS = {Word.SUPPORTED: "circle", Word.NOT_SUPPORTED: "square-open", Word.INCONCLUSIVE: "diamond-open"}
SHELVES = {Shelf.MEMBERS: MEMBERS, Shelf.NON_MEMBERS: NON_MEMBERS, Shelf.AUDITED: AUDITED}
SURELY = ("p ≥ 0.001", "p ≥ 0.01", "p ≥ 0.5")


def rates_by_book(audit: BookAudit, placed: PlacedWorks) -> go.Figure:
    """Raw and corrected rate of each book with its interval, the highest raw rate first; at most MOST_BARS books."""
    rated = [(book, book.rate) for book in audit.judged.books if book.rate is not None]
    rated.sort(key=lambda pair: -pair[1].raw.estimate)
    rated = rated[:MOST_BARS]
    titles = _distinct([placed.works[book.work].title for book, _ in rated])
    figure = go.Figure()
    _add_rates(figure, titles, [rate for _, rate in rated], "raw", NEUTRAL, "square-open")
    _add_rates(figure, titles, [rate for _, rate in rated], "corrected", MEMBERS, "circle")
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_xaxes(range=[-2, 102])
    return framed(figure, "share of the book's snippets (%), with its 95% interval", "", 120 + 34 * max(1, len(rated)))


def rates_histogram(audit: BookAudit) -> go.Figure:
    """How many books have which raw rate, by verdict."""
    rated = [(book.verdict.word, book.rate.raw.estimate) for book in audit.judged.books if book.rate is not None]
    edges = np.linspace(0, 100, 11)
    figure = go.Figure()
    for word in Word:
        own = np.array([100 * rate for found, rate in rated if found is word])
        if not len(own):
            continue
        counts, _ = np.histogram(own, edges)
        figure.add_bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=counts,
            width=9.4,
            name=f"{word.value} ({len(own):,})",
            marker={
                "color": FILLS[word],
                "pattern": {"shape": {Word.SUPPORTED: "", Word.NOT_SUPPORTED: "/"}.get(word, "x")},
            },
            hovertemplate="%{y} books at %{x:.0f}% ± 5<extra></extra>",
        )
    figure.update_layout(barmode="stack")
    figure.update_xaxes(range=[-1, 101])
    return framed(figure, "raw contamination rate (% of a book's snippets)", "books")


def means_by_shelf(means: dict[Shelf, NDArray[np.float64]], titles: dict[Shelf, Sequence[str]], unit: str) -> go.Figure:
    """Every work's mean score, a row a shelf: what p is counted from."""
    figure = go.Figure()
    for row, shelf in enumerate(Shelf):
        values = means.get(shelf, np.zeros(0))
        known = np.isfinite(values)
        figure.add_scatter(
            x=values[known],
            y=row + _spread(values[known]),
            mode="markers",
            name=f"{shelf.value} ({int(known.sum()):,})",
            marker={
                "color": SHELVES[shelf],
                "size": 10 if shelf is Shelf.AUDITED else 8,
                "symbol": {Shelf.MEMBERS: "circle", Shelf.NON_MEMBERS: "square-open"}.get(shelf, "diamond"),
            },
            text=[escape(title) for title, there in zip(titles.get(shelf, ()), known, strict=True) if there],
            hovertemplate="%{text}: %{x:.4g}<extra></extra>",
        )
    figure.update_yaxes(
        tickvals=list(range(len(Shelf))), ticktext=[shelf.value for shelf in Shelf], range=[len(Shelf) - 0.4, -0.6]
    )
    return framed(figure, f"mean score of a work ({escape(unit)}): higher = more like the training data", "")


def sensitivity_figure(variants: Sequence[Variant]) -> go.Figure:
    """Verdicts under settings that differ in one thing from the chosen ones: a row a setting, shares of the books."""
    rows = [
        (f"{variant.axis}: {variant.value}" + (" (chosen)" if variant.is_chosen else ""), variant)
        for variant in variants
        if variant.words
    ]
    figure = go.Figure()
    for word in Word:
        counts = [sum(found is word for found in variant.words) for _, variant in rows]
        figure.add_bar(
            y=[escape(name) for name, _ in rows],
            x=counts,
            orientation="h",
            name=word.value,
            marker={
                "color": FILLS[word],
                "pattern": {"shape": {Word.SUPPORTED: "", Word.NOT_SUPPORTED: "/"}.get(word, "x")},
            },
            hovertemplate="%{y}: %{x} books<extra>" + word.value + "</extra>",
        )
    figure.update_layout(barmode="stack")
    figure.update_yaxes(autorange="reversed", type="category")
    return framed(figure, "audited books", "", 120 + 22 * max(1, len(rows)))


def profile_figure(profile: Profile, threshold: float | None, unit: str) -> go.Figure:
    """Snippets' scores along the book."""
    where = _along(profile.part, profile.first_word + profile.word_count / 2)
    figure = go.Figure()
    figure.add_scatter(
        x=where,
        y=profile.scores,
        mode="lines+markers",
        name="snippets",
        line={"color": NEUTRAL, "width": 1},
        marker={"color": AUDITED, "size": 7},
        hovertemplate="word %{x:,.0f}: %{y:.4g}<extra></extra>",
    )
    for places, name, colour, symbol in (
        (profile.most, "most like the training data", MEMBERS, "triangle-up"),
        (profile.least, "least", NON_MEMBERS, "triangle-down"),
    ):
        chosen = list(places)
        figure.add_scatter(
            x=where[chosen],
            y=profile.scores[chosen],
            mode="markers",
            name=name,
            marker={"color": colour, "size": 12, "symbol": symbol},
            hoverinfo="skip",
        )
    if threshold is not None and np.isfinite(threshold):
        figure.add_hline(y=threshold, line_dash="dash", line_color=NEUTRAL, annotation_text="threshold")
    return framed(figure, "where in the work (words)", f"score ({escape(unit)})")


def extraction_figure(found: ExtractionMap) -> go.Figure:
    """How likely each passage of 50 tokens is to be written word for word, given what stands before it."""
    where = _along(found.part, found.word)
    figure = go.Figure()
    figure.add_scatter(
        x=where,
        y=found.log_p / np.log(10),
        mode="markers",
        name="windows of 50 tokens",
        marker={"color": AUDITED, "size": 5},
        hovertemplate="word %{x:,.0f}: 10^%{y:.1f}<extra></extra>",
    )
    for p in (0.001, 0.01, 0.5):
        figure.add_hline(
            y=float(np.log10(p)),
            line={"color": NEUTRAL, "width": 1, "dash": "dot"},
            annotation_text=f"{p:g}",
            annotation_position="top right",
        )
    lowest = float(found.log_p.min() / np.log(10)) if len(found.log_p) else -10.0
    figure.update_yaxes(range=[max(-120.0, lowest) - 2, 4])
    return framed(figure, "where in the work (words)", "log10 of the passage's probability")


def extraction_shares(extractions: Extractions, work: int, title: str) -> go.Figure:
    """Share of windows that reach each probability: this book beside the known shelves."""
    rows = [(title, extractions.by_work[work], AUDITED, "")]
    for shelf, pattern in ((Shelf.NON_MEMBERS, "/"), (Shelf.MEMBERS, ".")):
        if shelf.value in extractions.by_shelf:
            rows.append((shelf.value, extractions.by_shelf[shelf.value], SHELVES[shelf], pattern))
    figure = go.Figure()
    for name, summary, colour, pattern in rows:
        figure.add_bar(
            x=list(SURELY),
            y=[100 * share for share in summary.shares],
            name=f"{escape(_short(name))} ({summary.n_windows:,} windows)",
            marker={"color": colour, "pattern": {"shape": pattern}},
            hovertemplate="%{x}: %{y:.2f}%<extra></extra>",
        )
    figure.update_layout(barmode="group")
    figure.update_yaxes(rangemode="tozero")
    return framed(figure, "probability of 50 tokens word for word", "share of windows (%)")


def _add_rates(
    figure: go.Figure, titles: Sequence[str], rates: Sequence[CorrectedRate], name: str, colour: str, symbol: str
) -> None:
    there = [(title, value) for title, rate in zip(titles, rates, strict=True) if (value := getattr(rate, name))]
    figure.add_scatter(
        x=[100 * value.estimate for _, value in there],
        y=[title for title, _ in there],
        mode="markers",
        name="raw rate" if name == "raw" else "corrected for the detector's errors",
        marker={"color": colour, "size": 10, "symbol": symbol, "line": {"color": colour, "width": 2}},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [100 * (value.high - value.estimate) for _, value in there],
            "arrayminus": [100 * (value.estimate - value.low) for _, value in there],
            "color": colour,
            "thickness": 2,
            "width": 5,
        },
        hovertemplate="%{y}: %{x:.1f}%<extra></extra>",
    )


def _along(part: NDArray[np.int64], word: NDArray[np.float64]) -> NDArray[np.float64]:
    """Words counted through all parts of a work: a part begins where the one before it was last looked at."""
    where, begins = np.zeros(len(word)), 0.0
    for number in np.unique(part):
        own = part == number
        where[own] = begins + word[own]
        begins = float(where[own].max())
    return where


def _spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """A little up and down, always the same, so that marks of one row do not hide each other."""
    return np.asarray(0.22 * np.sin(np.arange(len(values)) * 2.4), dtype=np.float64)


def _short(title: str) -> str:
    return title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1] + "…"


def _distinct(titles: Sequence[str]) -> list[str]:
    """Titles for an axis: short, and those that would be alike numbered, as an axis would draw them as one."""
    names, seen = [], set[str]()
    for place, title in enumerate(titles):
        name = escape(_short(title))
        if name in seen:
            name = f"{name} ({place + 1})"
        seen.add(name)
        names.append(name)
    return names
