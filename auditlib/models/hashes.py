"""Hashes that say which weights exactly gave a result."""

from __future__ import annotations

from hashlib import file_digest, sha256
from pathlib import Path


def weights_sha256(weights: list[Path]) -> str:
    """SHA-256 of the one weight file; of several, the SHA-256 over their `name digest` lines in name order."""
    digests = {file.name: file_sha256(file) for file in weights}
    if len(digests) == 1:
        return next(iter(digests.values()))
    return sha256("".join(f"{name} {digests[name]}\n" for name in sorted(digests)).encode()).hexdigest()


def file_sha256(file: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with file.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()
