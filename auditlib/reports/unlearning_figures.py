"""Figures of an unlearning audit. Roles differ in colour, in shape and in hatching, as sets do in `figures.py`."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from auditlib.audits.unlearning import CompletionTest, Role, Screening
from auditlib.audits.unlearning.completions import MEASURES
from auditlib.reports.figures import MEMBERS, NEUTRAL, NON_MEMBERS, framed

LOOKS = {
    Role.FORGET: (NON_MEMBERS, "square", "/"),
    Role.KEEP: (MEMBERS, "circle", ""),
    Role.HELD_OUT: (NEUTRAL, "diamond", "."),
}
BINS = 20


def ratio_figure(screening: Screening) -> go.Figure:
    """Every chunk's ratio of scores, role by role; the window of suspicion is shaded."""
    figure = go.Figure()
    figure.add_hrect(y0=1 / screening.factor, y1=screening.factor, fillcolor=NEUTRAL, opacity=0.18, line_width=0)
    place = 0
    for role, (colour, symbol, _) in LOOKS.items():
        own = [line for line in screening.lines if line.role is role and np.isfinite(line.ratio)]
        if not own:
            continue
        figure.add_scatter(
            x=list(range(place + 1, place + len(own) + 1)),
            y=[line.ratio for line in own],
            mode="markers",
            name=f"works {role.value} ({len(own):,})",
            marker={"color": colour, "symbol": symbol, "size": 8},
            customdata=[[line.first_word + 1, line.original, line.unlearned] for line in own],
            hovertemplate="from word %{customdata[0]:,}: %{customdata[1]:.3f} and %{customdata[2]:.3f}, ratio %{y:.3f}"
            "<extra></extra>",
        )
        place += len(own)
    return framed(figure, "chunks, work by work", "score, unlearned over original")


def similarity_figure(test: CompletionTest, screening: Screening, measure: str) -> go.Figure:
    """How near completions come to the true continuation, as shares of each role's samples."""
    role_of = {line.id: line.role for line in screening.lines}
    values = [(role_of[one.chunk], value) for one in test.completions if (value := one.measure(measure)) is not None]
    numbers = np.array([value for _, value in values])
    if measure == "judge":
        edges = np.arange(0.5, 6.0)
    else:
        low, high = float(numbers.min()), float(numbers.max())
        edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    width = float(edges[1] - edges[0])
    roles = [role for role in LOOKS if any(one is role for one, _ in values)]
    figure = go.Figure()
    for number, role in enumerate(roles):
        colour, _, pattern = LOOKS[role]
        own = np.array([value for one, value in values if one is role])
        counts, _ = np.histogram(own, edges)
        some = counts > 0
        shift = (number - (len(roles) - 1) / 2) * width / (len(roles) + 0.5)
        figure.add_bar(
            x=((edges[:-1] + edges[1:]) / 2 + shift)[some],
            y=100 * counts[some] / len(own),
            width=0.9 * width / (len(roles) + 0.5),
            name=f"works {role.value} ({len(own):,})",
            marker={
                "color": colour,
                "pattern": {"shape": pattern, "fillmode": "replace", "fgcolor": colour, "size": 6},
                "line": {"color": colour, "width": 1},
            },
            hovertemplate="%{y:.1f}%<extra></extra>",
        )
    figure.update_layout(barmode="overlay")
    return framed(figure, MEASURES[measure], "share of the completions (%)")
