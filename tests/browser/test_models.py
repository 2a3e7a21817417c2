"""The Models page as a person sees it: a server added, refused for want of a key, checked, chosen, and read with."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from auditlib.core import settings
from auditlib.jobs import saved_models
from auditlib.store import SavedModels, Store
from tests.browser.conftest import Server, press_when_still, settle
from tests.models.endpoint_server import KEY, NAME, served, tiny_model

pytestmark = pytest.mark.browser
TEXT = "The ferry was late, and nobody on the quay was surprised. She counted the apples twice."


def test_served_model_is_added_checked_with_a_typed_key_chosen_and_read_with(
    server: Server, new_page: Callable[[str], Page]
) -> None:
    store = Store(settings().home_folder)
    with served(tiny_model(), key=KEY) as models:
        try:
            page = new_page(f"{server.url}/models")
            settle(page)
            page.get_by_role("tab", name="Add a model").click()
            page.get_by_text("A model behind a server").click()
            settle(page)
            page.get_by_role("textbox", name="Base URL").fill(models.url)
            page.get_by_role("textbox", name="Model name").fill(NAME)
            page.get_by_role("textbox", name="Name", exact=True).fill("From afar")
            page.get_by_role("button", name="Add", exact=True).click()
            expect(page.get_by_text("Added “From afar”", exact=False)).to_be_visible()
            assert models.behaviour.n_asked == 0
            settle(page)
            page.get_by_role("tab", name="Look at one").click()
            page.get_by_role("button", name="Connect and check").click()
            expect(page.get_by_text("wants a key and was sent none", exact=False)).to_be_visible()
            settle(page)
            page.get_by_text("Type a key", exact=True).click()
            page.get_by_label("Key for this address").fill(KEY)
            press_when_still(page.get_by_role("button", name="Use this key"))
            expect(page.get_by_text("typed for this address is sent", exact=False)).to_be_visible()
            settle(page)
            page.get_by_role("button", name="Connect and check").click()
            expect(page.get_by_text("This server can be used", exact=False)).to_be_visible()
            settle(page)
            assert KEY not in page.content()
            assert page.get_by_label("Key for this address").input_value() == ""
            page.get_by_role("link", name="Inspect").click()
            settle(page)
            page.get_by_role("button", name="Change model").click()
            page.get_by_role("dialog").get_by_text("One that is saved").click()
            page.get_by_role("button", name="Use this model").click()
            expect(page.get_by_role("dialog")).to_be_hidden()
            page.get_by_label("Text", exact=True).fill(TEXT)
            page.get_by_label("Text", exact=True).press("Control+Enter")
            expect(page.get_by_text("Texts that are read are sent to", exact=False).first).to_be_visible()
            page.get_by_role("button", name="Read this text").click()
            expect(page.locator(".heatmap .text .cell").first).to_be_visible()
        finally:
            for one in saved_models(store):
                SavedModels(store).remove(one.name)
            store.close()
