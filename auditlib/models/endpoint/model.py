"""A model behind a server as a `TargetModel`: several requests under way at once, each text whole or in windows."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditlib.core import Alternatives, AuditError, Capability, ModelIdentity, Progress, TokenStats, text_names
from auditlib.models.checks import Check
from auditlib.models.encoding import EncodedText, TextEncoder, refuse_unreadable
from auditlib.models.endpoint.aligning import ScoredTokens, of_sent_ids, of_sent_text
from auditlib.models.endpoint.answers import used_tokens
from auditlib.models.endpoint.budget import Budget, Estimate
from auditlib.models.endpoint.server import Server, StatusError, StoppedError
from auditlib.models.endpoint.styles import Style
from auditlib.models.endpoint.tokens import ServerTokens, refuse_control_letters
from auditlib.models.prefixed import PrefixedTokens
from auditlib.models.windows import Window, windows_of

LONGEST_WINDOW = 8192  # as `LocalModel` has it: longer windows cost a server too much at once
WINDOW_OVERLAP = 0.5
BATCH_TOKENS_A_REQUEST = 1024  # a batch is what is lost when a run is interrupted, and what is under way at once
HEARTBEAT_SECONDS = 0.5
# Without a tokenizer a text's tokens are not known before it is sent; these many words are 2 scored tokens at least.
FEWEST_WORDS = 3
FEWEST_BYTES = 16
NOT_TOLD = -1


@dataclass(frozen=True)
class Abilities:
    """What a server was found to give: its style, window, and how many likeliest tokens at a place."""

    style: Style
    context_length: int
    most_alternatives: int
    tokens_per_byte: float  # for estimates where no tokenizer is at hand


@dataclass(frozen=True)
class _Prompt:
    """One request: a window of a text, or a whole text as it stands."""

    text: int
    window: Window | None
    n_tokens: int


class EndpointModel:
    """Safe to use from several threads at once; together they never have more than `at_once` requests under way."""

    def __init__(
        self,
        server: Server,
        model: str,
        identity: ModelIdentity,
        abilities: Abilities,
        tokens: TextEncoder | ServerTokens | None,
        budget: Budget,
        at_once: int,
    ) -> None:
        """`model` is the name that the server knows; without `tokens` texts are sent as text, each in one piece."""
        self.identity = identity
        self.abilities = abilities
        self.budget = budget
        self.server = server
        self.tokens = tokens
        self.checks: tuple[Check, ...] = ()
        self.device = f"server {server.address.host}"
        self.memory_bytes = 0
        self.batch_tokens = at_once * BATCH_TOKENS_A_REQUEST
        self._model = model
        self._at_once = at_once
        self._free = threading.Semaphore(at_once)
        self._prefixed: PrefixedTokens | None = None
        self._words: dict[str, int] = {}
        self._naming = threading.Lock()
        self._thread = threading.local()

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the server was seen to give; the whole distribution it never gives."""
        found = {Capability.TOKEN_LOGPROBS}
        if self.abilities.style.gives_ranks:
            found.add(Capability.RANK)
        if self.abilities.most_alternatives:
            found.add(Capability.ALTERNATIVES)
        return frozenset(found)

    @property
    def context_length(self) -> int:
        """Tokens that one window can hold."""
        return self.abilities.context_length

    @property
    def vocabulary_size(self) -> int:
        """Of the tokenizer, where one is at hand; else 0, as servers do not tell."""
        return self.tokens.vocabulary_size if isinstance(self.tokens, TextEncoder) else 0

    @property
    def tokens_per_second(self) -> float | None:
        """Of the last reading; None before the first."""
        return self.server.tokens_per_second

    @property
    def windowing(self) -> str:
        """How texts are given to the model, as far as that decides their numbers."""
        if self.tokens is None:
            return f"whole texts by {self.abilities.style.name}"
        after = f" after {self._prefixed.digest[:16]}" if self._prefixed is not None else ""
        return f"window {self._window_tokens} overlap {WINDOW_OVERLAP:g} by {self.abilities.style.name}{after}"

    @property
    def _window_tokens(self) -> int:
        return min(self.context_length - self.abilities.style.made_up_tokens, LONGEST_WINDOW)

    @contextmanager
    def giving_way(self, give_way: Callable[[], None]) -> Iterator[None]:
        """Within, this thread calls `give_way` while it waits for answers; that may wait itself, or end it by raising.

        Requests that are under way go on meanwhile: others' questions take nothing from them.
        """
        self._thread.give_way = give_way
        try:
            yield
        finally:
            self._thread.give_way = None

    def prompt_of(self, text: str) -> str | list[int]:
        """What is sent for a text that fits into one window: its tokens, or the text where there is no tokenizer."""
        if self.tokens is None:
            return text
        encoded = self.tokens.encode(text)
        return [*encoded.prefix_ids, *encoded.token_ids.tolist()]

    def ask(self, prompt: str | Sequence[int], top: int) -> Any:
        """The server's bare answer for one prompt. Raises `StatusError` where it refuses, and `AuditError`."""
        n_tokens = len(prompt) if not isinstance(prompt, str) else self._estimated(prompt)
        body = self.abilities.style.body(self._model, prompt, top)
        with self._free:
            return self.server.complete(body, lambda value: value, lambda: self.budget.spend(n_tokens))

    def within(self, budget: Budget) -> EndpointModel:
        """The same model, that counts what it sends in `budget`: a run's own, which others do not spend."""
        other = copy(self)  # the same server and limit of requests
        other.budget = budget
        return other

    def after(self, prefix: str) -> EndpointModel:
        """The same model with `prefix` before every text, sent with each of them; servers keep such beginnings.

        Raises `AuditError` where no tokenizer says which tokens are the prefix's.
        """
        if self.tokens is None:
            raise AuditError(
                "Without a tokenizer nobody can tell where a prefix ends and the text begins.",
                "Give the folder of the model's tokenizer.",
            )
        other = copy(self)  # the same server, budget and limit of requests
        other._prefixed = PrefixedTokens(self.tokens, prefix, self._window_tokens)
        return other

    def token_ids(self, text: str) -> NDArray[np.int32]:
        """The text's tokens, for counting them. Raises `AuditError` where the vocabulary is not known."""
        if not isinstance(self.tokens, TextEncoder):
            raise AuditError(
                f"{self.server.address.host} does not tell the vocabulary, so words cannot be counted with it.",
                "Give the folder of the model's tokenizer.",
            )
        return self.tokens.encode(text).token_ids

    def tokens_to_read(self, text: str, name: str = "The text") -> int:
        """Tokens that scoring `text` sends to the server, overlaps counted twice; an estimate without a tokenizer."""
        return sum(prompt.n_tokens for prompt in self._prompts(text, name, 0)[1])

    def estimate(self, texts: Sequence[str], names: Sequence[str] | None = None) -> Estimate:
        """What reading `texts` takes, before anything of them is sent."""
        names = names or text_names(len(texts))
        tokens = sum(self.estimated_tokens(text, name) for text, name in zip(texts, names, strict=True))
        return Estimate(tokens, self.budget.cost_of(tokens), isinstance(self.tokens, TextEncoder))

    def estimated_tokens(self, text: str, name: str = "The text") -> int:
        """As `tokens_to_read`, and nothing of the text leaves this machine for it; no server's tokenizer is asked."""
        if isinstance(self.tokens, TextEncoder):
            return self.tokens_to_read(text, name)
        return self._estimated(text)

    def token_text(self, token_ids: Sequence[int]) -> list[str]:
        """What each token stands for; "" for one that the server told no id of."""
        with self._naming:
            named = {number: word for word, number in self._words.items()}
        return [self._token_text(int(i), named) for i in token_ids]

    def token_stats(
        self,
        texts: Sequence[str],
        top: int = 0,
        progress: Progress | None = None,
        names: Sequence[str] | None = None,
    ) -> Iterator[tuple[int, TokenStats]]:
        """Each text's index with its statistics, as answers come in (see `TargetModel`).

        `top` is at most what the server gives. `progress` is also called while nothing has come in, so that whoever
        waits can be stopped. Raises `AuditError` before anything is sent where the budget does not hold all of it.
        """
        names = names or text_names(len(texts))
        top = min(top, self.abilities.most_alternatives)
        encoded: list[EncodedText | None] = []
        prompts: list[_Prompt] = []
        for index, (text, name) in enumerate(zip(texts, names, strict=True)):
            one, own = self._prompts(text, name, index)
            encoded.append(one)
            prompts += own
        total = sum(prompt.n_tokens for prompt in prompts)
        self.budget.refuse_too_much(total)
        found: dict[int, dict[int, ScoredTokens]] = {index: {} for index in range(len(texts))}
        missing = {index: sum(prompt.text == index for prompt in prompts) for index in found}

        def read(prompt: _Prompt, stop: threading.Event) -> ScoredTokens:
            return self._read(prompt, texts[prompt.text], encoded[prompt.text], top, names[prompt.text], stop)

        for prompt, scored in self._all(prompts, read, total, progress):
            index = prompt.text
            found[index][0 if prompt.window is None else prompt.window.begin] = scored
            missing[index] -= 1
            if not missing[index]:
                parts = found.pop(index)
                yield index, _joined([parts[begin] for begin in sorted(parts)])

    def _all(
        self,
        prompts: Sequence[_Prompt],
        read: Callable[[_Prompt, threading.Event], ScoredTokens],
        total: int,
        progress: Progress | None,
    ) -> Iterator[tuple[_Prompt, ScoredTokens]]:
        """Every prompt's numbers as they come in. The first failure, or the end of whoever listens, stops the rest."""
        stop, began, done = threading.Event(), time.perf_counter(), 0
        pool = ThreadPoolExecutor(self._at_once, thread_name_prefix="endpoint")
        try:
            # Longest first, so that no long text is left alone at the end.
            waiting: dict[Future[ScoredTokens], _Prompt] = {
                pool.submit(read, prompt, stop): prompt for prompt in sorted(prompts, key=lambda p: -p.n_tokens)
            }
            while waiting:
                ended, _ = wait(waiting, timeout=HEARTBEAT_SECONDS, return_when=FIRST_COMPLETED)
                for future in ended:
                    prompt = waiting.pop(future)
                    scored = future.result()
                    done += prompt.n_tokens
                    self.server.tokens_per_second = done / max(time.perf_counter() - began, 1e-9)
                    yield prompt, scored
                if progress is not None:
                    progress(done, total)
                give_way: Callable[[], None] | None = getattr(self._thread, "give_way", None)
                if give_way is not None and waiting:
                    give_way()
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)

    def _prompts(self, text: str, name: str, index: int) -> tuple[EncodedText | None, list[_Prompt]]:
        """The requests that reading one text takes. Raises `AuditError` where it cannot be read."""
        if self.tokens is None:
            refuse_unreadable(text, name)
            refuse_control_letters(text, name)
            if len(text.split()) < FEWEST_WORDS and len(text.encode("utf-8")) < FEWEST_BYTES:
                raise AuditError(f"{name} is too short to be scored.", "Give a longer text: a sentence at the least.")
            return None, [_Prompt(index, None, self._estimated(text))]
        encoded = (self._prefixed or self.tokens).encode(text, name)
        n_prefix = len(encoded.prefix_ids)
        room = self._window_tokens - n_prefix
        if room < 2:
            raise AuditError(
                f"The window of {self.identity.name} ({self._window_tokens} tokens) is too short to read any text.",
                "Choose another model.",
            )
        windows = windows_of(len(encoded.token_ids), encoded.first_scorable, room, WINDOW_OVERLAP, index)
        return encoded, [_Prompt(index, window, n_prefix + window.end - window.begin) for window in windows]

    def _read(
        self, prompt: _Prompt, text: str, encoded: EncodedText | None, top: int, name: str, stop: threading.Event
    ) -> ScoredTokens:
        """One prompt's numbers. Raises `AuditError` that names the text."""
        style, window = self.abilities.style, prompt.window
        if encoded is None or window is None:
            sent: str | list[int] = text

            def understood(value: Any) -> ScoredTokens:
                numbers = style.read(value, None)
                made_up = style.made_up_tokens
                return of_sent_text(numbers, text, used_tokens(value), made_up, top, self._number_of, name)
        else:
            ids = [*encoded.prefix_ids, *encoded.token_ids[window.begin : window.end].tolist()]
            sent = ids
            own = slice(window.first_scored, window.end)
            shift = len(encoded.prefix_ids) - window.begin
            scored = slice(own.start + shift, own.stop + shift)
            places = (encoded.token_ids[own], encoded.start[own], encoded.end[own])

            def understood(value: Any) -> ScoredTokens:
                numbers = style.read(value, ids)
                if isinstance(self.tokens, ServerTokens):
                    self.tokens.remember(numbers.words)
                return of_sent_ids(numbers, len(ids), scored, places, top, self._number_of)

        body = style.body(self._model, sent, top)
        try:
            with self._free:
                return self.server.complete(body, understood, lambda: self.budget.spend(prompt.n_tokens), stop)
        except StatusError as error:
            raise AuditError(
                f"{self.server.address.host} refuses {name} (status {error.status}"
                f"{': ' + error.said if error.said else ''}).",
                "Where the text is too long for it, give the folder of the model's tokenizer, or cut the text.",
            ) from None
        except StoppedError:
            raise
        except AuditError as error:
            raise AuditError(f"While {name[0].lower() + name[1:]} was read: {error.wrong}", error.remedy) from None

    def _estimated(self, text: str) -> int:
        return math.ceil(len(text.encode("utf-8")) * self.abilities.tokens_per_byte) + 1

    def _number_of(self, word: str) -> int:
        """A number for a token that only its text is known of: below -1, for as long as this model is held."""
        with self._naming:
            return self._words.setdefault(word, NOT_TOLD - 1 - len(self._words))

    def _token_text(self, token_id: int, named: dict[int, str]) -> str:
        if token_id < 0:
            return named.get(token_id, "")
        return f"[{token_id}]" if self.tokens is None else self.tokens.token_text(token_id)


def _joined(parts: Sequence[ScoredTokens]) -> TokenStats:
    """A text's windows, in reading order, as one."""

    def column(name: str) -> Any:
        columns = [getattr(part, name) for part in parts]
        return None if any(one is None for one in columns) else np.concatenate(columns)

    top_ids = column("top_ids")
    return TokenStats(
        token_ids=column("token_ids"),
        start=column("start"),
        end=column("end"),
        logprob=column("logprob"),
        expected=None,
        variance=None,
        rank=column("rank"),
        alternatives=None if top_ids is None else Alternatives(top_ids, column("top_logprob")),
    )
