"""`TokenStats` as compact bytes and back, every bit the same.

Whole numbers take as many bytes as the largest of their column needs, and a token's place is kept as its distance from
the one before and its length: 18 bytes a token in place of 28 for a text of 800 tokens under SmolLM2. zlib or zstd on
top would save 12 to 23% and cost 0.05 to 0.4 ms a text: not worth it beside 0.01 ms for what is here.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from auditlib.core import TokenStats

FORMAT = 1
_HEADER = struct.Struct("<BBBBBBxxI")  # format, floats there, widths of the four whole columns, n_tokens
_FLOATS = ("logprob", "expected", "variance")
_WIDTHS = {1: "<u1", 2: "<u2", 4: "<u4"}
NO_RANK = 0  # a column's width where there is none


def pack(stats: TokenStats) -> bytes:
    """Everything but the alternatives, which are not kept."""
    floats = [getattr(stats, name) for name in _FLOATS]
    # Modulo 2**32 a difference can be undone whatever the numbers are.
    start, end = _unsigned(stats.start), _unsigned(stats.end)
    step = np.diff(start, prepend=np.uint32(0))
    whole = [_unsigned(stats.token_ids), step, end - start]
    if stats.rank is not None:
        whole.append(_unsigned(stats.rank))
    n = stats.n_tokens
    if any(column.shape != (n,) for column in [*whole, *(f for f in floats if f is not None)]):
        raise ValueError("the columns of TokenStats differ in length")
    widths = [_width(column) for column in whole] + [NO_RANK] * (4 - len(whole))
    present = sum(1 << place for place, column in enumerate(floats) if column is not None)
    parts = [_HEADER.pack(FORMAT, present, *widths, n)]
    parts += [column.astype("<f4", copy=False).tobytes() for column in floats if column is not None]
    parts += [column.astype(_WIDTHS[width]).tobytes() for column, width in zip(whole, widths, strict=False)]
    return b"".join(parts)


def unpack(payload: bytes) -> TokenStats:
    """What `pack` was given. Raises `ValueError` for bytes that it never made. The arrays cannot be written to."""
    if len(payload) < _HEADER.size:
        raise ValueError("shorter than a header")
    made_as, present, *widths, n = _HEADER.unpack_from(payload)
    if made_as != FORMAT:
        raise ValueError(f"unknown format {made_as}")
    at = _HEADER.size
    columns: list[NDArray[np.generic] | None] = []
    kinds = ["<f4" if present >> place & 1 else None for place in range(3)]
    kinds += [None if width == NO_RANK else _WIDTHS.get(width, "") for width in widths]
    for kind in kinds:
        if kind == "":
            raise ValueError("unknown width")
        columns.append(None if kind is None else np.frombuffer(payload, kind, n, at))
        at += 0 if kind is None else n * np.dtype(kind).itemsize
    if at != len(payload):
        raise ValueError("longer than its columns")
    logprob, expected, variance, ids, step, length, rank = columns
    if logprob is None or ids is None or step is None or length is None:
        raise ValueError("a column is missing")
    start = np.cumsum(step, dtype=np.uint32)
    return TokenStats(
        token_ids=_signed(ids),
        start=_signed(start),
        end=_signed(start + length.astype(np.uint32)),
        logprob=logprob.astype(np.float32, copy=False),
        expected=None if expected is None else expected.astype(np.float32, copy=False),
        variance=None if variance is None else variance.astype(np.float32, copy=False),
        rank=None if rank is None else _signed(rank),
    )


def _unsigned(column: NDArray[np.int32]) -> NDArray[np.uint32]:
    return np.ascontiguousarray(column, dtype=np.int32).view(np.uint32)


def _signed(column: NDArray[np.generic]) -> NDArray[np.int32]:
    signed = column.astype(np.uint32).view(np.int32)
    signed.flags.writeable = False
    return signed


def _width(column: NDArray[np.uint32]) -> int:
    largest = int(column.max(initial=0))
    return 1 if largest < 1 << 8 else 2 if largest < 1 << 16 else 4
