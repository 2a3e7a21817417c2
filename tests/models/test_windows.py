"""Windows and batches: every token scored once, with all the context there can be, in no more room than given."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditlib.models.windows import batches_of, windows_of


def test_long_text_is_read_in_windows_that_overlap_by_half() -> None:
    windows = windows_of(10, first_scorable=1, window_tokens=4)
    assert [(w.begin, w.end, w.first_scored) for w in windows] == [(0, 4, 1), (2, 6, 4), (4, 8, 6), (6, 10, 8)]


@given(
    n=st.integers(1, 300),
    first=st.integers(0, 1),
    window=st.integers(2, 64),
    overlap=st.floats(0, 0.95, exclude_max=True),
)
def test_each_token_is_scored_once_in_the_earliest_window_that_holds_it(
    n: int, first: int, window: int, overlap: float
) -> None:
    windows = windows_of(n, first, window, overlap)
    scored = [token for w in windows for token in range(w.first_scored, w.end)]
    assert scored == list(range(first, n))
    for w in windows:
        assert w.end - w.begin <= window
        assert w.first_scored > w.begin or (w.begin == 0 and first == 0)
    for earlier, later in pairwise(windows):
        assert later.first_scored == earlier.end


@pytest.mark.parametrize("overlap", [-0.1, 1.0])
def test_impossible_overlap_is_an_error(overlap: float) -> None:
    with pytest.raises(ValueError, match="overlap"):
        windows_of(10, 1, 4, overlap)


@given(st.lists(st.integers(1, 100), max_size=60), st.integers(1, 200))
def test_batches_hold_every_text_once_and_stay_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = batches_of(lengths, budget)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        padded = max(lengths[i] for i in batch) * len(batch)
        assert padded <= budget or len(batch) == 1


def test_batches_put_texts_of_like_length_together() -> None:
    assert batches_of([5, 100, 6, 99], budget=200) == [[1, 3], [2, 0]]
