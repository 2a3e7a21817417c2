"""What a person may ask for, apart from the code that loads it: pages need the one long before the other."""

from __future__ import annotations

from dataclasses import dataclass

BUNDLED = "bundled"
AUTO = "auto"


@dataclass(frozen=True)
class ModelRequest:
    """Which model, where and how: `source` is "bundled", a folder, a .gguf file or a hub id (owner/name).

    `sha256`, where given, is what the weights must hash to.
    """

    source: str = BUNDLED
    device: str = AUTO
    dtype: str = AUTO
    revision: str | None = None
    sha256: str | None = None
