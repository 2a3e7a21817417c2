"""Figures show the numbers they are given, and tell the sets apart without colour too."""

from __future__ import annotations

import numpy as np

from auditlib.evidence import Interval, roc
from auditlib.reports.figures import auc_by_method, k_sweep_figure, length_histogram, roc_log_figure, score_histogram

LABELS = np.arange(40) < 10
SCORES = np.linspace(-8, -4, 40)


def interval(estimate: float) -> Interval:
    return Interval(estimate, estimate - 0.1, estimate + 0.05, 0.95, "made up")


def test_a_histogram_holds_every_text_once_as_a_share_of_its_set() -> None:
    figure = score_histogram(SCORES, LABELS, "Min-K%", threshold=-6.0)
    assert [sum(row[0] for row in bar.customdata) for bar in figure.data] == [10, 30]
    assert np.allclose([sum(bar.y) for bar in figure.data], [100, 100])
    assert figure.layout.shapes[0].x0 == -6.0


def test_sets_differ_in_pattern_and_not_only_in_colour() -> None:
    members, others = score_histogram(SCORES, LABELS, "Min-K%").data
    assert members.marker.pattern.shape != others.marker.pattern.shape


def test_equal_lengths_are_drawn() -> None:
    figure = length_histogram(np.full(40, 512), LABELS)
    assert [list(bar.y) for bar in figure.data] == [[100], [100]]


def test_no_point_of_a_logarithmic_curve_is_at_zero() -> None:
    figure = roc_log_figure({"score": roc(LABELS, SCORES)})
    assert all(min(np.min(line.x), np.min(line.y)) > 0 for line in figure.data)
    assert figure.data[0].line.dash != figure.data[1].line.dash


def test_intervals_reach_as_far_as_they_are() -> None:
    figure = auc_by_method({"A": interval(0.8), "B": interval(0.7)}, interval(0.5), chosen="B")
    methods = figure.data[0]
    assert np.allclose(np.array(methods.x) - np.array(methods.error_x.arrayminus), [0.7, 0.6])
    assert np.allclose(np.array(methods.x) + np.array(methods.error_x.array), [0.85, 0.75])
    assert methods.marker.symbol == ("circle-open", "circle")


def test_a_name_cannot_bring_a_link_into_a_figure() -> None:
    figure = auc_by_method({'<a href="https://example.org">A</a>': interval(0.8)}, interval(0.5))
    assert "<a" not in figure.to_json()


def test_the_chosen_k_is_marked_where_its_auc_is() -> None:
    figure = k_sweep_figure((10, 20, 30), [interval(0.6), interval(0.8), interval(0.7)], 20)
    assert (figure.data[1].x, figure.data[1].y) == ((20,), (0.8,))
