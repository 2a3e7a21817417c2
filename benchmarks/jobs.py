"""What the background costs: a second run against the first, and a question while an audit runs against one while none
does. `python -m benchmarks.jobs` starts a worker of its own on a data folder of its own, with the bundled model and the
demonstration's 80 passages.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from auditlib import __version__
from auditlib.audits.demo import demo_passages
from auditlib.core import Settings, settings
from auditlib.documents.cutting import Cutting
from auditlib.jobs import CalibrationParameters, JobClient, report_files
from auditlib.models.request import ModelRequest
from auditlib.store import FINISHED, Run, RunState, Store
from benchmarks.scoring import SEED, made_up_text

QUESTION_WORDS = 60
ASKED_IDLE = 10
ASKED_BUSY = 20
SECOND_RUNS = 3
MOST_SHARE = 0.05  # of the first run's time, that a second one may take
MOST_WAIT_SECONDS = 2.0  # over the plain scoring time, that a question may wait for an audit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="write the table to this file as well")
    options = parser.parse_args()
    models = settings().home_folder / "models"
    with tempfile.TemporaryDirectory(prefix="audit-bench-") as folder:
        home = Path(folder) / "home"
        home.mkdir()
        (home / "models").symlink_to(models.resolve(), target_is_directory=True)
        command = [sys.executable, "-m", "auditlib", "worker", "--beside", str(os.getpid())]
        worker = subprocess.Popen(command, env=os.environ | {"AUDIT_HOME": str(home)})
        try:
            table = "\n".join(measure(home))
        finally:
            worker.terminate()
            worker.wait()
    print(table)
    if options.write is not None:
        options.write.write_text(table + "\n", encoding="utf-8")


def measure(home: Path) -> list[str]:
    """The lines of the table."""
    store = Store(home)
    client = JobClient(store, Settings(home=home))
    while not client.worker_state().is_there:
        time.sleep(0.1)
    model = client.model(ModelRequest())
    rng = random.Random(SEED)

    def asked() -> float:
        question = made_up_text(QUESTION_WORDS, rng)
        return seconds(lambda: list(model.token_stats([question], top=5)))

    asked()
    idle = [asked() for _ in range(ASKED_IDLE)]
    parameters = CalibrationParameters(ModelRequest(), texts="demo")
    first, first_run = timed(client, lambda: client.start("calibration", "first", parameters))
    again = [timed(client, lambda: client.duplicate(first_run.id, {}, "the same again"))[0] for _ in range(SECOND_RUNS)]
    other_k, _ = timed(client, lambda: client.duplicate(first_run.id, {"k": 30.0}, "with another k"))
    report = seconds(lambda: report_files(store, first_run, with_pdf=False))
    # Once more from nothing, by another cut, so that there is something to read while questions are asked.
    busy = asked_while_it_reads(client, asked, rng)
    wait = statistics.median(busy) - statistics.median(idle)
    longest = max(busy) - statistics.median(idle)
    return [
        f"# Runs in the background: version {__version__}, {platform.machine()}, {os.cpu_count()} cores, "
        f"{model.identity.name} on {model.device}, load {os.getloadavg()[0]:.1f}",
        "",
        f"{len(demo_passages())} passages, each read as it stands and in lower case, from the click to the result seen "
        "by the client; the model was loaded before the first run.",
        "",
        "| what | seconds | promised | kept |",
        "|---|---|---|---|",
        f"| first run | {first:.1f} | | |",
        f"| the same texts and model again, median of {SECOND_RUNS} | {statistics.median(again):.2f} "
        f"({statistics.median(again) / first:.1%} of the first) | under {MOST_SHARE:.0%} | "
        f"{'yes' if statistics.median(again) < MOST_SHARE * first else 'NO'} |",
        f"| again with another k | {other_k:.2f} ({other_k / first:.1%}) | | |",
        f"| HTML and package of a finished run, when asked for | {report:.2f} | | |",
        f"| a question of {QUESTION_WORDS} words, no audit: {said(idle)} | | | |",
        f"| the same while an audit reads: {said(busy)} | +{wait:.2f}, at most +{longest:.2f} | "
        f"under +{MOST_WAIT_SECONDS:.0f} | {'yes' if longest < MOST_WAIT_SECONDS else 'NO'} |",
    ]


def asked_while_it_reads(client: JobClient, asked: Callable[[], float], rng: random.Random) -> list[float]:
    """Seconds of questions at random moments of a run's reading."""
    cut = CalibrationParameters(ModelRequest(), texts="demo", cutting=Cutting("truncate", words=60))
    run = client.start("calibration", "beside questions", cut)
    while (progress := client.run(run.id).progress) is None or progress.done == 0:
        time.sleep(0.05)
    busy: list[float] = []
    while len(busy) < ASKED_BUSY and _reads(client.run(run.id)):
        busy.append(asked())
        time.sleep(rng.uniform(0.1, 0.6))
    ended(client, run)
    return busy


def timed(client: JobClient, start: Callable[[], Run]) -> tuple[float, Run]:
    """Seconds from the click until the client sees the end, and the run as it ended."""
    began = time.perf_counter()
    run = ended(client, start())
    return time.perf_counter() - began, run


def ended(client: JobClient, run: Run) -> Run:
    while (now := client.run(run.id)).state not in FINISHED:
        time.sleep(0.05)
    assert now.state is RunState.DONE, now.problem
    return now


def _reads(run: Run) -> bool:
    return run.state is RunState.RUNNING and run.progress is not None and run.progress.stage == "reading"


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def said(values: list[float]) -> str:
    return f"median {statistics.median(values):.2f} s, longest {max(values):.2f} s ({len(values)} asked)"


if __name__ == "__main__":
    main()
