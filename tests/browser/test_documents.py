"""The shelf as a person uses it: bring files, see them listed, mark and delete."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from auditlib.store import Store, Workspace
from tests.browser.conftest import Server
from tests.documents.builders import one_of_each

pytestmark = pytest.mark.browser


def test_files_of_every_kind_are_brought_and_one_is_deleted(
    serve: Callable[..., Server], new_page: Callable[[str], Page], tmp_path: Path
) -> None:
    page = new_page(f"{serve(AUDIT_HOME=str(tmp_path)).url}/documents")
    files = [*one_of_each().items(), ("broken.pdf", b"%PDF-1.7 and no more")]
    page.locator("input[type=file]").set_input_files(
        [{"name": name, "mimeType": "application/octet-stream", "buffer": data} for name, data in files]
    )
    page.get_by_role("button", name=f"Read {len(files)} files").click()
    expect(page.get_by_text("Added", exact=False).first).to_be_visible()
    expect(page.get_by_role("alert").filter(has_text="broken.pdf")).to_be_visible()
    store = Workspace(Store(tmp_path))
    before = store.documents()
    assert len(before) >= len(files) - 1
    stored = len(list((store.folder / "files").iterdir()))

    # The table is drawn on a canvas: its first row's first cell is the box that marks for deletion.
    page.locator("[data-testid=stDataFrame] canvas").first.click(position={"x": 40, "y": 52}, force=True)
    page.get_by_role("button", name="Delete this text").click()
    expect(page.get_by_role("heading", name=f"{len(before) - 1} texts")).to_be_visible()
    assert [d.key for d in store.documents()] == [d.key for d in before[1:]]
    assert len(list((store.folder / "files").iterdir())) == stored - 1
