"""A model that the worker holds, as a page sees it: one more `TargetModel`, without torch in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from auditlib.core import Capability, ModelIdentity, Progress, TokenStats
from auditlib.jobs.asking import Ask
from auditlib.jobs.wire import request_to_wire, stats_from_wire
from auditlib.models.request import ModelRequest


class RemoteModel:
    """Every method raises `AuditError` where the worker is not there, or ends while it answers."""

    def __init__(self, ask: Ask, request: ModelRequest, facts: Mapping[str, Any]) -> None:
        self.request = request
        self.identity = ModelIdentity(**facts["identity"])
        self.capabilities = frozenset(Capability(name) for name in facts["capabilities"])
        self.context_length = int(facts["context_length"])
        self.vocabulary_size = int(facts["vocabulary_size"])
        self.device = str(facts["device"])
        self.memory_bytes = int(facts["memory_bytes"])
        self.tokens_per_second: float | None = facts["tokens_per_second"]
        self._ask = ask
        self._wire = {"request": request_to_wire(request)}

    def token_stats(
        self,
        texts: Sequence[str],
        top: int = 0,
        progress: Progress | None = None,
        names: Sequence[str] | None = None,
    ) -> Iterator[tuple[int, TokenStats]]:
        """As `TargetModel` says. While an audit runs, it waits for the batch at work."""
        question = {"what": "token_stats", "texts": list(texts), "top": top, "names": list(names) if names else None}
        for line in self._ask(question | self._wire):
            if "progress" in line and progress is not None:
                progress(*line["progress"])
            if "stats" in line:
                yield int(line["index"]), stats_from_wire(line)
            if "answer" in line:
                self.tokens_per_second = line["answer"]["tokens_per_second"]

    def tokens_to_read(self, text: str, name: str = "The text") -> int:
        """Tokens that scoring `text` passes through the model; `AuditError` where the text cannot be scored."""
        return int(self._answer({"what": "tokens_to_read", "text": text, "name": name}))

    def lengths(self, texts: Sequence[str]) -> list[int | None]:
        """`tokens_to_read` of many texts in one question; None for those that cannot be scored."""
        return [None if n is None else int(n) for n in self._answer({"what": "lengths", "texts": list(texts)})]

    def token_text(self, token_ids: Sequence[int]) -> list[str]:
        """What each token stands for, readable alone."""
        return [str(text) for text in self._answer({"what": "token_text", "ids": [int(i) for i in token_ids]})]

    def _answer(self, question: dict[str, Any]) -> Any:
        return [line["answer"] for line in self._ask(question | self._wire) if "answer" in line][-1]
