"""What a person may ask for, apart from the code that loads it: pages need the one long before the other."""

from __future__ import annotations

from dataclasses import dataclass

BUNDLED = "bundled"
AUTO = "auto"
HUB_PREFIX = "hub:"  # says that a name like a/b is meant for the hub, also where a folder a/b is at hand


@dataclass(frozen=True)
class ModelRequest:
    """Which model, where and how: `source` is "bundled", a folder, a .gguf file or a hub id (owner/name).

    A name that could be either is taken for a folder where there is one; "hub:owner/name" is never.

    `sha256`, where given, is what the weights must hash to; `adapter` is the folder of a PEFT adapter to merge in.
    """

    source: str = BUNDLED
    device: str = AUTO
    dtype: str = AUTO
    revision: str | None = None
    sha256: str | None = None
    adapter: str | None = None
