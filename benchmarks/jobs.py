"""What the background costs: a second run against the first, and a question while an audit runs against one while none
does. `python -m benchmarks.jobs` starts a worker of its own on a data folder of its own, with the bundled model.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path

from auditlib.core import Document, Label, Settings, settings
from auditlib.jobs import CalibrationParameters, JobClient, chosen
from auditlib.models.request import ModelRequest
from auditlib.store import FINISHED, Run, RunState, Store, Workspace
from benchmarks.scoring import SEED, made_up_text

QUESTION_WORDS = 60
ASKED_IDLE = 10
ASKED_BUSY = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=100)
    parser.add_argument("--words", type=int, default=100, help="in each text")
    options = parser.parse_args()
    models = settings().home_folder / "models"
    with tempfile.TemporaryDirectory(prefix="audit-bench-") as folder:
        home = Path(folder) / "home"
        home.mkdir()
        (home / "models").symlink_to(models.resolve(), target_is_directory=True)
        worker = subprocess.Popen(
            [sys.executable, "-m", "auditlib", "worker"], env=os.environ | {"AUDIT_HOME": str(home)}
        )
        try:
            measure(home, options.texts, options.words)
        finally:
            worker.terminate()
            worker.wait()


def measure(home: Path, n_texts: int, n_words: int) -> None:
    store = Store(home)
    client = JobClient(store, Settings(home=home))
    rng = random.Random(SEED)
    documents = []
    for number in range(n_texts):
        text = made_up_text(n_words, rng)
        label = (Label.MEMBER, Label.NON_MEMBER)[number % 2]
        documents.append(
            Document(sha256(text.encode()).hexdigest(), f"text {number}", text, "text/plain", "made.txt", label=label)
        )
    Workspace(store).add("made.txt", b"made", documents)
    parameters = CalibrationParameters(ModelRequest(), documents=chosen(documents))
    while not client.worker_state().is_there:
        time.sleep(0.1)
    model = client.model(ModelRequest())
    question = made_up_text(QUESTION_WORDS, rng)

    def asked() -> float:
        began = time.perf_counter()
        list(model.token_stats([question], top=5))
        return time.perf_counter() - began

    asked()
    idle = [asked() for _ in range(ASKED_IDLE)]
    first = client.start("calibration", "first", parameters)
    while (progress := client.run(first.id).progress) is None or progress.done == 0:
        time.sleep(0.05)
    busy: list[float] = []
    while len(busy) < ASKED_BUSY and client.run(first.id).state is RunState.RUNNING:
        busy.append(asked())
        time.sleep(rng.uniform(0.2, 1.0))
    one = finished(client, first)
    two = finished(client, client.duplicate(first.id, {"k": 30.0}, "second"))
    print(f"{n_texts} texts of {n_words} words, each read twice, {model.identity.name} on {model.device}")
    print(f"first run {one.seconds:.1f} s, second run {two.seconds:.2f} s: {two.seconds / one.seconds:.1%} of it")  # type: ignore[operator]
    print(f"a question of {QUESTION_WORDS} words, no audit: {said(idle)}")
    print(f"the same while an audit runs:   {said(busy)}")


def finished(client: JobClient, run: Run) -> Run:
    while client.run(run.id).state not in FINISHED:
        time.sleep(0.05)
    ended = client.run(run.id)
    assert ended.state is RunState.DONE, ended.problem
    return ended


def said(seconds: list[float]) -> str:
    return f"median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s ({len(seconds)} asked)"


if __name__ == "__main__":
    main()
