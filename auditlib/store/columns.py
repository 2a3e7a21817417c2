"""Column types for what databases do not keep as it is: strangers' text, JSON with NaN, times with a zone."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, Dialect, LargeBinary, Text
from sqlalchemy.types import TypeDecorator


class AnyText(TypeDecorator[str]):
    """Text out of somebody's file, as UTF-8 bytes: PostgreSQL's own text refuses U+0000, which documents may hold."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:
        """Half a surrogate pair is kept too."""
        return None if value is None else value.encode("utf-8", "surrogatepass")

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> str | None:
        """The same text again."""
        return None if value is None else value.decode("utf-8", "surrogatepass")


class Json(TypeDecorator[Any]):
    """JSON as ASCII text, every float as it was: PostgreSQL's own JSON refuses NaN and infinities."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        """None becomes `null`, so that a column holds JSON always."""
        return json.dumps(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """The same value again (tuples as lists)."""
        return None if value is None else json.loads(value)


class UtcTime(TypeDecorator[datetime]):
    """A moment with its zone, which SQLite would drop. Comes back in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Raises `ValueError` for a time without a zone: nobody could tell later when that was."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a zone cannot be stored")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """SQLite gives a time without a zone, PostgreSQL one in its session's zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
