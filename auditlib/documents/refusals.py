"""The sentences with which a file is refused, where more than one reader needs the same."""

from __future__ import annotations

from auditlib.core import AuditError
from auditlib.documents.limits import MEBIBYTE


def damaged(name: str, kind: str) -> AuditError:
    """The file is broken. `kind` says with its article what it should be ("a PDF")."""
    return AuditError(
        f"“{name}” is damaged or cut off, so it cannot be read as {kind}.",
        "Open it in the program it came from and save it again, or bring another copy.",
    )


def too_large(name: str, n_bytes: int, limit: int) -> AuditError:
    """The file, or one part of it, is larger than `limit` bytes."""
    return AuditError(
        f"“{name}” has {n_bytes / MEBIBYTE:,.0f} MiB, more than the {limit / MEBIBYTE:,.0f} MiB allowed.",
        "Split it into smaller files.",
    )


def too_much_text(name: str, limit: int) -> AuditError:
    """The text of one file is longer than `limit` characters."""
    return AuditError(
        f"“{name}” has more than the {limit:,} characters of text that are allowed.",
        "Split it into smaller files.",
    )


class HostileFileError(AuditError):
    """A file made to do harm: refused as a whole, even where only one chapter of it is so."""


def bomb(name: str, why: str) -> HostileFileError:
    """An archive or XML part that would swell when opened. `why` completes "was not opened: it ..."."""
    return HostileFileError(
        f"“{name}” was not opened: it {why}.",
        "If you trust its source, unpack it yourself and bring the texts.",
    )


def no_text(name: str) -> AuditError:
    """The file was read and has no words in it."""
    return AuditError(f"“{name}” is empty: there is no text in it.", "Check that it is the right file.")
