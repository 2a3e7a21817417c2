"""The worker's ear: HTTP on 127.0.0.1, for whoever can read the token in the data folder.

Not through the durable queue: a question and its text would be written into a database, and be found there only at the
next look; here nothing of it is kept and the answer begins at once. Not a Unix socket, whose path may have 107 letters.

An answer is a stream of lines of JSON: signs of life and progress while it is worked on, then the answer or an error.
"""

from __future__ import annotations

import hmac
import json
import logging
import queue
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from auditlib.core import AuditError
from auditlib.jobs.wire import LARGEST_QUESTION_BYTES, error_to_wire

logger = logging.getLogger(__name__)

ALIVE_SECONDS = 1.0
Answer = Callable[[Mapping[str, Any], Callable[[dict[str, Any]], None]], Any]


class Gone(BaseException):
    """Whoever asked is there no more. No error, so nothing may catch it as one."""


class Listener:
    """Listens from `start` to `stop`, each question in a thread of its own."""

    def __init__(self, answer: Answer, token: str) -> None:
        self._server = _Server(answer, token)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="listener", daemon=True)

    @property
    def port(self) -> int:
        """Chosen by the system."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Begins to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Takes no more questions; those at work are cut off when the process ends."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, answer: Answer, token: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.token = token

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that went away is nothing to report."""
        logger.debug("a question was cut off", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 60  # seconds for the question to arrive

    def do_POST(self) -> None:
        """One question."""
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), self.server.token.encode()):
            self.send_error(403)
            return
        try:
            length = int(self.headers.get("Content-Length", ""))
            if not 0 <= length <= LARGEST_QUESTION_BYTES:
                raise ValueError(length)
            asked = json.loads(self.rfile.read(length))
        except (ValueError, RecursionError):
            self.send_error(400)
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.end_headers()
        self._stream(asked)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the library's name
        """Questions are nobody's business, the log's neither."""

    def _stream(self, asked: Any) -> None:
        lines: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        gone = threading.Event()

        def say(line: dict[str, Any]) -> None:
            if gone.is_set():
                raise Gone
            lines.put(line)

        threading.Thread(target=self._work, args=(asked, say, lines), daemon=True).start()
        while True:
            try:
                line = lines.get(timeout=ALIVE_SECONDS)
            except queue.Empty:
                line = {"alive": True}
            if line is None:
                return
            try:
                self.wfile.write(json.dumps(line).encode() + b"\n")
                self.wfile.flush()
            except OSError:
                gone.set()
                return

    def _work(
        self, asked: Any, say: Callable[[dict[str, Any]], None], lines: queue.SimpleQueue[dict[str, Any] | None]
    ) -> None:
        try:
            lines.put({"answer": self.server.answer(asked, say)})
        except Gone:
            pass
        except AuditError as error:
            lines.put(error_to_wire(error))
        except Exception:
            logger.exception("a question met an error that was not foreseen")
            wrong = "The worker met an error that was not foreseen."
            lines.put(error_to_wire(AuditError(wrong, "What it was stands in the worker's log.")))
        finally:
            lines.put(None)
