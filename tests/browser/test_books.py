"""The book audit as a lawyer runs it on the demo, whose truth is known: two planted books found, the others not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from auditlib.audits.demo import demo_books
from tests.browser.conftest import Server, settle

pytestmark = pytest.mark.browser
READING_MS = 900_000  # 153 snippets through the bundled model, most of them twice, on a machine that may be busy
PLANTED = ("spectacles-for-orrevan", "the-second-day-of-bread")


@pytest.mark.bundled
def test_demo_finds_the_two_planted_books_and_not_the_others(server: Server, new_page: Callable[[str], Page]) -> None:
    planted = {book.title for book in demo_books() if book.source_name.removesuffix(".txt") in PLANTED}
    others = {book.title for book in demo_books()} - planted
    assert len(planted) == len(others) == 2
    page = new_page(f"{server.url}/books")
    settle(page)
    page.get_by_role("button", name="Demo", exact=True).click()
    settle(page)
    expect(page.get_by_text("With 40 known non-member works", exact=False)).to_be_visible()  # said before it runs
    page.get_by_role("button", name="Audit", exact=True).click()
    answer = page.locator("h4").filter(has_text="Supported")
    expect(answer.first).to_contain_text("Supported for 2 of 4 books", timeout=READING_MS)
    settle(page)
    _, _, box = page.get_by_test_id("stMain").inner_text().partition("Supported for 2 of 4 books")
    said, _, rest = box.partition("Each book")[0].partition("more like what")
    assert all(title in said for title in planted)
    assert all(title in rest for title in others)

    page.reload()  # the address opens it again
    expect(answer.first).to_contain_text("Supported for 2 of 4 books")
    settle(page)
    page.get_by_role("button", name="Show its heatmap").click()
    expect(page.locator(".heatmap .text .cell").first).to_be_visible()
