"""What is said to people: errors in two sentences, and strangers' text that stays text."""

from __future__ import annotations

import re

import streamlit as st

from auditlib.core import AuditError

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|~$:<>&@^=])")
_ADDRESS = re.compile(r"https?://|www(?=\.)|@", re.IGNORECASE)
# Control characters, those that reorder or hide what stands beside them, and halves of a surrogate pair.
_UNSHOWABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def one_line(untrusted: str) -> str:
    """`untrusted` for a place that knows no Markdown: on one line, and with nothing in it that cannot be shown."""
    return _UNSHOWABLE.sub("\ufffd", " ".join(untrusted.split()))


def as_text(untrusted: str) -> str:
    """`untrusted` so that Markdown shows its letters and does nothing with them.

    Addresses become links whatever is escaped in them, unless an (invisible) word joiner parts them.
    """
    return _MARKDOWN.sub(r"\\\1", _ADDRESS.sub("\\g<0>\u2060", one_line(untrusted)))


def show_error(error: AuditError) -> None:
    """What is wrong, and what to do."""
    st.error(f"**{as_text(error.wrong)}** {as_text(error.remedy)}", icon=":material/error:")


def duration(seconds: float) -> str:
    """A time as people say it: "3 s", "4 min", "2 h 10 min", "12 days"."""
    if seconds < 1:
        return "under 1 s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes < 48 * 60 else f"{minutes / 60 / 24:,.0f} days"


def signed(value: float, digits: int = 4) -> str:
    """A number with a true minus sign."""
    return f"{value:.{digits}f}".replace("-", "−")


def size(n_bytes: int) -> str:
    """An amount of memory or disk: "86 kB", "538 MB", "1.2 GB"."""
    if n_bytes < 1e6:
        return f"{n_bytes / 1e3:,.0f} kB"
    return f"{n_bytes / 1e6:,.0f} MB" if n_bytes < 1e9 else f"{n_bytes / 1e9:,.1f} GB"


def some(n: int, thing: str) -> str:
    """A number of things: "1 run", "12 runs"."""
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"
