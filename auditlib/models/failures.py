"""Strangers' files and models fail in strangers' ways; here each failure becomes a sentence about what failed."""

from __future__ import annotations

import logging

import torch

from auditlib.core import AuditError

logger = logging.getLogger(__name__)


class explained:  # noqa: N801  used as a context manager, reads as a function
    """Turns whatever a library throws over `what` into an `AuditError`; out-of-memory errors pass unchanged."""

    def __init__(self, what: str, remedy: str = "Fetch the model again from where it was published.") -> None:
        self._what = what
        self._remedy = remedy

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, AuditError) or is_out_of_memory(error):
            return
        # A panic in the tokenizers' Rust code arrives as a BaseException of its own.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            return
        logger.warning("%s", self._what, exc_info=error)
        first_line = (str(error).strip().splitlines() or [""])[0][:200]
        raise AuditError(f"{self._what} ({type(error).__name__}: {first_line}).", self._remedy) from error


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device had no room. A CPU says so in a plain RuntimeError."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and "allocate memory" in str(error)
    )
