"""Token statistics as bytes: every bit comes back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from auditlib.core import Alternatives, TokenStats
from auditlib.store.packing import pack, unpack

FIELDS = ("token_ids", "start", "end", "logprob", "expected", "variance", "rank")


def assert_same_bits(one: TokenStats, other: TokenStats) -> None:
    for field in FIELDS:
        a, b = getattr(one, field), getattr(other, field)
        if a is None:
            assert b is None, field
        else:
            assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), field


@st.composite
def token_stats(draw: st.DrawFn) -> TokenStats:
    """Any numbers at all, NaNs with any payload among them: floats are drawn as bits."""
    n = draw(st.integers(0, 40))
    largest = draw(st.sampled_from([255, 256, 65_535, 65_536, 2**31 - 1]))
    smallest = draw(st.sampled_from([0, -(2**31)]))
    whole = arrays(np.int32, n, elements=st.integers(smallest, largest))
    floats = arrays(np.uint32, n, elements=st.integers(0, 2**32 - 1)).map(lambda bits: bits.view(np.float32))
    return TokenStats(
        token_ids=draw(whole),
        start=draw(whole),
        end=draw(whole),
        logprob=draw(floats),
        expected=draw(st.none() | floats),
        variance=draw(st.none() | floats),
        rank=draw(st.none() | whole),
    )


@given(token_stats())
def test_whatever_was_packed_comes_back_bit_for_bit(stats: TokenStats) -> None:
    assert_same_bits(unpack(pack(stats)), stats)


def typical(n: int) -> TokenStats:
    end = np.cumsum(np.full(n, 4), dtype=np.int32)
    number = np.linspace(-12, -0.1, n, dtype=np.float32)
    ids = np.arange(n, dtype=np.int32) * 50
    return TokenStats(ids, end - 4, end, number, number, -number, ids + 1)


def test_usual_token_takes_18_bytes() -> None:
    """Three floats of 4, id and rank of 2, step and length of 1."""
    assert len(pack(typical(700))) - len(pack(typical(0))) == 700 * 18


def test_alternatives_are_not_kept() -> None:
    stats = typical(3)
    more = Alternatives(np.zeros((3, 2), np.int32), np.zeros((3, 2), np.float32))
    with_more = TokenStats(**{field: getattr(stats, field) for field in FIELDS}, alternatives=more)
    assert pack(with_more) == pack(stats)
    assert unpack(pack(with_more)).alternatives is None


def test_what_comes_back_cannot_be_changed() -> None:
    stats = unpack(pack(typical(3)))
    assert not any(getattr(stats, field).flags.writeable for field in FIELDS)


def test_columns_of_different_length_are_refused() -> None:
    stats = typical(3)
    columns = {field: getattr(stats, field) for field in FIELDS} | {"rank": np.ones(2, np.int32)}
    with pytest.raises(ValueError, match="differ in length"):
        pack(TokenStats(**columns))


@given(st.binary(max_size=80))
def test_any_bytes_are_unpacked_or_refused(data: bytes) -> None:
    try:
        stats = unpack(data)
    except ValueError:
        return
    assert stats.n_tokens >= 0
