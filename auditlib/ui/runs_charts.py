"""Two runs' numbers in one figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import plotly.graph_objects as go

from auditlib.evidence import Interval
from auditlib.reports.figures import MEMBERS, NEUTRAL, NON_MEMBERS, framed

APART = 0.16  # of a row, from its middle
ROW_HEIGHT = 44  # pixels


def intervals_of_two(
    first_name: str,
    first: Mapping[str, Interval],
    second_name: str,
    second: Mapping[str, Interval],
    rows: Sequence[str],
    what: str,
    chance: float,
) -> go.Figure:
    """Both runs' estimates with their intervals, a row a name; a name that one run lacks has one mark."""
    figure = go.Figure()
    for name, values, colour, symbol, side in (
        (first_name, first, MEMBERS, "circle", -1),
        (second_name, second, NON_MEMBERS, "diamond", 1),
    ):
        own = [(place, values[row]) for place, row in enumerate(rows) if row in values]
        figure.add_scatter(
            x=[value.estimate for _, value in own],
            y=[place + side * APART for place, _ in own],
            mode="markers",
            name=escape(name),
            marker={"color": colour, "size": 11, "symbol": symbol},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [value.high - value.estimate for _, value in own],
                "arrayminus": [value.estimate - value.low for _, value in own],
                "color": colour,
                "thickness": 2,
                "width": 5,
            },
            customdata=[[escape(rows[place]), value.low, value.high] for place, value in own],
            hovertemplate="%{customdata[0]}: %{x:.3f} (%{customdata[1]:.3f} to %{customdata[2]:.3f})"
            f"<extra>{escape(name)}</extra>",
        )
    figure.add_vline(
        x=chance,
        line={"color": NEUTRAL, "width": 1, "dash": "dot"},
        annotation_text="chance",
        annotation_position="top",
    )
    figure.update_yaxes(
        tickvals=list(range(len(rows))),
        ticktext=[escape(row) for row in rows],
        range=[len(rows) - 0.5, -0.5],
        automargin=True,
    )
    return framed(figure, what, "", height=110 + ROW_HEIGHT * len(rows))
