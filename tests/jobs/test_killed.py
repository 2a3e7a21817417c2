"""The promise: whatever is killed, nothing scored is scored again, and the result is the same to the last byte."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable

from auditlib.jobs.plain import to_plain
from auditlib.store import RunState
from tests.jobs.conftest import ROOT, Place, documents

KILLS = 5
TEXTS = 300
SEED = 20261121


def test_a_worker_killed_five_times_gives_the_same_bytes(
    places: Callable[..., Place], database: Callable[[], str | None]
) -> None:
    undisturbed = places("undisturbed", database())
    undisturbed.worker()
    whole = undisturbed.client.start("calibration", "one", undisturbed.bring(documents(TEXTS)))
    assert undisturbed.finished(whole.id).state is RunState.DONE, undisturbed.log()
    expected, n_batches = undisturbed.results(whole.id), len(undisturbed.batches_read())
    assert n_batches == len(set(undisturbed.batches_read())) > 60
    undisturbed.end(undisturbed.started[0])
    undisturbed.store.close()

    disturbed = places("disturbed", database())
    run = disturbed.client.start("calibration", "one", disturbed.bring(documents(TEXTS)))
    rng = random.Random(SEED)
    moments = sorted(rng.sample(range(1, n_batches - 20), KILLS))
    for moment in moments:
        process = disturbed.worker()
        disturbed.wait_for(lambda moment=moment: len(set(disturbed.batches_read())) >= moment, every=0.002)
        time.sleep(rng.uniform(0, 0.03))
        disturbed.kill(process)
    disturbed.worker()
    assert disturbed.finished(run.id).state is RunState.DONE, disturbed.log()

    read = disturbed.batches_read()
    assert len(set(read)) == n_batches
    assert len(read) - n_batches <= KILLS
    assert disturbed.results(run.id) == expected


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


def test_a_page_that_is_killed_leaves_a_run_that_goes_on(place: Place) -> None:
    parameters = place.bring(documents(40))
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
    place.worker()
    place.wait_for_worker()
    with subprocess.Popen(
        [sys.executable, "-c", page],
        cwd=ROOT,
        env=place.environment(),
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
    assert place.finished(run_id).state is RunState.DONE
    assert place.results(run_id)
