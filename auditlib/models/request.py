"""What a person may ask for, apart from the code that loads it: pages need the one long before the other."""

from __future__ import annotations

import math
from dataclasses import dataclass

from auditlib.core import AuditError
from auditlib.models.endpoint.address import checked_address
from auditlib.models.endpoint.keys import KEY_VARIABLE, checked_variable

BUNDLED = "bundled"
AUTO = "auto"
HUB_PREFIX = "hub:"  # says that a name like a/b is meant for the hub, also where a folder a/b is at hand

MOST_AT_ONCE = 64
STYLES = (AUTO, "openai", "vllm")


@dataclass(frozen=True)
class EndpointRequest:
    """A model behind a server: all of it may be kept and shown, as the key is not in it. Checked when it is made.

    base_url        of the interface, usually ending in /v1; without user, password or query
    model           the name by which the server knows it
    style           "openai" (echo and logprobs), "vllm" (prompt_logprobs), or "auto" to find out
    tokenizer       folder with the model's tokenizer, where one is at hand: exact places, long texts in windows
    context_length  tokens of one window, where the server does not say
    at_once         requests under way at the same time
    price           of a million tokens of prompt, in any one currency
    most_tokens, most_cost   what may be spent; None for no limit. `most_cost` needs a price
    key_variable    name of the environment variable that holds the key
    """

    base_url: str
    model: str
    style: str = AUTO
    tokenizer: str | None = None
    context_length: int | None = None
    at_once: int = 8
    price: float | None = None
    most_tokens: int | None = None
    most_cost: float | None = None
    key_variable: str = KEY_VARIABLE

    def __post_init__(self) -> None:
        checked_address(self.base_url)
        checked_variable(self.key_variable)
        if not self.model.strip() or len(self.model) > 300 or not self.model.isprintable():
            raise AuditError("No model was named.", "Give the name by which the server knows the model.")
        if self.style not in STYLES:
            raise AuditError(f"There is no style {self.style[:40]!r}.", f"Choose of {', '.join(STYLES)}.")
        if not 1 <= self.at_once <= MOST_AT_ONCE:
            raise AuditError(
                f"{self.at_once} requests at the same time cannot be made.", f"Choose 1 to {MOST_AT_ONCE}."
            )
        for what, value in (
            ("context length", self.context_length),
            ("price", self.price),
            ("most tokens", self.most_tokens),
            ("most cost", self.most_cost),
        ):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise AuditError(f"The {what} is not a number above 0.", "Correct it, or leave it out.")
        if self.most_cost is not None and self.price is None:
            raise AuditError(
                "A limit of cost was given and no price.", "Give the price of a million tokens, or a limit in tokens."
            )


@dataclass(frozen=True)
class ModelRequest:
    """Which model, where and how: `source` is "bundled", a folder, a .gguf file or a hub id (owner/name).

    A name that could be either is taken for a folder where there is one; "hub:owner/name" is never.

    `sha256`, where given, is what the weights must hash to; `adapter` is the folder of a PEFT adapter to merge in.
    `device` "all-gpus" spreads the layers over them; `quantization` is "8bit" or "4bit", on NVIDIA GPUs only.
    Where `endpoint` is given, the model is behind that server and nothing else of this is looked at.
    """

    source: str = BUNDLED
    device: str = AUTO
    dtype: str = AUTO
    revision: str | None = None
    sha256: str | None = None
    adapter: str | None = None
    quantization: str | None = None
    endpoint: EndpointRequest | None = None
