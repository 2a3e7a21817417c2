"""What travels between a reader and the rest of this room: a file as brought, and a text as read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from auditlib.core import Label


@dataclass(frozen=True)
class Columns:
    """Which columns of a table hold the text, the membership label and the group."""

    text: str
    label: str | None = None
    group: str | None = None


@dataclass(frozen=True)
class Source:
    """One file: its bytes, the name that errors give it, and for a table the columns that were picked."""

    data: bytes
    name: str
    columns: Columns | None = None


@dataclass(frozen=True)
class Reading:
    """One text as a reader found it, uncleaned. Pages of a PDF are apart by a form feed."""

    text: str
    title: str
    media_type: str
    warnings: tuple[str, ...] = ()
    group: str = ""
    label: Label = Label.UNKNOWN
    author: str = ""
    year: int | None = None


Reader = Callable[[Source], Iterator[Reading]]
"""Gives the texts of one file, or raises `AuditError` naming it."""
