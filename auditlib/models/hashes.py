"""Hashes that say which weights exactly gave a result."""

from __future__ import annotations

from hashlib import file_digest, sha256
from pathlib import Path

from auditlib.core import AuditError


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


def check_sha256(found: str, expected: str | None, what: str) -> None:
    """`AuditError` where `expected` is given and `found` is another. `what` is what was hashed, for people."""
    if expected is not None and found != expected.strip().lower():
        raise AuditError(
            f"{what}: not what was expected. The SHA-256 is {found[:16]}… and should be "
            f"{expected.strip().lower()[:16]}….",
            "Do not use it. Delete it and fetch it again from a source that you trust, or correct the expected hash.",
        )
