"""One server, asked as often as it takes: what fails for the moment is tried again, what fails for good is said."""

from __future__ import annotations

import json
import logging
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import httpx2
from openai import APIConnectionError, APIStatusError, APITimeoutError, OpenAI
from pydantic import SecretStr

from auditlib.core import AuditError
from auditlib.models.endpoint.address import Address
from auditlib.models.endpoint.keys import without_key
from auditlib.models.endpoint.patience import LONGEST_ASKED_WAIT, Patience, asked_wait
from auditlib.models.endpoint.transport import RefusedError, guarded_client

logger = logging.getLogger(__name__)

FOR_THE_MOMENT = frozenset({408, 409, 425, 429})  # and every status from 500 on
PAID_OUT = ("insufficient_quota", "billing_hard_limit_reached")
LONGEST_SAID = 200
CHECK_ADDRESS = "See that the server runs and that the address is right, then try again."
RESUME = "What was read so far is kept: start the run again and it goes on where it stopped."

Answer = TypeVar("Answer")


class UnusableAnswerError(Exception):
    """An answer with status 200 that cannot be one: cut short, not JSON, NaN. Worth asking again."""


class StatusError(Exception):
    """The server refused a request for good. `said` is what it gave as the reason, made safe to show."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f"status {status}: {said}")
        self.status = status
        self.said = said


class StoppedError(Exception):
    """Whoever asked does not want the answer any more."""


class Server:
    """Posts and gets, each with its retries. Safe to use from several threads at once."""

    def __init__(
        self, address: Address, key: SecretStr | None, forbid_private: bool, seconds: float, patience: Patience
    ) -> None:
        self.address = address
        self.patience = patience
        self.remedy = CHECK_ADDRESS  # until the server was seen to work
        self.key_remedy = "Type the right key on the Models page."
        self._key = key
        self._seconds = seconds
        self._http = guarded_client(address, key, forbid_private, seconds)
        # The key is added by the transport, so that the client cannot tell it to anyone.
        self._client = OpenAI(api_key="none", base_url=address.url, max_retries=0, http_client=self._http)
        self._chance = random.Random()  # noqa: S311  spreads retries, decides nothing
        self.n_retries = 0
        self.tokens_per_second: float | None = None  # of the last reading, whoever asked

    def complete(
        self,
        body: Mapping[str, Any],
        read: Callable[[Any], Answer],
        before: Callable[[], None] = lambda: None,
        stop: threading.Event | None = None,
    ) -> Answer:
        """`read` of the answer of /completions. `read` raises `UnusableAnswerError` for one to be asked for again.

        `before` is called before every try. Raises `StatusError` where the server refuses, `AuditError` where it
        cannot be had, `StoppedError` once `stop` is set.
        """
        model, prompt = str(body["model"]), body["prompt"]
        rest = {name: value for name, value in body.items() if name not in ("model", "prompt")}

        def ask() -> httpx2.Response:
            return self._client.completions.with_raw_response.create(
                model=model, prompt=prompt, extra_body=rest
            ).http_response

        return self._patiently(ask, read, before, stop)

    def chat(
        self,
        model: str,
        messages: Sequence[Mapping[str, str]],
        body: Mapping[str, Any],
        read: Callable[[Any], Answer],
        before: Callable[[], None] = lambda: None,
    ) -> Answer:
        """`read` of the answer of /chat/completions to `messages`. Raises as `complete` does."""

        def ask() -> httpx2.Response:
            said: Any = [dict(message) for message in messages]
            return self._client.chat.completions.with_raw_response.create(
                model=model, messages=said, extra_body=dict(body)
            ).http_response

        return self._patiently(ask, read, before)

    def models(self) -> list[dict[str, Any]]:
        """What the server lists. Raises as `complete` does."""

        def read(value: Any) -> list[dict[str, Any]]:
            listed = value.get("data") if isinstance(value, dict) else None
            return [one for one in listed or [] if isinstance(one, dict)]

        return self._patiently(lambda: self._client.models.with_raw_response.list().http_response, read)

    def post(self, path: str, body: Mapping[str, Any], read: Callable[[Any], Answer]) -> Answer:
        """`read` of the answer to a request beside OpenAI's interface, such as /tokenize. Raises as `complete` does."""
        url = self.address.root + path
        return self._patiently(lambda: self._client.post(url, body=dict(body), cast_to=httpx2.Response), read)

    def _patiently(
        self,
        ask: Callable[[], httpx2.Response],
        read: Callable[[Any], Answer],
        before: Callable[[], None] = lambda: None,
        stop: threading.Event | None = None,
    ) -> Answer:
        stop = stop or threading.Event()
        failures = 0
        while True:
            if stop.is_set():
                raise StoppedError
            before()
            try:
                return read(self._value(ask()))
            except RefusedError as error:
                raise error.reason from None
            except (UnusableAnswerError, APIConnectionError, APIStatusError) as error:
                failure, asked = self._judged(error)
            failures += 1
            if failures >= self.patience.tries:
                times = "once" if failures == 1 else f"{failures} times"
                raise AuditError(f"{self.address.host} was asked {times} and {failure}.", self.remedy) from None
            if asked is not None and asked > LONGEST_ASKED_WAIT:
                raise AuditError(
                    f"{self.address.host} wants to be left alone for {asked / 60:,.0f} minutes (it {failure}).",
                    self.remedy,
                ) from None
            self.n_retries += 1
            logger.info("%s %s; asking again", self.address.host, failure)
            stop.wait(self.patience.wait(failures, asked, self._chance))

    def _judged(self, error: Exception) -> tuple[str, float | None]:
        """What went wrong for the moment, and the wait that was asked for. Raises where it went wrong for good."""
        if isinstance(error, UnusableAnswerError):
            return f"answered with what cannot be used ({error})", None
        if isinstance(error, APITimeoutError):
            return f"did not answer within {self._seconds:g} seconds", None
        if isinstance(error, APIStatusError):
            status = error.status_code
            said = self._said(error.response)
            if 300 <= status < 400:
                raise self._redirected(error.response) from None
            if (status in FOR_THE_MOMENT or status >= 500) and not any(word in said for word in PAID_OUT):
                return f"answered with status {status}", asked_wait(error.response.headers)
            if status in (401, 403):
                raise AuditError(
                    f"{self.address.host} does not accept the key (status {status})."
                    if self._key is not None
                    else f"{self.address.host} wants a key and was sent none (status {status}).",
                    self.key_remedy,
                ) from None
            raise StatusError(status, said) from None
        return "closed the connection, or cannot be reached", None

    def _value(self, response: httpx2.Response) -> Any:
        """The JSON of an answer. Numbers that are not finite come as floats, for the reader to find."""
        if "html" in response.headers.get("content-type", "").lower() or response.content.lstrip()[:1] == b"<":
            raise AuditError(
                f"{self.address.host} answers with a web page where a model server would answer with numbers.",
                "Give the address of the server's interface; it usually ends in /v1.",
            )
        try:
            return json.loads(response.content)
        except (ValueError, RecursionError):
            raise UnusableAnswerError("not whole, or not JSON") from None

    def _redirected(self, response: httpx2.Response) -> AuditError:
        try:
            to = self._http.base_url.join(response.headers.get("location", ""))
            host = to.host
        except (httpx2.InvalidURL, ValueError):
            host = ""
        if host and host != self.address.host:
            return AuditError(
                f"{self.address.host} sends its visitors on to {host[:80]!r}, and texts are not sent where nobody "
                "chose to send them.",
                "If that server is the one that is meant, give its address.",
            )
        return AuditError(
            f"{self.address.host} sends its visitors on to another address of its own.",
            "Give the address where the interface really is; it usually ends in /v1, and may want https.",
        )

    def _said(self, response: httpx2.Response) -> str:
        """The server's own words about a failure: one line, short, without the key."""
        try:
            value = json.loads(response.content)
        except (ValueError, RecursionError, httpx2.HTTPError):
            return ""
        if isinstance(value, dict):
            value = value.get("error", value.get("detail", value))
        if isinstance(value, dict):
            value = " ".join(str(value[name]) for name in ("code", "type", "message") if value.get(name))
        said = " ".join("".join(c if c.isprintable() else " " for c in str(value)).split())
        return without_key(said, self._key)[:LONGEST_SAID]
