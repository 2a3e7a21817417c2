"""What is said to people: strangers' text stays text, and amounts are in units that people use."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from markdown_it import MarkdownIt

from auditlib.ui.messages import as_text, duration, one_line, size, some
from auditlib.ui.times import moment, zone_called, zone_name


@pytest.mark.parametrize(
    "text", ["http://example.org", "see HTTPS://e.org/a?b=c", "www.example.org", "**b** <i> $x$ `c` [l](u) ~s~ :red[r]"]
)
def test_markup_and_addresses_stay_letters(text: str) -> None:
    drawn = MarkdownIt("commonmark").render(as_text(text))
    assert "<a" not in drawn
    assert "<strong" not in drawn
    assert drawn.replace("\u2060", "").removeprefix("<p>").rstrip().removesuffix("</p>") == (
        text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    )


def test_addresses_are_parted_where_a_page_would_look_for_them() -> None:
    assert as_text("a http://x.y") == "a http\\://\u2060x\\.y"
    assert "\u2060" in as_text("me@example.org")
    assert "\u2060" in as_text("www.example.org")
    assert "\u2060" not in as_text("Nothing of the kind: 3.5 / 2")


def test_what_cannot_be_shown_is_replaced() -> None:
    assert one_line("a\0b\u202ec\ud800d\n e\u2066") == "a\ufffdb\ufffdc\ufffdd e\ufffd"
    assert one_line("👩‍👩‍👧 Änne 北京") == "👩‍👩‍👧 Änne 北京"


def test_amounts() -> None:
    assert [duration(s) for s in (0.2, 89, 600, 7800, 86400 * 12)] == [
        "under 1 s",
        "89 s",
        "10 min",
        "2 h 10 min",
        "12 days",
    ]
    assert [size(n) for n in (0, 86_400, 538_000_000, 1_240_000_000)] == ["0 kB", "86 kB", "538 MB", "1.2 GB"]
    assert [some(n, "run") for n in (0, 1, 1200)] == ["0 runs", "1 run", "1,200 runs"]


def test_moments_name_their_zone() -> None:
    when = datetime(2026, 7, 1, 23, 30, tzinfo=UTC)
    assert moment(when, UTC) == "2026-07-01 23:30 (UTC)"
    assert moment(when, ZoneInfo("Europe/Berlin")) == "2026-07-02 01:30 (Europe/Berlin)"
    assert moment(None, UTC) == "–"


@pytest.mark.parametrize("name", [None, "", "No/Where", "../../etc/passwd", "/etc/passwd", "\0", "Europe", "x" * 5000])
def test_zone_that_there_is_not_is_utc(name: str | None) -> None:
    assert zone_name(zone_called(name)) == "UTC"
