"""Plotly figures that pages share. They take arrays and return figures; nothing is computed from a model here."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

# Blue and orange, told apart by people with any colour vision and on either background.
MARKED = "#2f7fd0"
REST = "#d98032"
NEUTRAL = "#8a94a3"
RUNNING_WINDOW = 25
MOST_BINS = 60


def logprob_histogram(logprob: NDArray[np.float32], marked: NDArray[np.bool_], k: float) -> go.Figure:
    """How many tokens had which log-probability (nats); the bottom k% in the marking colour, and the cut drawn."""
    low, high = float(logprob.min()), min(0.0, float(logprob.max()))
    n_bins = int(np.clip(np.sqrt(len(logprob)) * 2, 10, MOST_BINS))
    edges = np.linspace(low, max(high, low + 1e-3), n_bins + 1)
    middles, width = (edges[:-1] + edges[1:]) / 2, edges[1] - edges[0]
    figure = go.Figure()
    for name, values, colour in (
        (f"bottom {k:g}%", logprob[marked], MARKED),
        ("other tokens", logprob[~marked], REST),
    ):
        counts, _ = np.histogram(values, edges)
        figure.add_bar(
            x=middles,
            y=counts,
            width=width,
            name=name,
            marker_color=colour,
            hovertemplate="%{y} tokens near %{x:.1f} nats<extra>" + name + "</extra>",
        )
    cut = float(logprob[marked].max())
    figure.add_vline(x=cut, line_dash="dash", line_color=NEUTRAL)
    figure.add_annotation(
        x=cut,
        y=0.97,
        yref="paper",
        xanchor="right",
        xshift=-6,
        showarrow=False,
        text=f"cut at {cut:.2f} nats".replace("-", "−"),
    )
    figure.update_layout(barmode="stack")
    return framed(figure, "log-probability (nats)", "tokens")


def running_logprob(logprob: NDArray[np.float32], marked: NDArray[np.bool_], k: float) -> go.Figure:
    """Log-probability along the text (nats): a centred running mean, and the bottom k% as points."""
    positions = np.arange(len(logprob))
    figure = go.Figure()
    figure.add_scatter(
        x=positions[marked],
        y=logprob[marked],
        mode="markers",
        name=f"bottom {k:g}%",
        marker={"size": 5, "color": MARKED, "symbol": "diamond"},
        hovertemplate="token %{x}: %{y:.2f} nats<extra></extra>",
    )
    figure.add_scatter(
        x=positions,
        y=running_mean(logprob, RUNNING_WINDOW),
        mode="lines",
        name=f"mean over {RUNNING_WINDOW} tokens",
        line={"color": REST, "width": 2},
        hovertemplate="around token %{x}: %{y:.2f} nats<extra></extra>",
    )
    return framed(figure, "token", "log-probability (nats)")


def running_mean(values: NDArray[np.float32], window: int) -> NDArray[np.float64]:
    """Mean of each value (n,) and its neighbours, `window` in all; at the ends of those there are."""
    kernel = np.ones(min(window, len(values)))
    sums = np.convolve(values.astype(np.float64), kernel, mode="same")
    return np.asarray(sums / np.convolve(np.ones(len(values)), kernel, mode="same"))


def framed(figure: go.Figure, x: str, y: str) -> go.Figure:
    """`figure` with axis titles and the margins, height and legend that all figures have."""
    figure.update_layout(
        xaxis_title=x,
        yaxis_title=y,
        height=320,
        margin={"l": 10, "r": 10, "t": 40, "b": 10},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 1, "xanchor": "right"},
    )
    return figure
