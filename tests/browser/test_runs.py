"""A run as a person has it: watched, left, come back to, cancelled, resumed, renamed, copied, compared, deleted."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from auditlib.models.request import ModelRequest
from auditlib.store import RunState, TokenCache
from tests.browser.conftest import Server, settle
from tests.conftest import link_models
from tests.jobs.conftest import Place, documents
from tests.tiny import llama_config, save_folder

pytestmark = pytest.mark.browser
RUN_MS = 600_000  # a run of half a minute, on a machine that may be busy
ROW = 35  # pixels


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A data folder with a small model, read in batches so small that a run takes a while."""
    model = ModelRequest(str(save_folder(tmp_path / "tiny", llama_config(context=256))))
    made = Place(link_models(tmp_path / "home"), model, batch_tokens=64)
    yield made
    made.close()


def tick(page: Page, row: int) -> None:
    """The box of a row of the table, which is drawn on a canvas; rows count from 1."""
    canvas = page.locator("[data-testid=stDataFrame] canvas").first
    canvas.click(position={"x": 16, "y": ROW * row + ROW / 2}, force=True)
    settle(page)


def tokens_done(page: Page) -> int:
    """How many tokens the progress bar says are read; -1 where it says none."""
    said = page.get_by_test_id("stMain").get_by_test_id("stProgress").all_inner_texts()
    found = re.search(r"Reading: ([\d,]+) of", " ".join(said))
    return int(found[1].replace(",", "")) if found else -1


def until(holds: Callable[[], bool], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.2)


def button(within: Page | Locator, name: str) -> Locator:
    """A button of the page itself; those that open a list of choices may have the same name."""
    ours = within.locator("[data-testid=stBaseButton-primary], [data-testid=stBaseButton-secondary]")
    return ours.and_(within.get_by_role("button", name=name, exact=True))


def test_a_run_from_its_start_to_its_deletion(
    serve: Callable[..., Server], new_page: Callable[[str], Page], place: Place
) -> None:
    worker = place.worker()
    place.wait_for_worker()
    run = place.client.start("calibration", "The long one", place.bring(documents(300)), "Anna")
    environment = {name: value for name, value in place.environment().items() if name.startswith("AUDIT_")}
    page = new_page(f"{serve(**environment).url}/runs?run={run.id}")
    heading = page.get_by_role("heading", name="The long one")
    expect(heading).to_be_visible()

    # It moves, and goes on through a refresh and while another page is looked at.
    until(lambda: tokens_done(page) > 0)
    first = tokens_done(page)
    until(lambda: tokens_done(page) > first)
    page.reload()
    expect(heading).to_be_visible()
    expect(page).to_have_url(re.compile(run.id))
    page.get_by_role("link", name="Method").click()
    expect(page.get_by_role("heading", name="The scores")).to_be_visible()
    page.get_by_role("link", name="Runs").click()
    expect(heading).to_be_visible()
    expect(page).to_have_url(re.compile(run.id))
    until(lambda: tokens_done(page) > first)

    settle(page)
    button(page, "Cancel").click()
    expect(page.get_by_text("This run was cancelled", exact=False)).to_be_visible()
    assert place.client.run(run.id).state is RunState.CANCELLED
    expect(button(page, "Cancel")).to_be_disabled()
    button(page, "Resume").click()
    expect(page.get_by_text("This run was cancelled", exact=False)).to_be_hidden()
    expect(button(page, "Open")).to_be_enabled(timeout=RUN_MS)  # the page sees its end by itself
    assert place.client.run(run.id).state is RunState.DONE
    assert len(place.batches_read()) - len(set(place.batches_read())) <= 1

    button(page, "Open").click()
    expect(page).to_have_url(re.compile(f"/calibrate.*{run.id}"))
    expect(page.get_by_role("heading", name="Calibrate")).to_be_visible()
    expect(page.get_by_test_id("stSidebar")).to_contain_text(place.model.source)  # the run's model is chosen
    page.get_by_role("link", name="Runs").click()
    expect(heading).to_be_visible()

    button(page, "Rename").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Name").fill("Renamed <b>now</b>")
    dialog.get_by_role("textbox", name="Name").press("Tab")
    button(dialog, "Rename").click()
    expect(page.get_by_role("heading", name="Renamed <b>now</b>")).to_be_visible()
    settle(page)

    button(page, "Duplicate").click()
    dialog.get_by_label("k (% of tokens)").fill("35")
    dialog.get_by_label("k (% of tokens)").press("Tab")
    button(dialog, "Start the copy").click()
    expect(page.get_by_role("heading", name="Renamed <b>now</b> (copy)")).to_be_visible()
    copy = place.client.runs()[0]
    assert copy.parameters["k"] == 35
    assert place.finished(copy.id).state is RunState.DONE
    expect(button(page, "Open")).to_be_enabled()
    settle(page)

    tick(page, 2)
    expect(page.get_by_role("heading", name="Side by side")).to_be_visible()
    expect(page.get_by_text("35% of tokens")).to_be_visible()
    expect(page.locator(".js-plotly-plot:visible").first).to_be_visible()
    expect(page.get_by_text("Both runs read the same texts.")).to_be_visible()
    settle(page)
    button(page, "Delete 2").click()
    button(dialog, "Delete 2 runs").click()
    expect(page.get_by_text("2 runs deleted.")).to_be_visible()
    expect(page.get_by_text("Nothing has been run yet", exact=False)).to_be_visible()
    assert place.client.runs() == []

    # What the worker holds is let go, the cache too; and without a worker the page says how to start one.
    def held() -> list[ModelRequest]:
        return [model.request for model in place.client.worker_state().models]

    expect(page.get_by_text(f"process {worker.pid} · no run is at work", exact=False)).to_be_visible()
    assert place.model in held()
    while place.model in held():
        settle(page)
        n = len(held())
        button(page, "Unload").first.click()
        until(lambda n=n: len(held()) < n)
    button(page, "Clear").click()
    button(dialog, "Clear the cache").click()
    expect(page.get_by_text("The cache is clear", exact=False)).to_be_visible()
    assert TokenCache(place.store, 10**9).size().rows == 0
    place.kill(worker)
    how = page.get_by_test_id("stMain").get_by_text("python -m auditlib worker", exact=False)
    expect(how).to_be_visible()
