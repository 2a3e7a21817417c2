"""Figures of a calibration: results in, plotly figure out, the same for a report and for a page.

Members are blue, solid and round; non-members orange, dashed, hatched and square; so they are told apart by people
with any colour vision, on either background, and on a black-and-white print.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from auditlib.evidence import Interval, Roc

MEMBERS = "#2f7fd0"
NON_MEMBERS = "#d98032"
NEUTRAL = "#8a94a3"
HEIGHT = 280  # pixels; two figures with their captions fit a page
ROC_HEIGHT = 340
MOST_BINS = 25
DASHES = ("solid", "dash", "dashdot", "longdash", "dot")
COLOURS = (MEMBERS, NEUTRAL, NON_MEMBERS, "#7d5fb2", "#3f8f7f")


def roc_figure(curves: Mapping[str, Roc]) -> go.Figure:
    """ROC curves by name on plain axes, with the diagonal of chance."""
    figure = go.Figure()
    _add_rocs(figure, curves, floor=0.0)
    figure.add_scatter(
        x=[0, 1],
        y=[0, 1],
        mode="lines",
        name="chance",
        line={"color": NEUTRAL, "width": 1, "dash": "dot"},
        hoverinfo="skip",
    )
    figure.update_xaxes(range=[-0.01, 1.01])
    figure.update_yaxes(range=[-0.01, 1.01])
    return framed(figure, "false-positive rate", "true-positive rate", height=ROC_HEIGHT)


def roc_log_figure(curves: Mapping[str, Roc]) -> go.Figure:
    """The same on logarithmic axes, where low false-positive rates can be seen.

    Axes begin at half of the smallest rate above 0 that the sets can show; a curve that is at 0 runs along that edge.
    """
    rates = np.concatenate([np.concatenate([curve.fpr, curve.tpr]) for curve in curves.values()])
    floor = float(rates[rates > 0].min()) / 2
    figure = go.Figure()
    _add_rocs(figure, curves, floor)
    diagonal = np.geomspace(floor, 1, 50)
    figure.add_scatter(
        x=diagonal,
        y=diagonal,
        mode="lines",
        name="chance",
        line={"color": NEUTRAL, "width": 1, "dash": "dot"},
        hoverinfo="skip",
    )
    ticks = [tick for tick in (0.0001, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if tick >= floor]
    log_axis = {
        "type": "log",
        "range": [float(np.log10(floor)), 0.02],
        "tickvals": ticks,
        "ticktext": [f"{tick:g}" for tick in ticks],
    }
    figure.update_xaxes(log_axis)
    figure.update_yaxes(log_axis)
    return framed(figure, "false-positive rate (log)", "true-positive rate (log)", height=ROC_HEIGHT)


def score_histogram(
    scores: NDArray[np.float64], is_member: NDArray[np.bool_], score_name: str, threshold: float | None = None
) -> go.Figure:
    """Scores (n,) of both sets, as shares of each set; the threshold, where there is one, as a dashed line."""
    figure = _two_histograms(scores, is_member)
    add_threshold(figure, threshold)
    return framed(figure, escape(score_name), "share of the set (%)")


def length_histogram(n_words: NDArray[np.int64], is_member: NDArray[np.bool_]) -> go.Figure:
    """Lengths (n,) of both sets in words, as shares of each set."""
    return framed(_two_histograms(n_words.astype(np.float64), is_member), "length (words)", "share of the set (%)")


def auc_by_method(intervals: Mapping[str, Interval], words_alone: Interval, chosen: str = "") -> go.Figure:
    """AUC of each method with its interval, the words alone below them; the `chosen` one is filled."""
    figure = go.Figure()
    for kind, own, colour, symbol in (
        ("methods", dict(intervals), MEMBERS, "circle"),
        ("the words alone, no model", {"words alone": words_alone}, NEUTRAL, "diamond"),
    ):
        values = list(own.values())
        figure.add_scatter(
            x=[value.estimate for value in values],
            y=[escape(name) for name in own],
            mode="markers",
            name=kind,
            marker={
                "color": colour,
                "size": 11,
                "line": {"color": colour, "width": 2},
                "symbol": [symbol if name == chosen or kind != "methods" else f"{symbol}-open" for name in own],
            },
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [value.high - value.estimate for value in values],
                "arrayminus": [value.estimate - value.low for value in values],
                "color": colour,
                "thickness": 2,
                "width": 5,
            },
            customdata=[[value.low, value.high] for value in values],
            hovertemplate="%{y}: %{x:.3f} (%{customdata[0]:.3f} to %{customdata[1]:.3f})<extra></extra>",
        )
    _add_chance(figure, "x")
    figure.update_yaxes(autorange="reversed", automargin=True)
    everything = [*intervals.values(), words_alone]
    low, high = min(value.low for value in everything), max(value.high for value in everything)
    figure.update_xaxes(range=[min(low, 0.5) - 0.04, max(high, 0.5) + 0.04])
    return framed(figure, "AUC with its 95% interval", "", height=110 + 28 * len(everything))


def k_sweep_figure(ks: Sequence[int], aucs: Sequence[Interval], chosen_k: int) -> go.Figure:
    """AUC over k (percent) with intervals; the k chosen in one half of the texts is marked."""
    estimates = [value.estimate for value in aucs]
    figure = go.Figure()
    figure.add_scatter(
        x=list(ks),
        y=estimates,
        mode="lines+markers",
        name="AUC on all texts",
        line={"color": MEMBERS, "width": 2},
        marker={"size": 6, "color": MEMBERS},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [value.high - value.estimate for value in aucs],
            "arrayminus": [value.estimate - value.low for value in aucs],
            "color": MEMBERS,
            "thickness": 1,
            "width": 4,
        },
        hovertemplate="k = %{x}%: %{y:.3f}<extra></extra>",
    )
    figure.add_scatter(
        x=[chosen_k],
        y=[estimates[list(ks).index(chosen_k)]],
        mode="markers",
        name=f"k = {chosen_k}%, best in one half",
        marker={"size": 15, "color": NON_MEMBERS, "symbol": "diamond-open", "line": {"width": 3}},
        hoverinfo="skip",
    )
    _add_chance(figure, "y")
    return framed(figure, "k (percent of tokens looked at)", "AUC with its 95% interval")


def add_threshold(figure: go.Figure, threshold: float | None) -> None:
    """The threshold on an axis of scores as a dashed line, where there is one."""
    if threshold is not None and np.isfinite(threshold):
        figure.add_vline(x=threshold, line_dash="dash", line_color=NEUTRAL)
        figure.add_annotation(
            x=threshold,
            y=1,
            yref="paper",
            yanchor="bottom",
            xanchor="center",
            showarrow=False,
            text=f"threshold {threshold:.3g}".replace("-", "−"),
        )


def framed(figure: go.Figure, x: str, y: str, height: int = HEIGHT) -> go.Figure:
    """`figure` with axis titles and the margins and legend that all figures have."""
    figure.update_layout(
        xaxis_title=x,
        yaxis_title=y,
        height=height,
        margin={"l": 10, "r": 14, "t": 44, "b": 10},
        legend={"orientation": "h", "y": 1.08, "yanchor": "bottom", "x": 0, "xanchor": "left"},
    )
    figure.update_xaxes(automargin=True)
    figure.update_yaxes(automargin=True)
    return figure


def _add_rocs(figure: go.Figure, curves: Mapping[str, Roc], floor: float) -> None:
    for place, (name, curve) in enumerate(curves.items()):
        figure.add_scatter(
            x=np.maximum(curve.fpr, floor),
            y=np.maximum(curve.tpr, floor),
            mode="lines",
            name=escape(name),
            line={
                "color": COLOURS[place % len(COLOURS)],
                "width": 2.5 if place == 0 else 2,
                "dash": DASHES[place % len(DASHES)],
            },
            hovertemplate="FPR %{x:.3f}, TPR %{y:.3f}<extra></extra>",
        )


def _add_chance(figure: go.Figure, axis: str) -> None:
    """The AUC of chance as a line across: on "x" upright, on "y" level."""
    line = {"color": NEUTRAL, "width": 1, "dash": "dot"}
    if axis == "x":
        figure.add_vline(x=0.5, line=line, annotation_text="chance", annotation_position="top")
    else:
        figure.add_hline(y=0.5, line=line, annotation_text="chance", annotation_position="bottom right")


def _two_histograms(values: NDArray[np.float64], is_member: NDArray[np.bool_]) -> go.Figure:
    low, high = float(values.min()), float(values.max())
    n_bins = int(np.clip(np.sqrt(len(values)) * 1.5, 8, MOST_BINS))
    edges = np.linspace(low, high, n_bins + 1) if high > low else np.array([low - 0.5, low + 0.5])
    middles, width = (edges[:-1] + edges[1:]) / 2, float(edges[1] - edges[0])
    figure = go.Figure()
    for name, own, colour, pattern, side in (
        ("members", is_member, MEMBERS, "", -1),
        ("non-members", ~is_member, NON_MEMBERS, "/", 1),
    ):
        counts, _ = np.histogram(values[own], edges)
        some = counts > 0  # an empty bar would be drawn as a line on the axis
        figure.add_bar(
            x=(middles + side * width * 0.22)[some],
            y=100 * counts[some] / len(values[own]),
            width=width * 0.42,
            name=f"{name} ({np.count_nonzero(own):,})",
            marker={
                "color": colour,
                "line": {"color": colour, "width": 1},
                "pattern": {"shape": pattern, "fillmode": "replace", "fgcolor": colour, "size": 6, "solidity": 0.4},
            },
            customdata=np.stack([counts, edges[:-1], edges[1:]], axis=1)[some],
            hovertemplate="%{customdata[0]} texts from %{customdata[1]:.4g} to %{customdata[2]:.4g}"
            f"<extra>{name}</extra>",
        )
    figure.update_layout(barmode="overlay")
    figure.update_xaxes(range=[float(edges[0]) - width / 2, float(edges[-1]) + width / 2])
    return figure
