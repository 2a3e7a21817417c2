"""The two ways in which servers are asked for the numbers of a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from auditlib.models.endpoint.answers import PromptNumbers, read_echo, read_prompt_logprobs


class Style(Protocol):
    """How to ask, and how to read the answer."""

    @property
    def name(self) -> str:
        """As `EndpointRequest` has it."""
        ...

    @property
    def gives_ranks(self) -> bool:
        """Whether each token comes with its rank."""
        ...

    @property
    def made_up_tokens(self) -> int:
        """Tokens that the server must make up after the prompt; they count in its window."""
        ...

    def body(self, model: str, prompt: str | Sequence[int], top: int) -> dict[str, Any]:
        """The request; `top` likeliest tokens at each place."""
        ...

    def read(self, value: Any, ids: Sequence[int] | None) -> PromptNumbers:
        """The answer; `ids` are the tokens that were sent, None where text was. Raises `UnusableAnswerError`."""
        ...


@dataclass(frozen=True)
class Echo:
    """OpenAI's: the prompt is given back with numbers. Some servers must make up a token after it."""

    made_up_tokens: int = 0
    name: str = "openai"
    gives_ranks: bool = False

    def body(self, model: str, prompt: str | Sequence[int], top: int) -> dict[str, Any]:
        """See `Style`."""
        # Some servers leave the numbers away where logprobs is 0, so one alternative is always asked for.
        asked = {"echo": True, "logprobs": max(top, 1), "max_tokens": self.made_up_tokens, "temperature": 0}
        return {"model": model, "prompt": prompt if isinstance(prompt, str) else list(prompt), **asked}

    def read(self, value: Any, ids: Sequence[int] | None) -> PromptNumbers:
        """See `Style`."""
        return read_echo(value)


@dataclass(frozen=True)
class PromptLogprobs:
    """vLLM's: the numbers stand beside the completion, with ranks. One token must be made up and is thrown away."""

    name: str = "vllm"
    gives_ranks: bool = True
    made_up_tokens: int = 1

    def body(self, model: str, prompt: str | Sequence[int], top: int) -> dict[str, Any]:
        """See `Style`."""
        asked = {"prompt_logprobs": top, "max_tokens": 1, "temperature": 0}
        return {"model": model, "prompt": prompt if isinstance(prompt, str) else list(prompt), **asked}

    def read(self, value: Any, ids: Sequence[int] | None) -> PromptNumbers:
        """See `Style`."""
        return read_prompt_logprobs(value, ids)
