"""A calibration's figures: from results to Plotly, nothing computed here. Members blue, non-members orange."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from auditlib.audits.calibration import Calibrated, KSweep, LengthClass
from auditlib.evidence import Interval, Roc
from auditlib.scoring import SCORES
from auditlib.ui.charts import MARKED, NEUTRAL, REST, framed

MOST_BINS = 40
LOWEST_RATE = 1e-3


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


def roc_figure(curves: Sequence[tuple[str, Roc]], logarithmic: bool = False) -> go.Figure:
    """TPR over FPR of each named curve, the first drawn strongest; the diagonal is chance."""
    figure = go.Figure()
    dashes = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
    for number, (name, curve) in enumerate(curves):
        figure.add_scatter(
            x=np.maximum(curve.fpr, LOWEST_RATE) if logarithmic else curve.fpr,
            y=np.maximum(curve.tpr, LOWEST_RATE) if logarithmic else curve.tpr,
            name=name,
            mode="lines",
            line={
                "dash": dashes[number % len(dashes)],
                "width": 3 if number == 0 else 1.5,
                "color": MARKED if number == 0 else None,
                "shape": "hv",
            },
            hovertemplate="TPR %{y:.2f} at FPR %{x:.3f}<extra>" + name + "</extra>",
        )
    ends = np.geomspace(LOWEST_RATE, 1, 50) if logarithmic else np.array([0.0, 1.0])
    figure.add_scatter(
        x=ends, y=ends, mode="lines", name="chance", line={"color": NEUTRAL, "dash": "dot"}, hoverinfo="skip"
    )
    figure = framed(figure, "false-positive rate (share of non-members)", "true-positive rate (share of members)")
    if logarithmic:
        ticks = {"type": "log", "tickvals": [0.001, 0.01, 0.1, 1], "ticktext": ["0.1%", "1%", "10%", "100%"]}
        figure.update_layout(xaxis=ticks, yaxis=ticks)
    # Six names do not fit into one line above a narrow figure.
    return figure.update_layout(
        legend={"orientation": "v", "x": 1, "xanchor": "right", "y": 0, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"}
    )


def auc_figure(found: Calibrated) -> go.Figure:
    """AUC of every method and of the words alone, each with its interval."""
    rows = [(SCORES[name].label, method.findings.auc, MARKED) for name, method in found.methods.items()]
    rows.append(("the words alone", found.words.blind.auc, REST))
    rows.reverse()
    figure = go.Figure()
    for colour, said in ((MARKED, "with the model"), (REST, "without it")):
        own = [(name, interval) for name, interval, its in rows if its == colour]
        figure.add_scatter(
            x=[interval.estimate for _, interval in own],
            y=[name for name, _ in own],
            error_x=_bars([interval for _, interval in own]),
            mode="markers",
            name=said,
            marker={"color": colour, "size": 10, "symbol": "circle" if colour == MARKED else "diamond"},
            hovertemplate="%{y}: AUC %{x:.3f}<extra></extra>",
        )
    figure.add_vline(x=0.5, line_dash="dot", line_color=NEUTRAL)
    figure.update_yaxes(categoryorder="array", categoryarray=[name for name, _, _ in rows])
    return framed(figure, "AUC with its 95% interval (0.5 is chance)", "")


def sweep_figure(sweep: KSweep, k: float) -> go.Figure:
    """AUC over k with intervals; the present k dashed."""
    figure = go.Figure()
    low, high = ([getattr(interval, end) for interval in sweep.auc_by_k] for end in ("low", "high"))
    figure.add_scatter(
        x=[*sweep.ks, *sweep.ks[::-1]],
        y=[*high, *low[::-1]],
        fill="toself",
        line={"width": 0},
        fillcolor="rgba(47,127,208,0.18)",
        name="95% interval",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=sweep.ks,
        y=[interval.estimate for interval in sweep.auc_by_k],
        mode="lines+markers",
        name="AUC",
        line={"color": MARKED},
        hovertemplate="k = %{x}%: AUC %{y:.3f}<extra></extra>",
    )
    figure.add_hline(y=0.5, line_dash="dot", line_color=NEUTRAL)
    figure.add_vline(x=k, line_dash="dash", line_color=NEUTRAL)
    return framed(figure, "k (% of tokens)", "AUC")


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
