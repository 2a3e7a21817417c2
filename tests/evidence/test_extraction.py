"""Extraction by hand, and where floating point would lose it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from auditlib.evidence import extraction_of_pieces, extraction_probability, extraction_summary, extraction_windows


def test_windows_sum_the_suffix_and_not_the_prefix() -> None:
    logprob = -np.arange(12.0)
    windows = extraction_windows(logprob, prefix=3, suffix=2, step=4)
    assert list(windows.start) == [0, 4]
    assert list(windows.log_p) == [-(3 + 4), -(7 + 8)]


def test_a_text_of_exactly_one_window_has_one_and_a_shorter_none() -> None:
    assert len(extraction_windows(np.full(100, -1.0)).start) == 1
    assert len(extraction_windows(np.full(99, -1.0)).start) == 0


def test_probability_of_at_least_one_in_n_by_hand() -> None:
    assert extraction_probability(math.log(0.5), 3) == pytest.approx(0.875)
    assert extraction_probability(0.0, 1) == 1.0
    assert extraction_probability(-math.inf, 10) == 0.0
    assert extraction_probability(-2.0, 0) == 0.0


def test_tiny_probabilities_are_not_lost() -> None:
    # 1 - (1 - 1e-20)^1000 is 1e-17; computed as written it would be 0.
    assert extraction_probability(math.log(1e-20), 1000) == pytest.approx(1e-17)
    assert extraction_probability(math.log(1e-6), 10**9) == 1.0


def test_summary_counts_shares_and_the_longest_run() -> None:
    p = np.array([0.6, 0.6, 0.005, 0.02, 0.6, 0.0001])
    summary = extraction_summary(np.log(p))
    assert summary.thresholds == (0.001, 0.01, 0.5)
    assert summary.shares == pytest.approx((5 / 6, 4 / 6, 3 / 6))
    assert summary.longest_runs == (5, 2, 2)


def test_pieces_are_counted_together_and_no_run_goes_on_between_them() -> None:
    pieces = [np.log([0.001, 0.6, 0.6]), np.array([]), np.log([0.6, 0.0001, 0.02])]
    summary = extraction_of_pieces(pieces)
    assert summary.n_windows == 6
    assert summary.shares == pytest.approx((5 / 6, 4 / 6, 3 / 6))
    assert summary.longest_runs == (3, 2, 2)
    assert summary.median_log_p == pytest.approx((math.log(0.02) + math.log(0.6)) / 2)
    assert extraction_of_pieces([]).median_log_p is None


def test_no_windows_are_no_shares() -> None:
    summary = extraction_summary([])
    assert (summary.n_windows, summary.shares, summary.longest_runs) == (0, (0.0, 0.0, 0.0), (0, 0, 0))


@pytest.mark.parametrize("logprob", [[0.5, -1.0], [-1.0, float("nan")], [[-1.0]]])
def test_what_are_no_log_probabilities_is_refused(logprob: list[float]) -> None:
    with pytest.raises(ValueError, match="logprob"):
        extraction_windows(logprob)
