"""A server's own tokenizer, asked over HTTP: for auditors who have no copy of the model's files."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np

from auditlib.core import AuditError
from auditlib.models.encoding import EncodedText, refuse_too_short, refuse_unreadable
from auditlib.models.endpoint.places import control_letters, places_of
from auditlib.models.endpoint.server import Server, StatusError, UnusableAnswerError

MOST_KEPT = 4096
PROBE = "The ferry was late, and nobody on the quay was surprised."


class ServerTokens:
    """`TextEncoder`'s work done by vLLM's /tokenize. Raises `AuditError` where a text cannot be placed exactly."""

    def __init__(self, server: Server, model: str) -> None:
        """Raises `StatusError` or `UnusableAnswerError` where the server has no such interface."""
        self._server = server
        self._model = model
        self._kept: OrderedDict[str, EncodedText] = OrderedDict()
        self._words: dict[int, str] = {}
        self._touching = threading.Lock()
        bare, _ = self._ask(PROBE, special=False)
        whole, _ = self._ask(PROBE, special=True)
        at = next((i for i in range(len(whole)) if whole[i : i + len(bare)] == bare), None)
        if at is None:
            raise UnusableAnswerError("the server's tokenizer reads a text in two ways")
        self._prefix_ids = tuple(whole[:at])

    def encode(self, text: str, name: str = "The text") -> EncodedText:
        """Tokens of `text`, as `TextEncoder.encode`."""
        refuse_unreadable(text, name)
        with self._touching:
            if text in self._kept:
                self._kept.move_to_end(text)
                return self._kept[text]
        refuse_control_letters(text, name)
        ids, pieces = self._ask(text, special=False)
        places = places_of(pieces, text)
        if places is None:
            raise AuditError(
                f"{name} cannot be matched letter by letter with the tokens that the server makes of it.",
                "Give the folder of the model's tokenizer.",
            )
        encoded = EncodedText(self._prefix_ids, np.array(ids, dtype=np.int32), *places)
        refuse_too_short(encoded.n_scorable, name)
        with self._touching:
            self._kept[text] = encoded
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return encoded

    def remember(self, words: Mapping[int, str]) -> None:
        """What ids stand for, where the server has said so in passing."""
        self._words |= words

    def token_text(self, token_id: int) -> str:
        """What one token stands for, as the server writes it."""
        if token_id not in self._words:
            try:
                word = self._server.post(
                    "/detokenize",
                    {"model": self._model, "tokens": [token_id]},
                    lambda value: str(value["prompt"]) if isinstance(value, dict) and "prompt" in value else "",
                )
            except StatusError:
                word = f"[{token_id}]"
            self._words[token_id] = word
        return self._words[token_id]

    def _ask(self, text: str, special: bool) -> tuple[list[int], list[str]]:
        asked = {"model": self._model, "prompt": text, "add_special_tokens": special, "return_token_strs": True}
        return self._server.post("/tokenize", asked, _read_tokens)


def refuse_control_letters(text: str, name: str) -> None:
    """`AuditError` for a text with letters that a server's tokenizer would take for a control token."""
    if letters := control_letters(text):
        raise AuditError(
            f"{name} holds the letters {letters!r}, which the server would take for a sign of its own.",
            "Give the folder of the model's tokenizer: then such letters are read as letters.",
        )


def _read_tokens(value: Any) -> tuple[list[int], list[str]]:
    ids = value.get("tokens") if isinstance(value, dict) else None
    pieces = value.get("token_strs") if isinstance(value, dict) else None
    if not isinstance(ids, list) or not isinstance(pieces, list) or not ids or len(ids) != len(pieces):
        raise UnusableAnswerError("tokens without their texts")
    if not all(isinstance(one, int) and 0 <= one < 2**31 for one in ids) or not all(isinstance(p, str) for p in pieces):
        raise UnusableAnswerError("tokens of another shape")
    return ids, pieces
