"""How fast the Runs page is with 500 runs and a cache of a million rows, in a real Chromium.

    python -m benchmarks.runs_page

Makes such a database in a temporary folder (rows of the cache are random bytes: the page never looks into them),
serves the page without a worker, and measures from the address being entered, in a browser with nothing cached, to the
page being drawn: table, the cache's line, the worker's section, and Streamlit at rest. Beside it, in turns, the same
page over 5 runs and no cache: what differs is what size costs, the rest is Streamlit, the browser and the machine.
Then the cache is cleared while somebody writes.
"""

from __future__ import annotations

import argparse
import os
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Browser, Page, sync_playwright

from auditlib.core import Label
from auditlib.jobs import CalibrationParameters, ChosenDocument
from auditlib.jobs.plain import to_plain
from auditlib.models.request import ModelRequest
from auditlib.store import Runs, RunState, Store, TokenCache
from benchmarks.store import MODEL
from tests.get_browser import installed_browser

ROOT = Path(__file__).parents[1]
DOCUMENTS = 100  # named by each run
INPUTS = 2_000  # hashes kept with each run
ROW_BYTES = 360  # packed statistics of 20 tokens
STATES = (RunState.DONE, RunState.DONE, RunState.FAILED, RunState.CANCELLED)
START_SECONDS = 120
CHROMIUM_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run"]


def make_runs(store: Store, n: int) -> str:
    """n runs that have ended, as large as those of a shelf of books; the id of the last."""
    runs, now = Runs(store), datetime(2026, 1, 1, tzinfo=UTC)
    documents = tuple(
        ChosenDocument(sha256(str(d).encode()).hexdigest(), (Label.MEMBER, Label.NON_MEMBER)[d % 2], f"work {d}")
        for d in range(DOCUMENTS)
    )
    parameters = to_plain(CalibrationParameters(ModelRequest(), documents=documents))
    inputs = {key: key for key in (sha256(str(i).encode()).hexdigest() for i in range(INPUTS))}
    versions = {"torch": "2.13.0", "numpy": "2.4.0"}
    for number in range(n):
        at = now + timedelta(minutes=number)
        run = runs.add(
            "calibration", f"Shelf {number % 40}, try {number}", parameters, number, f"Person {number % 7}", at
        )
        runs.start(run.id, at)
        runs.record(run.id, {"target": MODEL.as_dict()}, versions, inputs)
        runs.end(run.id, STATES[number % len(STATES)], at + timedelta(seconds=number), problem=None)
    return run.id


def make_cache(home: Path, n: int) -> None:
    """n rows, written by SQLite itself: through the cache's own door a million would take minutes."""
    with closing(sqlite3.connect(home / "audit.db")) as connection:
        connection.execute("INSERT INTO token_readings VALUES (1, ?, 'benchmark')", (MODEL.digest,))
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
            "INSERT INTO token_stats (reading_key, text_sha256, last_used, n_bytes, checksum, payload) "
            "SELECT 1, randomblob(32), i, ?, zeroblob(16), randomblob(?) FROM n",
            (n, ROW_BYTES, ROW_BYTES),
        )
        connection.execute("UPDATE token_totals SET n_rows = ?, n_bytes = ?", (n, n * ROW_BYTES))
        connection.commit()


@contextmanager
def served(home: Path) -> Iterator[str]:
    """The page's address, once it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)],
        cwd=ROOT,
        env=os.environ | {"AUDIT_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url, until = f"http://127.0.0.1:{port}", time.monotonic() + START_SECONDS
    try:
        while time.monotonic() < until:
            try:
                urlopen(f"{url}/_stcore/health", timeout=2).close()  # noqa: S310  our own server
                break
            except (URLError, OSError):
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def opened(browser: Browser, url: str) -> float:
    """Seconds from the address to the whole page, in a browser with an empty cache."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    began = time.perf_counter()
    page.goto(url)
    wait_drawn(page)
    took = time.perf_counter() - began
    context.close()
    return took


def wait_drawn(page: Page) -> None:
    page.locator("[data-testid=stDataFrame] canvas").first.wait_for()
    page.get_by_role("heading", name="In the worker's memory").wait_for()
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()


def measure_page(large: str, small: str, run_id: str, rounds: int) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed_browser(), args=CHROMIUM_ARGUMENTS)
        print(f"first visit after the start of the server: {opened(browser, f'{large}/runs'):.2f} s", flush=True)
        opened(browser, f"{small}/runs")
        took: dict[str, list[float]] = {}
        addresses = {
            "5 runs, nothing cached": f"{small}/runs",
            "all runs": f"{large}/runs",
            "a link to one run": f"{large}/runs?run={run_id}",
        }
        for _ in range(rounds):
            for what, address in addresses.items():
                took.setdefault(what, []).append(opened(browser, address))
        for what, seconds in took.items():
            low, middle, high = min(seconds), statistics.median(seconds), max(seconds)
            print(f"{what}: median {middle:.2f} s ({low:.2f} to {high:.2f}, {rounds} times)", flush=True)
        page = browser.new_context().new_page()
        page.goto(f"{large}/method")
        page.get_by_role("heading", name="The scores").wait_for()
        began = time.perf_counter()
        page.get_by_role("link", name="Runs").click()
        wait_drawn(page)
        print(f"from another page: {time.perf_counter() - began:.2f} s", flush=True)
        page.get_by_role("textbox", name="Search").fill("try 33")
        began = time.perf_counter()
        page.get_by_role("textbox", name="Search").press("Enter")
        page.get_by_text(" runs of ", exact=False).first.wait_for()
        print(f"a filter: {time.perf_counter() - began:.2f} s", flush=True)
        browser.close()


def measure_clearing(store: Store) -> None:
    """A clearing, and how long somebody who writes meanwhile waits."""
    runs, waits, over = Runs(store), [0.0], threading.Event()
    run = runs.all()[0]

    def write() -> None:
        while not over.is_set():
            began = time.perf_counter()
            runs.rename(run.id, "written meanwhile")
            waits.append(time.perf_counter() - began)
            time.sleep(0.05)

    writer = threading.Thread(target=write)
    cache = TokenCache(store, 10**12)
    n = cache.size().rows
    writer.start()
    began = time.perf_counter()
    cache.clear()
    took = time.perf_counter() - began
    over.set()
    writer.join()
    print(
        f"clearing {n:,} rows: {took:.0f} s; {len(waits):,} writes meanwhile waited {statistics.median(waits):.2f} s "
        f"(median), {max(waits):.2f} s at most"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="audit-bench-") as folder:
        home = Path(folder) / "home"
        store = Store(home)
        began = time.perf_counter()
        run_id = make_runs(store, chosen.runs)
        make_cache(home, chosen.rows)
        print(f"{chosen.runs:,} runs and {chosen.rows:,} rows made in {time.perf_counter() - began:.0f} s", flush=True)
        few = Store(Path(folder) / "few")
        make_runs(few, 5)
        few.close()
        with served(home) as large, served(few.home) as small:
            measure_page(large, small, run_id, chosen.rounds)
        print("load of the machine:", " ".join(f"{load:.1f}" for load in os.getloadavg()), f"on {os.cpu_count()} cores")
        measure_clearing(store)
        store.close()


if __name__ == "__main__":
    main()
