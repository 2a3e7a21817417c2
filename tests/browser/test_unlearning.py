"""The unlearning audit as a person runs it on the demo, whose truth is known."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Server, settle

pytestmark = pytest.mark.browser
RUNNING_MS = 1_500_000  # 54 chunks through three models and 164 continuations, on a machine that may be busy


@pytest.mark.bundled
def test_demo_tells_the_unlearned_book_from_the_one_left_alone(server: Server, new_page: Callable[[str], Page]) -> None:
    page = new_page(f"{server.url}/unlearning")
    settle(page)
    expect(page.get_by_text("No works yet", exact=False)).to_be_visible()
    page.get_by_role("button", name="Demo", exact=True).click()
    settle(page)
    expect(page.get_by_text("So the right answers are known", exact=False)).to_be_visible()
    page.get_by_role("button", name="Audit", exact=True).click()
    expect(page.get_by_role("heading", name="Chunk by chunk")).to_be_visible(timeout=RUNNING_MS)
    settle(page)
    rows = page.get_by_test_id("stTable").filter(has_text="By perplexity alone").locator("tbody tr")
    expect(rows).to_have_count(3)
    forgotten, kept = (_cells(rows, name) for name in ("to be forgotten", "to be kept"))
    assert int(forgotten[1]) < int(forgotten[0]) / 2
    assert int(kept[1]) > int(kept[0]) / 2

    differences = page.get_by_test_id("stTable").filter(has_text="Completions of").locator("tbody tr")
    expect(differences).to_have_count(3)
    books = differences.filter(has_text="to be kept").filter(has_text="to be forgotten").locator("td").all_inner_texts()
    low, high = (float(part.replace("−", "-")) for part in re.findall(r"[+−]\d\.\d+(?= to|\))", " ".join(books)))
    assert 0 < low < high

    page.reload()  # the address opens it again
    expect(page.get_by_role("heading", name="Chunk by chunk")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Compare models", exact=True).click()
    expect(page.locator(".heatmap")).to_have_count(3)
    difference = page.locator(".heatmap").nth(2)
    expect(difference.locator(".cell.l6, .cell.l8, .cell.d2, .cell.d1").first).to_be_visible()
    expect(difference.locator(".legend")).to_contain_text("blue: more")

    slider = page.get_by_role("slider").first
    before = rows.filter(has_text="never seen").inner_text()
    slider.focus()
    for _ in range(10):
        slider.press("ArrowRight")
    expect(rows.filter(has_text="never seen")).not_to_have_text(before)


def _cells(rows: Locator, name: str) -> list[str]:
    """Of the row of that name: chunks, how many are suspicious, and so on."""
    return rows.filter(has_text=name).locator("td").all_inner_texts()
