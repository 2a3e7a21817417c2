"""Figures show the numbers they are given."""

from __future__ import annotations

import numpy as np

from auditlib.scoring.min_k import bottom_mask
from auditlib.ui.charts import logprob_histogram, running_logprob, running_mean

LOGPROB = np.linspace(-9, -0.1, 200, dtype=np.float32)


def test_histogram_counts_every_token_once_and_draws_the_cut_at_the_last_marked() -> None:
    marked = bottom_mask(LOGPROB, 20)
    figure = logprob_histogram(LOGPROB, marked, 20)
    assert [sum(bar.y) for bar in figure.data] == [40, 160]
    assert np.isclose(figure.layout.shapes[0].x0, LOGPROB[39])


def test_histogram_of_equal_values_is_drawn() -> None:
    same = np.full(5, -2.0, dtype=np.float32)
    assert sum(sum(bar.y) for bar in logprob_histogram(same, bottom_mask(same, 20), 20).data) == 5


def test_running_chart_marks_the_bottom_tokens_at_their_places() -> None:
    marked = bottom_mask(LOGPROB[::-1].copy(), 20)
    figure = running_logprob(LOGPROB[::-1].copy(), marked, 20)
    assert list(figure.data[0].x) == list(range(160, 200))


def test_running_mean_at_the_ends_is_of_what_is_there() -> None:
    values = np.array([1.0, 2.0, 6.0], dtype=np.float32)
    np.testing.assert_allclose(running_mean(values, 3), [1.5, 3.0, 4.0])
