"""`worker`: holds the models and does what pages ask for."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from auditlib.cli.common import app, said, stop
from auditlib.core import AuditError, settings

LOOK_SECONDS = 1.0


@app.command()
def worker(
    beside: Annotated[int | None, typer.Option(help="end when the process of this number has ended")] = None,
) -> None:
    """Run audits in the background, one after the other, and answer the pages' questions. Ctrl-C ends it cleanly."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: ended.set())
    if beside is not None:
        threading.Thread(target=_watch, args=(beside, ended), daemon=True).start()
    try:
        from auditlib.jobs.worker import work  # brings DBOS: --help should not wait for it

        work(settings(), ended, lambda sentence: said.print(escape(sentence), soft_wrap=True))
    except AuditError as error:
        stop(error)
    # A batch that is still at work is done again at the next start; waiting for it could take minutes.
    said.file.flush()
    os._exit(0)


def _watch(pid: int, ended: threading.Event) -> None:
    while not ended.wait(LOOK_SECONDS):
        if not _is_there(pid):
            ended.set()


def _is_there(pid: int) -> bool:
    """Whether a process runs. One that has ended, and whose parent has not asked for it yet, does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # somebody else's
    try:
        said = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True  # no Linux
    return said.rpartition(")")[2].split()[0] not in ("Z", "X")
