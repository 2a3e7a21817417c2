"""Moments as people read them: in the zone of whoever looks, which is named, or in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import streamlit as st


def zone_of_reader() -> tzinfo:
    """The zone that the browser says it is in; UTC where it says none, or one that there is not."""
    return zone_called(st.context.timezone)


def zone_called(name: str | None) -> tzinfo:
    """The zone of that name out of the zone database; UTC where there is none."""
    try:
        return ZoneInfo(name) if name else UTC
    except (OSError, ValueError, KeyError):  # a browser may say anything, a path too
        return UTC


def zone_name(zone: tzinfo) -> str:
    """What the zone is called: "Europe/Paris", "UTC"."""
    return str(zone)


def moment(when: datetime | None, zone: tzinfo) -> str:
    """Day, time and zone; a dash for what has not happened."""
    return "–" if when is None else f"{when.astimezone(zone):%Y-%m-%d %H:%M} ({zone_name(zone)})"
