"""What is said to people: errors in two sentences, and strangers' text that stays text."""

from __future__ import annotations

import re

import streamlit as st

from auditlib.core import AuditError

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|~$:<>&@^=])")


def as_text(untrusted: str) -> str:
    """`untrusted` so that Markdown shows its letters and does nothing with them."""
    return _MARKDOWN.sub(r"\\\1", " ".join(untrusted.split()))


def show_error(error: AuditError) -> None:
    """What is wrong, and what to do."""
    st.error(f"**{as_text(error.wrong)}** {as_text(error.remedy)}", icon=":material/error:")


def duration(seconds: float) -> str:
    """A time as people say it: "3 s", "4 min", "2 h 10 min"."""
    if seconds < 1:
        return "under 1 s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def signed(value: float, digits: int = 4) -> str:
    """A number with a true minus sign."""
    return f"{value:.{digits}f}".replace("-", "−")
