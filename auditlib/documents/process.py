"""The worker process as its starter sees it: fed with files, timed, and replaced when it is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import auditlib
from auditlib.core import AuditError
from auditlib.documents.limits import seconds_for
from auditlib.documents.worker import Message, receive, send

_START_SECONDS = 120.0
# A worker gets no more of the environment than it takes to start: keys and passwords stay here.
_ENVIRONMENT = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "LANG")


class LostError(Exception):
    """The worker died, or was killed because its time was up."""


class ReaderProcess:
    """One worker process at a time: started when first asked, replaced when lost."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._timer: threading.Timer | None = None
        self._seconds = 0.0
        self._was_late = False

    def __enter__(self) -> ReaderProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop()

    def ask(self, name: str, data: bytes | Path, request: Message, size: int) -> None:
        """Sends one file. Raises `LostError`."""
        if self._process is None:
            self._start()
        self.allow(seconds_for(size))
        path = str(data.absolute()) if isinstance(data, Path) else None
        head = {"name": name, "path": path, "bytes": size if path is None else 0}
        try:
            send(self._input, head | request)
            if isinstance(data, bytes):
                self._input.write(data)
                self._input.flush()
        except OSError:
            self._stop()
            raise LostError from None

    def answer(self) -> Message:
        """The next answer. Raises `LostError`."""
        message = receive(self._output)
        if message is None:
            self._stop()
            raise LostError
        if "done" in message or "columns" in message:
            self.stop_clock()
        return message

    def allow(self, seconds: float) -> None:
        """The worker is killed unless it is heard of again within so many seconds."""
        self.stop_clock()
        self._seconds, self._was_late = seconds, False
        self._timer = threading.Timer(seconds, self._kill_late, args=[self._process])
        self._timer.daemon = True
        self._timer.start()

    def obituary(self, name: str) -> AuditError:
        """Why the worker was lost, in the words of an error about the file it was reading."""
        if self._was_late:
            return AuditError(
                f"“{name}” took longer than {self._seconds:,.0f} seconds to read and was given up.",
                "Save it again in the program it came from, or split it.",
            )
        return AuditError(
            f"“{name}” made its reader fail; it is damaged, needs too much memory, or was made to do harm.",
            "Save it again in the program it came from, or bring it in another format.",
        )

    def _start(self) -> None:
        root = Path(auditlib.__file__).parents[1]
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        # One thread each: threads of numerical libraries take address space, and there is nothing to compute.
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "auditlib.documents.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=root,
            env=environment,
        )
        self.allow(_START_SECONDS)
        if receive(self._output) is None:
            self._stop()
            raise RuntimeError("the process that reads files does not start")

    def _kill_late(self, process: subprocess.Popen[bytes]) -> None:
        self._was_late = True
        process.kill()

    def stop_clock(self) -> None:
        """No limit holds until `allow` sets one: whoever takes the results may take their time."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop(self) -> None:
        self.stop_clock()
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    @property
    def _input(self) -> BinaryIO:
        if self._process is None or self._process.stdin is None:
            raise LostError
        return self._process.stdin  # type: ignore[return-value]

    @property
    def _output(self) -> BinaryIO:
        if self._process is None or self._process.stdout is None:
            raise LostError
        return self._process.stdout  # type: ignore[return-value]
