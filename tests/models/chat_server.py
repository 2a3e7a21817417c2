"""A chat model's server as judges are: real HTTP on this machine, and answers as a test wants them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

GOOD = "Score: 4\nReason: Both tell of a late ferry."


@dataclass
class ChatServer:
    """Answers what `reply` makes of the messages: a text, a whole message, or a status."""

    reply: Callable[[list[dict[str, str]]], Any] = lambda messages: GOOD
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""


@contextmanager
def chat_server() -> Iterator[ChatServer]:
    """One that is there until the block ends."""
    chat = ChatServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            chat.asked.append(body)
            chat.headers.append(dict(self.headers))
            said = chat.reply(body["messages"])
            status = said if isinstance(said, int) else 200
            message = said if isinstance(said, dict) else {"role": "assistant", "content": said}
            finished = message.pop("finish_reason", "stop") if isinstance(said, dict) else "stop"
            value = (
                {"error": {"message": "no"}}
                if status != 200
                else {"choices": [{"index": 0, "message": message, "finish_reason": finished}]}
            )
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None: ...

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    chat.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield chat
    finally:
        http.shutdown()
        http.server_close()
