"""A served page and a real Chromium, as a person at the next desk has them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from playwright.sync_api import Error as PlaywrightError

ROOT = Path(__file__).parents[2]
START_SECONDS = 60
PATIENCE_MS = 240_000  # a busy machine may take long to import torch and load a model; nothing here measures time

OPENED = pytest.StashKey[list[Page]]()

expect.set_options(timeout=PATIENCE_MS)


@dataclass(frozen=True)
class Server:
    url: str
    process: subprocess.Popen[bytes]


def settle(page: Page) -> None:
    """Waits until the page has finished drawing itself: what is typed before that may be drawn over."""
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()


def press_when_still(button: Locator) -> None:
    """Presses a button that an opening expander pushes down, once it has come to rest: a press is lost meanwhile."""
    button.evaluate(
        """element => new Promise(done => {
            let before, since = performance.now();
            const look = () => {
                const { x, y } = element.getBoundingClientRect(), now = `${x} ${y}`;
                if (now !== before) [before, since] = [now, performance.now()];
                performance.now() - since > 700 ? done() : setTimeout(look, 50);
            };
            look();
        })"""
    )
    button.click()


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., Server]]:
    """Starts the app as `make run` does, with other environment variables where given."""
    started: list[subprocess.Popen[bytes]] = []

    def start(**environment: str) -> Server:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        url = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                with urlopen(f"{url}/_stcore/health", timeout=2) as answer:  # noqa: S310  our own server
                    if answer.status == 200:
                        return Server(url, process)
            except (URLError, OSError):
                time.sleep(0.2)
        raise RuntimeError("the page did not come up")

    yield start
    for process in started:
        process.terminate()
        process.wait(timeout=20)


@pytest.fixture(scope="session")
def server(serve: Callable[..., Server], worker: Path) -> Server:
    """The page with a worker beside it."""
    return serve()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that failed says what its pages showed, as nobody can look at them any more."""
    report = yield
    if report.when == "call" and report.failed:
        for page in item.stash.get(OPENED, []):
            with suppress(PlaywrightError):
                report.sections.append((f"the page {page.url}", page.locator("body").inner_text(timeout=5_000)))
    return report


@pytest.fixture
def new_page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Callable[[str], Page]]:
    """A tab of its own, that fails the test if anything in it throws or asks another machine for anything."""
    contexts = []
    opened: list[Page] = request.node.stash.setdefault(OPENED, [])
    trouble: list[str] = []

    def open_at(url: str) -> Page:
        own = f"{urlsplit(url).scheme}://{urlsplit(url).netloc}/"
        context = browser.new_context(viewport={"width": 1280, "height": 1000}, accept_downloads=True)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        opened.append(page)
        page.on("pageerror", lambda error: trouble.append(f"thrown: {error}"))
        page.on("dialog", lambda dialog: (trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((own, "data:", "blob:", "file:"))
                else trouble.append(f"asked for {request.url}")
            ),
        )
        page.goto(url)
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert not trouble
