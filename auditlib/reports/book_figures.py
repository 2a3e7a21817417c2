"""Figures of a book audit: results in, plotly figure out, the same for a report and for a page.

Colours, dashes and shapes as in `figures`: members blue and solid, non-members orange and dashed; audited books green.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from auditlib.audits.books.passages import ExtractionMap, Profile
from auditlib.audits.books.sensitivity import Variant
from auditlib.audits.books.shelves import Shelf
from auditlib.evidence import Interval, Word
from auditlib.reports.figures import HEIGHT, MEMBERS, NEUTRAL, NON_MEMBERS, add_threshold, framed

AUDITED = "#3f8f7f"
SYMBOLS = {Word.SUPPORTED: "circle", Word.NOT_SUPPORTED: "x-thin-open", Word.INCONCLUSIVE: "circle-open"}
WORD_COLOURS = {Word.SUPPORTED: MEMBERS, Word.NOT_SUPPORTED: NON_MEMBERS, Word.INCONCLUSIVE: NEUTRAL}
ROW = 26  # pixels of a book in a chart of books
RATE_BINS = 20
LOWEST_LOG10_P = -150.0  # what is less likely than that is all the same
SHELVES = {Shelf.MEMBERS: MEMBERS, Shelf.NON_MEMBERS: NON_MEMBERS, Shelf.AUDITED: AUDITED}
THRESHOLD_LINES = (0.001, 0.01, 0.5)


def rate_histogram(raw: Sequence[float], corrected: Sequence[float]) -> go.Figure:
    """How many books have which rate (0 to 1), raw and corrected (Shi et al. 2024, Figure 4)."""
    edges = np.linspace(0, 1, RATE_BINS + 1)
    figure = go.Figure()
    for name, values, colour, pattern, side in (
        ("raw", raw, NEUTRAL, "/", -1),
        ("corrected", corrected, AUDITED, "", 1),
    ):
        counts, _ = np.histogram(np.asarray(values, dtype=np.float64), edges)
        some = counts > 0
        middles = 100 * (edges[:-1] + edges[1:]) / 2
        figure.add_bar(
            x=(middles + side * 1.1)[some],
            y=counts[some],
            width=2.0,
            name=f"{name} rate ({len(values):,} books)",
            marker={
                "color": colour,
                "line": {"color": colour, "width": 1},
                "pattern": {"shape": pattern, "fillmode": "replace", "fgcolor": colour, "size": 6, "solidity": 0.4},
            },
            customdata=np.stack([100 * edges[:-1], 100 * edges[1:]], axis=1)[some],
            hovertemplate="%{y} books from %{customdata[0]:.0f}% to %{customdata[1]:.0f}%<extra></extra>",
        )
    figure.update_layout(barmode="overlay")
    figure.update_xaxes(range=[-2, 102])
    return framed(figure, "share of a book's snippets called members (%)", "books")


def rates_by_book(
    titles: Sequence[str], raw: Sequence[Interval | None], corrected: Sequence[Interval | None]
) -> go.Figure:
    """Raw and corrected rate of each book with their intervals, in the order given."""
    figure = go.Figure()
    rows = range(len(titles))
    for name, values, colour, symbol, shift in (
        ("corrected rate", corrected, AUDITED, "circle", -0.14),
        ("raw rate", raw, NEUTRAL, "diamond-open", 0.14),
    ):
        there = [(row, value) for row, value in zip(rows, values, strict=True) if value is not None]
        figure.add_scatter(
            x=[100 * value.estimate for _, value in there],
            y=[row + shift for row, _ in there],
            mode="markers",
            name=name,
            marker={"color": colour, "size": 9, "symbol": symbol, "line": {"color": colour, "width": 2}},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [100 * (value.high - value.estimate) for _, value in there],
                "arrayminus": [100 * (value.estimate - value.low) for _, value in there],
                "color": colour,
                "thickness": 2,
                "width": 4,
            },
            customdata=[[escape(titles[row]), 100 * value.low, 100 * value.high] for row, value in there],
            hovertemplate="%{customdata[0]}: %{x:.0f}% (%{customdata[1]:.0f}% to %{customdata[2]:.0f}%)<extra></extra>",
        )
    figure.update_yaxes(
        tickvals=list(rows), ticktext=[escape(_short(title)) for title in titles], range=[len(titles) - 0.5, -0.5]
    )
    figure.update_xaxes(range=[-3, 103])
    return framed(figure, "rate with its 95% interval (%)", "", height=120 + ROW * len(titles))


def score_by_shelf(
    scores: Mapping[str, NDArray[np.float64]], score_name: str, threshold: float | None = None
) -> go.Figure:
    """Scores of the snippets of each shelf by its name, as shares of the shelf: members, non-members, audited."""
    everything = np.concatenate(list(scores.values()))
    low, high = float(everything.min()), float(everything.max())
    edges = np.linspace(low, high, 31) if high > low else np.array([low - 0.5, low + 0.5])
    middles = (edges[:-1] + edges[1:]) / 2
    figure = go.Figure()
    styles = ((MEMBERS, "solid"), (NON_MEMBERS, "dash"), (AUDITED, "dot"))
    for (name, values), (colour, dash) in zip(scores.items(), styles, strict=False):
        counts, _ = np.histogram(values, edges)
        figure.add_scatter(
            x=middles,
            y=100 * counts / max(1, len(values)),
            mode="lines",
            line={"color": colour, "width": 2.5, "dash": dash, "shape": "hvh"},
            name=f"{name} ({len(values):,})",
            hovertemplate="%{y:.1f}% near %{x:.3g}<extra>" + escape(name) + "</extra>",
        )
    add_threshold(figure, threshold)
    return framed(figure, escape(score_name), "share of the shelf (%)")


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
    return framed(figure, f"mean score of a work ({escape(unit)})", "")


def extraction_figure(maps: Mapping[str, ExtractionMap], known: NDArray[np.float64] | None = None) -> go.Figure:
    """How likely the model would go on word for word, along each book by its title, all on one scale.

    `known` are log-probabilities of the known non-members' windows: their highest hundredth is drawn as a line. The
    scale is of powers of ten, so that a text that was half learnt stands out from new ones long before any passage
    could be had.
    """
    figure = go.Figure()
    for place, (title, own) in enumerate(maps.items()):
        figure.add_scatter(
            x=own.word,
            y=_log10(own.log_p),
            mode="markers",
            marker={
                "size": 6,
                "color": (MEMBERS, NON_MEMBERS, AUDITED, "#7d5fb2", NEUTRAL)[place % 5],
                "symbol": ("circle", "square", "diamond", "cross", "x")[place % 5],
            },
            name=escape(_short(title)),
            hovertemplate="word %{x:,.0f}: 10^%{y:.1f}<extra>" + escape(title) + "</extra>",
        )
    for threshold in THRESHOLD_LINES:
        figure.add_hline(y=np.log10(threshold), line={"color": NEUTRAL, "width": 1, "dash": "dot"})
    if known is not None and len(known):
        figure.add_hline(
            y=float(np.quantile(_log10(known), 0.99)),
            line={"color": NON_MEMBERS, "width": 2, "dash": "dash"},
            annotation_text="known non-members: 99 of 100 below",
            annotation_position="bottom right",
        )
    shown = [float(_log10(own.log_p).min()) for own in maps.values() if len(own.log_p)]
    if known is not None and len(known):
        shown.append(float(np.quantile(_log10(known), 0.99)) - 3)
    lowest = min(shown, default=-3.0)
    step = next(step for step in (1, 2, 3, 5, 10, 20, 30) if lowest >= -6 * step or step == 30)
    ticks = list(range(0, int(lowest) - step, -step))
    figure.update_yaxes(
        range=[min(lowest, -3.0) * 1.05, 0.03 * max(3.0, -lowest)],
        tickvals=ticks,
        ticktext=["1" if tick == 0 else f"10<sup>−{-tick}</sup>" for tick in ticks],
    )
    return framed(figure, "word of the book", "chance of the next 50 tokens", height=HEIGHT + 40)


def extraction_histogram(book: NDArray[np.float64], others: NDArray[np.float64], title: str) -> go.Figure:
    """Passages' log-probabilities (nats) in this book and on the known non-member shelf, as shares of each."""
    both = np.concatenate([book, others]) / np.log(10)
    edges = np.linspace(float(both.min()), max(0.0, float(both.max())), 26)
    middles, width = (edges[:-1] + edges[1:]) / 2, float(edges[1] - edges[0])
    figure = go.Figure()
    for values, name, colour, pattern, side in (
        (book, _short(title), AUDITED, "", -1),
        (others, Shelf.NON_MEMBERS.value, NON_MEMBERS, "/", 1),
    ):
        if not len(values):
            continue
        counts, _ = np.histogram(values / np.log(10), edges)
        there = counts > 0
        figure.add_bar(
            x=(middles + side * width * 0.22)[there],
            y=(100 * counts / len(values))[there],
            width=width * 0.42,
            name=f"{escape(name)} ({len(values):,} windows)",
            marker={"color": colour, "pattern": {"shape": pattern}},
            hovertemplate="10^%{x:.0f}: %{y:.1f}%<extra></extra>",
        )
    figure.update_layout(barmode="overlay")
    return framed(figure, "log10 of the passage's probability", "share of windows (%)")


def profile_figure(along: Profile, score_name: str, threshold: float | None = None) -> go.Figure:
    """A book's scores along it."""
    figure = go.Figure()
    for part in np.unique(along.part):
        own = along.part == part
        figure.add_scatter(
            x=along.first_word[own],
            y=along.scores[own],
            mode="lines+markers",
            name="this book" if part == 0 else f"part {int(part) + 1}",
            line={"color": AUDITED, "width": 2},
            marker={"size": 6},
            hovertemplate="from word %{x:,}: %{y:.3f}<extra></extra>",
        )
    if threshold is not None and np.isfinite(threshold):
        figure.add_hline(y=threshold, line_dash="dash", line_color=NEUTRAL, annotation_text="threshold")
    figure.update_layout(showlegend=len(np.unique(along.part)) > 1)
    return framed(figure, "first word of the snippet", escape(score_name))


def sensitivity_figure(variants: Sequence[Variant], titles: Sequence[str], axes: Mapping[str, str]) -> go.Figure:
    """Which verdict each book has under which settings: a row a book, a column a variant, grouped by what is "
    "changed."""
    shown = [variant for axis in axes for variant in variants if variant.axis == axis and variant.words]
    figure = go.Figure()
    for word in Word:
        points = [
            (column, row, variant.p_corrected[row], variant)
            for column, variant in enumerate(shown)
            for row in range(len(titles))
            if variant.words[row] is word
        ]
        figure.add_scatter(
            x=[column for column, *_ in points],
            y=[row for _, row, *_ in points],
            mode="markers",
            name=word.value,
            marker={
                "symbol": SYMBOLS[word],
                "color": WORD_COLOURS[word],
                "size": 11,
                "line": {"width": 2, "color": WORD_COLOURS[word]},
            },
            customdata=[
                [escape(titles[row]), f"{axes[v.axis]} {escape(v.value)}", "–" if p is None else f"{p:.3g}"]
                for _, row, p, v in points
            ],
            hovertemplate="%{customdata[0]}<br>%{customdata[1]}: p %{customdata[2]}<extra>" + word.value + "</extra>",
        )
    for column, variant in enumerate(shown):
        if variant.is_chosen:
            figure.add_vline(x=column, line={"color": NEUTRAL, "width": 14}, opacity=0.2, layer="below")
    begins = [column for column in range(1, len(shown)) if shown[column].axis != shown[column - 1].axis]
    for column in begins:
        figure.add_vline(x=column - 0.5, line={"color": NEUTRAL, "width": 1})
    figure.update_xaxes(
        tickvals=list(range(len(shown))),
        ticktext=[
            f"{axes[v.axis]} {escape(v.value)}" if _opens(shown, c) else escape(v.value) for c, v in enumerate(shown)
        ],
        tickangle=-60,
        range=[-0.7, len(shown) - 0.3],
    )
    figure.update_yaxes(
        tickvals=list(range(len(titles))),
        ticktext=[escape(_short(title)) for title in titles],
        range=[len(titles) - 0.4, -0.6],
    )
    return framed(figure, "", "", height=210 + ROW * len(titles))


def _spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """A little up and down, always the same, so that marks of one row do not hide each other."""
    return np.asarray(0.22 * np.sin(np.arange(len(values)) * 2.4), dtype=np.float64)


def _opens(shown: Sequence[Variant], column: int) -> bool:
    return column == 0 or shown[column].axis != shown[column - 1].axis


def _log10(log_p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Nats as powers of ten, not below the lowest that is shown."""
    powers: NDArray[np.float64] = np.maximum(np.asarray(log_p, dtype=np.float64) / np.log(10), LOWEST_LOG10_P)
    return powers


def _short(title: str, most: int = 34) -> str:
    return title if len(title) <= most else f"{title[: most - 1]}…"
