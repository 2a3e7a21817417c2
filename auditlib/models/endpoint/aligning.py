"""From a server's numbers to a text's statistics: which number belongs to which of the user's own letters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from auditlib.core import AuditError
from auditlib.models.encoding import refuse_too_short
from auditlib.models.endpoint.answers import PromptNumbers
from auditlib.models.endpoint.places import Spans, places_of
from auditlib.models.endpoint.server import UnusableAnswerError

UNKNOWN_TOKEN = -1  # a token whose id the server does not tell
REPLACEMENT = "\ufffd"


@dataclass(frozen=True)
class ScoredTokens:
    """Some scored tokens of a text in reading order, n tokens. `top_*` (n, top) where asked for."""

    token_ids: NDArray[np.int32]  # (n,)
    start: NDArray[np.int32]  # (n,)
    end: NDArray[np.int32]  # (n,)
    logprob: NDArray[np.float32]  # (n,) nats
    rank: NDArray[np.int32] | None  # (n,)
    top_ids: NDArray[np.int32] | None
    top_logprob: NDArray[np.float32] | None


TokenName = Callable[[str], int]
"""A number for a token that is known by its text only."""


def of_sent_ids(
    numbers: PromptNumbers,
    n_sent: int,
    scored: slice,
    ids_and_places: Sequence[NDArray[np.int32]],
    top: int,
    name: TokenName,
) -> ScoredTokens:
    """Numbers of a prompt that was sent as `n_sent` ids, at the places `scored` of it.

    `ids_and_places` are the ids, starts and ends of the scored tokens. Raises `UnusableAnswerError`.
    """
    if len(numbers.logprob) < n_sent:
        raise UnusableAnswerError(f"{len(numbers.logprob)} numbers for {n_sent} tokens")
    token_ids, start, end = ids_and_places
    return _scored(numbers, scored, token_ids, start, end, top, name)


def of_sent_text(
    numbers: PromptNumbers, text: str, used_tokens: int | None, made_up: int, top: int, token_name: TokenName, name: str
) -> ScoredTokens:
    """Numbers of a prompt that was sent as text. Raises `AuditError` where its tokens cannot be placed exactly.

    In front of the text there may be one token of the server's own (a BOS), behind it `made_up` tokens.
    """
    n = len(numbers.pieces)
    ends = dict.fromkeys(e for e in (used_tokens, n, n - made_up) if e is not None and 2 <= e <= n)
    for end in ends:
        for first in (0, 1):
            places = _places(numbers, text, first, end)
            if places is None:
                continue
            # Without a token in front nothing predicts the first one, whatever a server says of it.
            scored = slice(max(first, 1), end)
            skipped = scored.start - first
            refuse_too_short(end - scored.start, name)
            ids = np.full(end - scored.start, UNKNOWN_TOKEN, dtype=np.int32)
            if numbers.ids is not None:
                ids = np.array(numbers.ids[scored], dtype=np.int32)
            return _scored(numbers, scored, ids, places[0][skipped:], places[1][skipped:], top, token_name)
    joined = "".join(numbers.pieces)
    if joined and len(joined) < len(text) and text.startswith(joined):
        raise AuditError(
            f"The server cut {name} off after {n:,} tokens.",
            "Give the folder of the model's tokenizer, so that long texts are read in windows, or cut the text.",
        )
    raise AuditError(
        f"The tokens that the server names for {name} are not the letters of the text.",
        "Give the folder of the model's tokenizer, so that tokens can be sent by number.",
    )


def _places(numbers: PromptNumbers, text: str, first: int, end: int) -> Spans | None:
    pieces = numbers.pieces[first:end]
    rest = "".join(pieces[1:])
    if first == 0 and not pieces[0] and rest and text.endswith(rest):
        pieces = (text[: len(text) - len(rest)], *pieces[1:])  # vLLM tells nothing of the token that it does not score
    if not pieces or not all(pieces):
        return None
    found = places_of(pieces, text)
    if found is not None or numbers.offset is None:
        return found
    start = np.array(numbers.offset[first:end], dtype=np.int32)
    stop = np.append(start[1:], np.int32(len(text)))
    covers = start[0] == 0 and bool(np.all(stop >= start)) and int(start[-1]) < len(text)
    if not covers or not all(
        REPLACEMENT in piece or text[a:b] == piece for piece, a, b in zip(pieces, start, stop, strict=True)
    ):
        return None
    return start, stop


def _scored(
    numbers: PromptNumbers,
    scored: slice,
    token_ids: NDArray[np.int32],
    start: NDArray[np.int32],
    end: NDArray[np.int32],
    top: int,
    name: TokenName,
) -> ScoredTokens:
    logprobs = numbers.logprob[scored]
    if any(one is None for one in logprobs):
        raise UnusableAnswerError("a token has no number")
    ranks = None if numbers.rank is None else numbers.rank[scored]
    if ranks is not None and any(one is None for one in ranks):
        raise UnusableAnswerError("a token has no rank")
    top_ids = top_logprob = None
    if top:
        top_ids = np.full((len(logprobs), top), UNKNOWN_TOKEN, dtype=np.int32)
        top_logprob = np.full((len(logprobs), top), -np.inf, dtype=np.float32)
        for row, found in enumerate(numbers.top[scored]):
            for place, (token, logprob) in enumerate(found[:top]):
                top_ids[row, place] = token if isinstance(token, int) else name(token)
                top_logprob[row, place] = logprob
    return ScoredTokens(
        token_ids=token_ids,
        start=start,
        end=end,
        logprob=np.array(logprobs, dtype=np.float32),
        rank=None if ranks is None else np.array(ranks, dtype=np.int32),
        top_ids=top_ids,
        top_logprob=top_logprob,
    )
