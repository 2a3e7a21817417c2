"""Figures that only the pages have; those that reports have too are in `reports.figures`. Members are blue."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from auditlib.audits.calibration import LengthClass
from auditlib.evidence import Interval
from auditlib.ui.charts import MARKED, NEUTRAL, REST, framed

MOST_BINS = 40


def score_histogram(
    members: NDArray[np.float64],
    non_members: NDArray[np.float64],
    unit: str,
    threshold: float | None = None,
    here: float | None = None,
) -> go.Figure:
    """Scores of both sets in the same bins; the threshold dashed, and one text's own score where given."""
    everything = np.concatenate([members, non_members, [] if here is None else [here]])
    n_bins = int(np.clip(2 * np.sqrt(len(everything)), 8, MOST_BINS))
    edges = np.histogram_bin_edges(everything, n_bins)
    middles, width = (edges[:-1] + edges[1:]) / 2, float(edges[1] - edges[0])
    figure = go.Figure()
    for name, values, colour, pattern in (("members", members, MARKED, ""), ("non-members", non_members, REST, "/")):
        figure.add_bar(
            x=middles,
            y=np.histogram(values, edges)[0],
            width=width,
            name=f"{name} ({len(values):,})",
            marker={"color": colour, "pattern": {"shape": pattern, "solidity": 0.2}},
            opacity=0.65,
            hovertemplate="%{y} near %{x:.3g}<extra>" + name + "</extra>",
        )
    figure.update_layout(barmode="overlay")
    for value, said, dash in ((threshold, "threshold", "dash"), (here, "this text", "solid")):
        if value is not None:
            figure.add_vline(x=value, line_dash=dash, line_color=NEUTRAL, line_width=2)
            figure.add_annotation(
                x=value, y=1, yref="paper", yanchor="bottom", showarrow=False, text=said, font_color=NEUTRAL
            )
    figure = framed(figure, f"score ({unit}): higher = more like the training data", "texts")
    return figure.update_layout(legend_y=1.08)


def length_figure(n_tokens: NDArray[np.int64], scores: NDArray[np.float64], is_member: NDArray[np.bool_]) -> go.Figure:
    """Every text's score over its length."""
    figure = go.Figure()
    for name, own, colour, symbol in (
        ("members", is_member, MARKED, "circle"),
        ("non-members", ~is_member, REST, "diamond"),
    ):
        figure.add_scattergl(
            x=n_tokens[own],
            y=scores[own],
            mode="markers",
            name=name,
            marker={"color": colour, "symbol": symbol, "size": 7, "opacity": 0.7},
            hovertemplate="%{x} tokens, score %{y:.3f}<extra>" + name + "</extra>",
        )
    return framed(figure, "length (scored tokens)", "score")


def length_classes_figure(classes: Sequence[LengthClass]) -> go.Figure:
    """AUC among texts of about one length."""
    names = [f"{c.low:,} words" if c.low == c.high else f"{c.low:,} to {c.high:,} words" for c in classes]
    figure = go.Figure()
    figure.add_scatter(
        x=names,
        y=[c.auc.estimate for c in classes],
        error_y=_bars([c.auc for c in classes]),
        mode="markers",
        marker={"color": MARKED, "size": 10},
        text=[f"{c.n_members} members, {c.n_non_members} non-members" for c in classes],
        hovertemplate="%{x}: AUC %{y:.3f}<br>%{text}<extra></extra>",
    )
    figure.add_hline(y=0.5, line_dash="dot", line_color=NEUTRAL)
    return framed(figure, "length", "AUC")


def _bars(intervals: Sequence[Interval]) -> dict[str, object]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [interval.high - interval.estimate for interval in intervals],
        "arrayminus": [interval.estimate - interval.low for interval in intervals],
    }
