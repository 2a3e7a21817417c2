"""What servers say of a prompt, read with suspicion: a number that cannot be one is never passed on.

Two shapes. OpenAI's: `echo` with `logprobs`, lists of token texts and numbers, places given by `text_offset`. vLLM's:
`prompt_logprobs`, for each place the numbers of some tokens by their ids, with ranks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from auditlib.models.endpoint.server import UnusableAnswerError

# Rounding in the server's arithmetic may leave a log-probability a hair above 0.
LARGEST_LOGPROB = 1e-3
MINUS_INFINITY = -9999.0  # as vLLM writes it, since JSON cannot
LARGEST_RANK = 2**31 - 1


@dataclass(frozen=True)
class PromptNumbers:
    """What a server told of each token of a prompt, n tokens; nothing here is aligned with a text yet.

    pieces   the token as text, as the server writes it; "" where it does not
    ids      None where the server names no ids
    logprob  nats; None for tokens that nothing precedes
    rank     None where not told
    offset   first character, as the server counts; None where not told
    top      likeliest tokens at each place (id or text, log-probability), best first; empty where not told
    words    what ids stand for, as far as it was told
    """

    pieces: tuple[str, ...]
    ids: tuple[int, ...] | None
    logprob: tuple[float | None, ...]
    rank: tuple[int | None, ...] | None
    offset: tuple[int, ...] | None
    top: tuple[tuple[tuple[int | str, float], ...], ...]
    words: Mapping[int, str] = field(default_factory=dict)


def read_echo(value: Any) -> PromptNumbers:
    """Of OpenAI's shape, tokens that were made up after the prompt included. Raises `UnusableAnswerError`."""
    choice = _choice(value)
    numbers = choice.get("logprobs")
    if not isinstance(numbers, dict):
        raise UnusableAnswerError("no log-probabilities")
    tokens, logprobs = numbers.get("tokens"), numbers.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(logprobs, list) or len(tokens) != len(logprobs) or not tokens:
        raise UnusableAnswerError("as many numbers as tokens there are not")
    offsets = numbers.get("text_offset")
    if offsets is not None and (not isinstance(offsets, list) or len(offsets) != len(tokens)):
        raise UnusableAnswerError("as many places as tokens there are not")
    tops = numbers.get("top_logprobs") or [None] * len(tokens)
    if not isinstance(tops, list) or len(tops) != len(tokens):
        raise UnusableAnswerError("as many alternatives as tokens there are not")
    return PromptNumbers(
        pieces=tuple(_text(token) for token in tokens),
        ids=None,
        logprob=tuple(None if one is None else checked_logprob(one) for one in logprobs),
        rank=None,
        offset=None if offsets is None else tuple(_whole(one, 0) for one in offsets),
        top=tuple(_ordered((_text(token), p) for token, p in (_mapping(one)).items()) for one in tops),
    )


def read_prompt_logprobs(value: Any, ids: Sequence[int] | None) -> PromptNumbers:
    """Of vLLM's shape. `ids` are the tokens that were sent; where text was sent, each place may name one token only.

    Raises `UnusableAnswerError`.
    """
    choice = _choice(value)
    places = choice.get("prompt_logprobs", value.get("prompt_logprobs") if isinstance(value, dict) else None)
    if not isinstance(places, list) or not places:
        raise UnusableAnswerError("no log-probabilities of the prompt")
    if ids is not None and len(places) != len(ids):
        raise UnusableAnswerError(f"{len(places)} numbers for {len(ids)} tokens")
    found_ids: list[int] = []
    pieces: list[str] = []
    logprobs: list[float | None] = []
    ranks: list[int | None] = []
    tops: list[tuple[tuple[int | str, float], ...]] = []
    words: dict[int, str] = {}
    for place, told in enumerate(places):
        by_id = {_token_id(key): told_of for key, told_of in _mapping(told).items()}
        if told is None:
            found_ids.append(ids[place] if ids is not None else -1)
            pieces.append("")
            logprobs.append(None)
            ranks.append(None)
            tops.append(())
            continue
        own = ids[place] if ids is not None else next(iter(by_id), None) if len(by_id) == 1 else None
        if own is None or own not in by_id:
            raise UnusableAnswerError("a token of the prompt has no number")
        facts = {key: _mapping(told_of) for key, told_of in by_id.items()}
        found_ids.append(own)
        words |= {key: _text(fact.get("decoded_token") or "") for key, fact in facts.items()}
        pieces.append(words[own])
        logprobs.append(checked_logprob(facts[own].get("logprob")))
        rank = facts[own].get("rank")
        ranks.append(None if rank is None else _whole(rank, 1))
        tops.append(_ordered((key, fact.get("logprob")) for key, fact in facts.items()))
    return PromptNumbers(
        pieces=tuple(pieces),
        ids=tuple(found_ids),
        logprob=tuple(logprobs),
        rank=tuple(ranks) if any(rank is not None for rank in ranks) else None,
        offset=None,
        top=tuple(tops),
        words={key: word for key, word in words.items() if word},
    )


def echoed_text(value: Any) -> str:
    """The text of the first choice: with `echo`, the prompt and what follows it."""
    return _text(_choice(value).get("text") or "")


def used_tokens(value: Any) -> int | None:
    """Tokens of the prompt as the server counts (and charges); None where it does not say."""
    usage = value.get("usage") if isinstance(value, dict) else None
    count = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return count if isinstance(count, int) and count >= 0 else None


def checked_logprob(value: Any) -> float:
    """A log-probability in nats. Raises `UnusableAnswerError` for what is no number, not finite, or above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnusableAnswerError("a log-probability that is no number")
    try:
        is_finite = math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        is_finite = False
    if not is_finite or value <= MINUS_INFINITY:
        raise UnusableAnswerError("a log-probability that is not finite")
    if value > LARGEST_LOGPROB:
        raise UnusableAnswerError(f"a log-probability above 0 ({value:g})")
    return min(float(value), 0.0)


def _choice(value: Any) -> dict[str, Any]:
    choices = value.get("choices") if isinstance(value, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise UnusableAnswerError("no completion in it")
    first: dict[str, Any] = choices[0]
    return first


def _mapping(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UnusableAnswerError("numbers of another shape")
    return value


def _ordered(pairs: Any) -> tuple[tuple[Any, float], ...]:
    return tuple(sorted(((key, checked_logprob(p)) for key, p in pairs), key=lambda pair: -pair[1]))


def _token_id(key: str) -> int:
    try:
        return _whole(int(key), 0)
    except ValueError:
        raise UnusableAnswerError("a token that is named by no number") from None


def _whole(value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST_RANK:
        raise UnusableAnswerError("a rank or a place that is no such number")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise UnusableAnswerError("a token that is no text")
    return value
