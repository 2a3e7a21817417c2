"""How far two readings agree, on numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from auditlib.core import TokenStats
from auditlib.models.agreement import agreement


def stats(logprob: list[float], end: list[int]) -> TokenStats:
    start = [0, *end[:-1]]
    columns = (np.array(column, dtype=np.int32) for column in (range(len(end)), start, end))
    return TokenStats(*columns, np.array(logprob, dtype=np.float32), None, None, None)


def test_same_tokens_are_compared_one_by_one() -> None:
    found = agreement(stats([-1.0, -2.0, -3.0], [2, 4, 8]), stats([-1.5, -2.0, -2.0], [2, 4, 8]))
    assert found.same_tokens
    assert found.mean == pytest.approx(0.5)
    assert found.largest == pytest.approx(1.0)
    assert (found.first, found.second) == pytest.approx((6 / 8, 5.5 / 8))


def test_other_tokens_leave_only_what_a_character_costs() -> None:
    found = agreement(stats([-1.0, -3.0], [4, 8]), stats([-1.0, -2.0, -3.0], [2, 4, 8]))
    assert not found.same_tokens
    assert found.mean is None
    assert (found.first, found.second) == pytest.approx((4 / 8, 6 / 8))
