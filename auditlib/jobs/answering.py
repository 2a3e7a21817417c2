"""What the worker answers to the short questions of pages: which models there are, and one text under one of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from auditlib.core import AuditError, Settings
from auditlib.jobs.model_answers import (
    examined,
    facts_of,
    forget_key,
    is_served,
    key_of,
    looked_at,
    remember_key,
)
from auditlib.jobs.turns import Turns
from auditlib.jobs.wire import request_from_wire, request_to_wire, stats_to_wire
from auditlib.models.endpoint.budget import budget_of
from auditlib.models.request import ModelRequest

if TYPE_CHECKING:
    from auditlib.models.opening import HeldModel, ModelShelf

Say = Callable[[dict[str, Any]], None]
"""Sends a line to whoever asks. Raises where nobody is there any more, which ends the work."""

_importing = threading.Lock()


def shelf() -> ModelShelf:
    """The models of this process. The first call imports torch, which takes seconds."""
    with _importing:
        from auditlib.models.opening import SHELF
    return SHELF


class Answers:
    """The questions by name. `busy_with` says which model the running audit reads with."""

    def __init__(self, settings: Settings, turns: Turns, busy_with: Callable[[], ModelRequest | None]) -> None:
        self._settings = settings
        self._turns = turns
        self._busy_with = busy_with
        self._by_name: dict[str, Callable[[Mapping[str, Any], Say], Any]] = {
            "models": lambda asked, say: self.models(),
            "model": lambda asked, say: facts_of(self._open(asked)),
            "devices": lambda asked, say: self._devices(),
            "unload": lambda asked, say: self._unload(request_from_wire(asked["request"])),
            "tokens_to_read": lambda asked, say: self._open(asked).tokens_to_read(asked["text"], asked["name"]),
            "lengths": lambda asked, say: self._lengths(self._open(asked), asked["texts"]),
            "token_text": lambda asked, say: self._open(asked).token_text(asked["ids"]),
            "token_stats": self._token_stats,
            "look": lambda asked, say: looked_at(request_from_wire(asked["request"]), self._settings),
            "examine": self._examine,
            "key": lambda asked, say: key_of(asked["base_url"], asked["variable"]),
            "remember_key": lambda asked, say: remember_key(shelf(), asked["base_url"], asked["key"]),
            "forget_key": lambda asked, say: forget_key(shelf(), asked["base_url"]),
        }

    def answer(self, asked: Mapping[str, Any], say: Say) -> Any:
        """The answer as plain values. Raises `AuditError` where there is none."""
        try:
            work = self._by_name[asked["what"]]
        except (KeyError, TypeError) as error:
            raise AuditError(
                "The worker does not know this question.", "Restart the worker: it is of another version than the page."
            ) from error
        return work(asked, say)

    def models(self) -> list[dict[str, Any]]:
        """What is in memory now. Does not wait for torch where no model was ever opened."""
        import sys

        if "auditlib.models.opening" not in sys.modules:
            return []
        return [{"request": request_to_wire(request)} | facts_of(model) for request, model in shelf().loaded().items()]

    def _open(self, asked: Mapping[str, Any]) -> HeldModel:
        return shelf().open(request_from_wire(asked["request"]), self._settings)

    def _lengths(self, model: HeldModel, texts: Sequence[str]) -> list[int | None]:
        return [_length(model, text) for text in texts]

    def _token_stats(self, asked: Mapping[str, Any], say: Say) -> Any:
        model = self._open(asked)
        endpoint = request_from_wire(asked["request"]).endpoint
        if endpoint is not None and is_served(model):  # a question is one purpose, and has the whole budget
            model = model.within(budget_of(endpoint))
        with self._turns.question(lambda: say({"alive": True})):
            read = model.token_stats(
                asked["texts"],
                int(asked["top"]),
                lambda done, total: say({"progress": [done, total]}),
                asked["names"],
            )
            for index, stats in read:
                say({"index": index} | stats_to_wire(stats))
        return {"tokens_per_second": model.tokens_per_second}

    def _examine(self, asked: Mapping[str, Any], say: Say) -> dict[str, Any]:
        endpoint = request_from_wire(asked["request"]).endpoint
        if endpoint is None:
            raise AuditError("Only a model behind a server is checked so.", "Choose one.")
        local = None if asked["local"] is None else request_from_wire(asked["local"])
        return examined(shelf().examine(endpoint, self._settings, local))

    def _devices(self) -> dict[str, list[str]]:
        shelf()
        from auditlib.models.placement import available_devices, available_dtypes

        return {device: available_dtypes(device) for device in available_devices()}

    def _unload(self, request: ModelRequest) -> bool:
        if request == self._busy_with():
            raise AuditError("A run is reading with this model.", "Cancel the run first, or wait for its end.")
        return shelf().drop(request)


def _length(model: HeldModel, text: str) -> int | None:
    try:
        # Nobody has asked for this text to be read yet, so none of it may reach a server.
        return model.estimated_tokens(text) if is_served(model) else model.tokens_to_read(text)
    except AuditError:
        return None
