"""The demo as a presenter shows it: one click loads it, one more calibrates, and the truth comes out."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from auditlib.core import settings
from auditlib.store import Store, TokenCache
from tests.browser.conftest import Server, press_when_still, settle

pytestmark = pytest.mark.browser
READING_MS = 600_000  # 80 passages through the bundled model, twice, on a machine that may be busy


@pytest.mark.bundled
def test_demo_is_supported_for_the_planted_model_and_not_for_the_bare_one(
    server: Server, new_page: Callable[[str], Page], worker: Path
) -> None:
    TokenCache(Store(worker), settings().cache_bytes).clear()  # reading is to be seen, whoever has read these before
    page = new_page(f"{server.url}/calibrate")
    settle(page)
    page.get_by_role("button", name="Demo", exact=True).click()
    page.get_by_role("button", name="Calibrate", exact=True).click()
    reading = page.get_by_text(re.compile(r"^Reading: [\d,]+ of [\d,]+ tokens"))
    expect(reading).to_be_visible(timeout=READING_MS)
    address = page.url
    assert "run=" in address

    page.reload()  # refreshed
    expect(reading).to_be_visible()
    page.get_by_role("link", name="Documents").click()  # left
    expect(page.get_by_role("heading", name="Documents", exact=True)).to_be_visible()
    page.get_by_role("link", name="Calibrate").click()  # come back
    expect(reading).to_be_visible()
    assert page.url == address
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.get_by_text("This run was cancelled.", exact=False)).to_be_visible()
    page.get_by_role("button", name="Resume", exact=True).click()
    supported = page.locator("h4").filter(has_text=re.compile("Supported"))  # "Not supported" has a small s
    expect(supported).to_be_visible(timeout=READING_MS)
    expect(page.locator(".js-plotly-plot:visible").first).to_be_visible()
    settle(page)

    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved as", exact=False)).to_be_visible()
    settle(page)

    page.get_by_role("button", name="Make the report").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Report (HTML)").click()
    report = download.value.path().read_text(encoding="utf-8")
    assert "Supported" in report
    assert "SmolLM2-135M-Instruct" in report
    settle(page)

    page.get_by_role("button", name="Demo", exact=True).click()  # a page drawn anew had forgotten the sets
    settle(page)
    page.get_by_role("button", name="Change model").click()
    page.get_by_role("dialog").get_by_text("Adapter, device").click()
    page.get_by_label("Folder of a PEFT adapter", exact=False).fill("")
    page.get_by_label("Folder of a PEFT adapter", exact=False).press("Tab")
    press_when_still(page.get_by_role("button", name="Use this model"))
    expect(page.get_by_role("dialog")).to_be_hidden()
    settle(page)
    expect(page.get_by_text("not of the model chosen now", exact=False)).to_be_visible()
    page.get_by_role("button", name="Calibrate", exact=True).click()
    not_supported = page.locator("h4").filter(has_text=re.compile("Not supported|Inconclusive"))
    expect(not_supported).to_be_visible(timeout=READING_MS)
    settle(page)
    expect(supported).to_have_count(0)
