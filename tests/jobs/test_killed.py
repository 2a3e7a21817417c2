"""The promise: whatever is killed, nothing scored is scored again, and the result is the same to the last byte."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from auditlib.jobs.plain import to_plain
from auditlib.models.request import ModelRequest
from auditlib.store import RunState
from tests.jobs.conftest import ROOT, Place, documents, free_port, is_served

KILLS = 5
TEXTS = 300
SEED = 20261121


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, tiny_model: ModelRequest) -> tuple[Mapping[str, str], int]:
    """The files of a run that nobody disturbed, by their hashes, and how many batches it took."""
    place = Place(tmp_path_factory.mktemp("undisturbed") / "home", tiny_model)
    try:
        place.worker()
        run = place.client.start("calibration", "one", place.bring(documents(TEXTS)))
        assert place.finished(run.id).state is RunState.DONE, place.log()
        read = place.batches_read()
        assert len(read) == len(set(read)) > 60
        return place.results(run.id), len(read)
    finally:
        place.close()


def test_a_worker_killed_five_times_gives_the_same_bytes(
    places: Callable[..., Place],
    database: Callable[[], str | None],
    undisturbed: tuple[Mapping[str, str], int],
) -> None:
    expected, n_batches = undisturbed
    place = places("disturbed", database())
    run = place.client.start("calibration", "one", place.bring(documents(TEXTS)))
    rng = random.Random(SEED)
    for moment in sorted(rng.sample(range(1, n_batches - 10), KILLS)):
        process = place.worker()
        place.wait_for(lambda moment=moment: len(set(place.batches_read())) >= moment, every=0.01)
        time.sleep(rng.uniform(0, 0.03))
        place.kill(process)
    place.worker()
    assert place.finished(run.id).state is RunState.DONE, place.log()
    read = place.batches_read()
    assert len(set(read)) == n_batches
    assert len(read) - n_batches <= KILLS
    assert place.results(run.id) == expected


def test_a_worker_killed_while_it_starts_or_computes_loses_nothing(place: Place) -> None:
    run = place.client.start("calibration", "one", place.bring(documents(40)))
    early = place.worker()
    time.sleep(1.0)
    place.kill(early)
    late = place.worker()

    def computes() -> bool:
        progress = place.client.run(run.id).progress
        return progress is not None and progress.stage in ("computing", "writing")

    place.wait_for(computes, every=0.01)
    place.kill(late)
    n_read = len(place.batches_read())
    place.worker()
    assert place.finished(run.id).state is RunState.DONE
    assert len(place.batches_read()) == n_read


PAGE = """
import json, os
from auditlib.ui.runs import chosen_run, run_state, start_form

run = chosen_run("calibration")
if run is None:
    parameters = json.load(open(os.environ["PARAMETERS"]))
    start_form("calibration", "one", lambda: parameters, "Reads 300 texts.", "Start")
else:
    run_state(run)
"""
# What does not name the moment at which the run was started.
TIMELESS = ("summary.json", "scores.parquet", "examined.json", "reading-plan.json")


def test_a_page_that_is_killed_leaves_a_run_that_goes_on_to_the_same_bytes(
    places: Callable[..., Place],
    database: Callable[[], str | None],
    undisturbed: tuple[Mapping[str, str], int],
    browser: Browser,
    tmp_path: Path,
) -> None:
    """A served page, a browser that presses its button, and SIGKILL while the page follows the run."""
    expected, n_batches = undisturbed
    place = places("of a page", database())
    (tmp_path / "parameters.json").write_text(json.dumps(to_plain(place.bring(documents(TEXTS)))))
    (tmp_path / "page.py").write_text(PAGE)
    port = free_port()
    served = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", str(tmp_path / "page.py"), "--server.port", str(port)],
        cwd=ROOT,
        env=place.environment()
        | {"PARAMETERS": str(tmp_path / "parameters.json"), "STREAMLIT_SERVER_HEADLESS": "true"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    tab = browser.new_context().new_page()
    try:
        place.wait_for(lambda: is_served(port), every=0.2)
        tab.goto(f"http://127.0.0.1:{port}")
        tab.get_by_role("button", name="Start").click(timeout=120_000)
        tab.get_by_text("This goes on when the page is closed").wait_for(timeout=120_000)
        (run,) = place.client.runs()
        place.worker()
        place.wait_for(lambda: len(place.batches_read()) >= 5, every=0.01)
        served.send_signal(signal.SIGKILL)
        served.wait(30)
        assert place.client.run(run.id).state is RunState.RUNNING
    finally:
        served.kill()
        served.wait(30)
        tab.context.close()
    assert place.finished(run.id).state is RunState.DONE, place.log()
    read = place.batches_read()
    assert len(read) == len(set(read)) == n_batches
    found = place.results(run.id)
    assert {name: found[name] for name in TIMELESS} == {name: expected[name] for name in TIMELESS}
