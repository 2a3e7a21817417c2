"""`worker`: holds the models and does what pages ask for."""

from __future__ import annotations

import os
import signal
import threading
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
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            ended.set()
        except PermissionError:
            pass  # it is there, and somebody else's
