"""What the browser needs to draw a reading: text in cells, numbers as packed columns."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditlib.core import TargetModel
from auditlib.scoring import Reading


def heatmap_payload(model: TargetModel, reading: Reading) -> dict[str, Any]:
    """A JSON-ready description of `reading`.

    `cells` are pieces of the text that together are the text; `first_token` and `token_count` say which tokens
    each stands for (none where it was context only). Numbers travel as base64 of little-endian float32 or
    int32, exactly as they were computed.
    """
    stats = reading.stats
    cells, first, count = cells_of(reading.text, stats.start, stats.end)
    alternatives = stats.alternatives
    shown = (
        stats.token_ids[:, None] if alternatives is None else np.hstack([stats.token_ids[:, None], alternatives.ids])
    )
    unique, index = np.unique(shown, return_inverse=True)
    index = index.reshape(shown.shape).astype(np.int32)
    payload = {
        "cells": cells,
        "first_token": _packed(first),
        "token_count": _packed(count),
        "logprob": _packed(stats.logprob),
        "expected": _packed(stats.expected),
        "variance": _packed(stats.variance),
        "rank": _packed(stats.rank),
        "pieces": model.token_text(unique.tolist()),
        "piece": _packed(index[:, 0]),
        "top": 0 if alternatives is None else alternatives.ids.shape[1],
        "alternative": _packed(index[:, 1:]),
        "alternative_logprob": _packed(None if alternatives is None else alternatives.logprob),
        "vocabulary": model.vocabulary_size,
        "k": round(reading.k),
    }
    identity = repr((reading.text, payload["logprob"], model.identity)).encode("utf-8")
    return payload | {"id": sha256(identity).hexdigest()}


def difference_payload(model: TargetModel, reading: Reading, other: Reading) -> dict[str, Any] | None:
    """`reading` coloured by how much better its tokens were foreseen than in `other`, by another model.

    None where the two models cut the text into different tokens, so that there is nothing to subtract.
    """
    ours, theirs = reading.stats, other.stats
    if not (np.array_equal(ours.start, theirs.start) and np.array_equal(ours.end, theirs.end)):
        return None
    payload = heatmap_payload(model, reading) | {"against": _packed(theirs.logprob), "colour_by": "difference"}
    return payload | {"id": sha256((payload["id"] + str(payload["against"])).encode()).hexdigest()}


def cells_of(
    text: str, start: NDArray[np.int32], end: NDArray[np.int32]
) -> tuple[list[str], NDArray[np.int32], NDArray[np.int32]]:
    """The text in pieces that a browser can colour, with each piece's first token and number of tokens.

    Tokens that share a character share a cell, so that the character is shown once.
    """
    cells: list[str] = []
    first: list[int] = []
    count: list[int] = []
    covered = 0

    def add(upto: int, token: int, n_tokens: int) -> None:
        nonlocal covered
        cells.append(text[covered:upto])
        first.append(token)
        count.append(n_tokens)
        covered = upto

    for token, (a, b) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        if cells and count[-1] and (a < covered or b <= covered):
            count[-1] += 1
            if b > covered:
                cells[-1] += text[covered:b]
                covered = b
            continue
        if a > covered:
            add(a, token, 0)
        add(max(b, covered), token, 1)
    if covered < len(text):
        add(len(text), len(start), 0)
    return cells, np.array(first, dtype=np.int32), np.array(count, dtype=np.int32)


def _packed(values: NDArray[Any] | None) -> str | None:
    if values is None:
        return None
    little_endian = values.dtype.newbyteorder("<")
    return b64encode(np.ascontiguousarray(values, dtype=little_endian).tobytes()).decode("ascii")
