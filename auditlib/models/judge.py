"""A judge: any chat model behind OpenAI's interface that rates how alike two passages are. Passages go to its server.

Every answer is kept by what was asked, so that nothing is asked, or paid for, twice. The key is in memory or in the
environment (see `auditlib.models.endpoint.keys`), and in nothing that is kept.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from auditlib.core import AuditError, Settings
from auditlib.models.endpoint.address import checked_address
from auditlib.models.endpoint.budget import Budget, Estimate
from auditlib.models.endpoint.keys import KEYS
from auditlib.models.endpoint.patience import Patience
from auditlib.models.endpoint.server import Server, StatusError, UnusableAnswerError
from auditlib.models.judge_prompt import (
    ANSWER_TOKENS,
    NoRating,
    Rating,
    asked_again,
    messages_for,
    read_rating,
    reckoned_tokens,
)
from auditlib.models.judge_questions import QUESTION_TOKENS, Asked, question_messages, read_asked
from auditlib.models.judge_request import JudgeRequest

PATIENCE = Patience(tries=4, first_wait=0.5, longest_wait=10.0)
Pair = tuple[str, str]


@dataclass(frozen=True)
class Judgements:
    """Ratings of pairs, in their order. `problem` says why asking ended early, where it did."""

    ratings: tuple[Rating, ...]
    n_asked: int
    tokens: int
    problem: str = ""


class Judge:
    """Asks one server. `kept` holds earlier answers by `rating_key`, and is added to."""

    def __init__(self, request: JudgeRequest, settings: Settings, kept: dict[str, dict[str, Any]]) -> None:
        """Connects to nobody yet. Raises `AuditError` where the address makes no sense."""
        address = checked_address(request.base_url)
        key = KEYS.find(address.url, request.key_variable)
        self.request = request
        self._server = Server(address, key.secret, settings.forbid_private_network, settings.endpoint_seconds, PATIENCE)
        self._server.key_remedy = f"{key.said} {key.remedy}"
        self._server.remedy = (
            "The other tests do not need the judge; start the run again to ask it for what is missing."
        )
        self._budget = Budget(request.most_tokens, request.most_cost, request.price)
        self._kept = kept
        self._touching = threading.Lock()

    def estimate(self, pairs: Sequence[Pair]) -> Estimate:
        """What rating these pairs would take now: kept ones cost nothing."""
        new = {rating_key(self.request, messages): messages for messages in (messages_for(*pair) for pair in pairs)}
        tokens = sum(reckoned_tokens(messages) for key, messages in new.items() if key not in self._kept)
        return Estimate(tokens, self._budget.cost_of(tokens), is_exact=False)

    def rate(
        self,
        pairs: Sequence[Pair],
        progress: Callable[[int, int], None] | None = None,
        keep: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> Judgements:
        """A rating of each pair, or why it has none. Asking ends where the server fails for good or the budget does.

        `keep` is given all kept answers every few ratings; `progress` hears of pairs, and may end the work by raising.
        """
        ratings: list[Rating] = []
        n_before, problem = len(self._kept), ""
        with ThreadPoolExecutor(self.request.at_once) as pool:
            for start in range(0, len(pairs), self.request.at_once * 2):
                group = pairs[start : start + self.request.at_once * 2]
                for rating, why in pool.map(self._one, group, [bool(problem)] * len(group)):
                    ratings.append(rating)
                    problem = problem or why
                if keep is not None and len(self._kept) > n_before:
                    keep(dict(self._kept))
                if progress is not None:
                    progress(len(ratings), len(pairs))
        return Judgements(tuple(ratings), len(self._kept) - n_before, self._budget.spent_tokens, problem)

    def questions(
        self, passages: Sequence[str], each: int, progress: Callable[[int, int], None] | None = None
    ) -> tuple[list[list[Asked]], str]:
        """Questions about each passage, at most `each`, and why asking ended early, where it did.

        What cannot be read of an answer is left out: a passage may come to have fewer, or none.
        """
        found: list[list[Asked]] = []
        problem = ""
        for passage in passages:
            answer = ""
            if not problem:
                try:
                    answer = self._text(question_messages(passage, each), QUESTION_TOKENS * each)
                except AuditError as error:
                    problem = str(error)
            found.append(read_asked(answer, passage, each))
            if progress is not None:
                progress(len(found), len(passages))
        return found, problem

    def _text(self, messages: list[dict[str, str]], most: int) -> str:
        """What the model answers; kept, as a rating is."""
        key = rating_key(self.request, messages)
        kept = self._kept.get(key)
        if kept is not None and isinstance(kept.get("text"), str):
            return str(kept["text"])
        body = {"temperature": 0, "max_tokens": most}
        spend = reckoned_tokens(messages) + most
        try:
            text = self._server.chat(self.request.model, messages, body, _read_text, lambda: self._budget.spend(spend))
        except StatusError as error:
            raise self._refused(error) from error
        self._kept[key] = {"text": text}
        return text

    def _refused(self, error: StatusError) -> AuditError:
        return AuditError(
            f"{self._server.address.host} does not take the question (status {error.status}). {error.said}".strip(),
            "Check the judge's model name and that its server offers /chat/completions.",
        )

    def _one(self, pair: Pair, only_kept: bool) -> tuple[Rating, str]:
        """A rating, and why nothing more is to be asked where that is so."""
        messages = messages_for(*pair)
        key = rating_key(self.request, messages)
        with self._touching:
            kept = self._kept.get(key)
        if kept is not None and (rating := _rating_of(kept)) is not None:
            return rating, ""
        if only_kept:
            return Rating(None, "", NoRating.NOT_ASKED), ""
        try:
            rating = self._ask(messages)
            if rating.missing is not None:
                rating = self._ask(asked_again(messages, rating.missing))
        except AuditError as error:
            return Rating(None, "", NoRating.NOT_ASKED), str(error)
        with self._touching:
            self._kept[key] = asdict(rating)
        return rating, ""

    def _ask(self, messages: list[dict[str, str]]) -> Rating:
        body = {"temperature": 0, "max_tokens": ANSWER_TOKENS}
        spend = reckoned_tokens(messages)
        try:
            return self._server.chat(self.request.model, messages, body, _read, lambda: self._budget.spend(spend))
        except StatusError as error:
            if error.status == 400 and any(word in error.said.lower() for word in ("content", "policy", "safety")):
                return Rating(None, "", NoRating.REFUSED)
            raise self._refused(error) from error


def rating_key(request: JudgeRequest, messages: Sequence[Mapping[str, str]]) -> str:
    """What a kept answer is found by: the server, the model and every word of the question."""
    said = json.dumps([request.base_url.rstrip("/"), request.model, list(map(dict, messages))], sort_keys=True)
    return sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def _read_text(value: Any) -> str:
    return _message(value)[0]


def _read(value: Any) -> Rating:
    return read_rating(*_message(value))


def _message(value: Any) -> tuple[str, str | None, str | None]:
    """An answer's text, why it ended, and a refusal told beside it."""
    try:
        choice = value["choices"][0]
        message = choice["message"]
        content, refusal = message.get("content"), message.get("refusal")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise UnusableAnswerError("it has no message") from None
    if isinstance(content, list):  # some servers answer in parts
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if content is not None and not isinstance(content, str):
        raise UnusableAnswerError("its message is no text")
    finished = choice.get("finish_reason")
    return content or "", finished if isinstance(finished, str) else None, str(refusal) if refusal else None


def _rating_of(kept: Mapping[str, Any]) -> Rating | None:
    """A kept rating; None for one that cannot be, which is then asked for again."""
    score, reason, missing = kept.get("score"), kept.get("reason"), kept.get("missing")
    if missing is not None:
        known = [one for one in NoRating if one.value == missing]
        return Rating(None, "", known[0]) if known else None
    if isinstance(score, int) and not isinstance(score, bool) and 1 <= score <= 5 and isinstance(reason, str):
        return Rating(score, reason)
    return None
