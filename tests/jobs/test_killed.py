"""The promise: whatever is killed, nothing scored is scored again, and the result is the same to the last byte."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping

import pytest

from auditlib.jobs.plain import to_plain
from auditlib.models.request import ModelRequest
from auditlib.store import RunState
from tests.jobs.conftest import ROOT, Place, documents

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


def test_a_page_that_is_killed_leaves_a_run_that_goes_on(working: Place) -> None:
    parameters = working.bring(documents(40, seed=4))
    page = (
        "import json, sys\n"
        "from auditlib.core import settings\n"
        "from auditlib.jobs import JobClient\n"
        "from auditlib.store import Store\n"
        "client = JobClient(Store(settings().home_folder, settings().database_url), settings())\n"
        "run = client.start('calibration', 'of a page', json.loads(sys.stdin.readline()))\n"
        "print(run.id, flush=True)\n"
        "while True: client.run(run.id), client.worker_state()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", page],
        cwd=ROOT,
        env=working.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(to_plain(parameters)) + "\n")
        process.stdin.flush()
        run_id = process.stdout.readline().strip()
        process.kill()
    assert working.finished(run_id).state is RunState.DONE
    assert working.results(run_id)
