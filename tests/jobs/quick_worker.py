"""`python -m auditlib worker` in a process of its own that need not import everything first.

A worker takes seconds to import torch, DBOS and scikit-learn, and tests that kill workers start dozens. So one process,
which never does any work, imports them once and forks: what runs in the fork is the command itself, with an environment
and an output of its own, and it is killed like any process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from pathlib import Path

_PRELOADED = ["auditlib.cli", "auditlib.jobs.worker", "auditlib.models.opening", "auditlib.audits.calibration"]


class QuickWorker:
    """A worker that was started; as much of `subprocess.Popen` as the tests use."""

    def __init__(self, environment: dict[str, str], output: Path) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([*_PRELOADED, __name__])
        self._output = output
        self._process = context.Process(target=_work, args=(environment, str(output)), daemon=True)
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    @property
    def said(self) -> str:
        """What it has printed so far."""
        return self._output.read_text(encoding="utf-8") if self._output.exists() else ""

    def poll(self) -> int | None:
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    def terminate(self) -> None:
        self._process.terminate()

    def wait(self, seconds: float = 60) -> None:
        self._process.join(seconds)
        assert self._process.exitcode is not None, "the worker did not end"


def _work(environment: dict[str, str], output: str) -> None:
    target = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(target, number)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    import torch

    from auditlib.cli import app

    torch.set_num_threads(1)  # as OMP_NUM_THREADS=1 does for the command, and would here come too late
    sys.argv = ["auditlib", "worker"]
    app(["worker"])
