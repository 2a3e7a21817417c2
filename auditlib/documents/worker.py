"""The process in which strangers' files are parsed: `python -m auditlib.documents.worker`.

It reads requests from its standard input and answers on its standard output, with a bound on its memory; the
process that started it (batch.py) bounds its time. What kills it, kills nothing else. Messages are JSON and
nothing but: a parser that was taken over can answer lies, but cannot make the other side run code.

A message is its length (8 bytes, big-endian) and JSON. A request's file follows it as raw bytes, or is named
by a path. The answers to a request:

    {"begin": name, "bytes": n}      before each file, an archive's entries included
    {"document": {...}}              each text of that file
    {"end": null | [wrong, remedy]}  after each file
    {"columns": ...}                 instead of these, where the request asked for a table's columns
    {"done": true}
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from auditlib.core import AuditError
from auditlib.documents.cleaning import document_from
from auditlib.documents.limits import WORKER_BYTES
from auditlib.documents.opening import Part, columns_of, parts_of, readings_of
from auditlib.documents.reading import Columns, Source

Message = dict[str, Any]
_ORPHAN_SECONDS = 5


def send(stream: BinaryIO, message: Message) -> None:
    """Writes one message."""
    body = json.dumps(message).encode("ascii")
    stream.write(len(body).to_bytes(8, "big") + body)
    stream.flush()


def receive(stream: BinaryIO) -> Message | None:
    """Reads one message; None where the other side is gone."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    length = int.from_bytes(head, "big")
    body = stream.read(length)
    if len(body) < length:
        return None
    message = json.loads(body)
    return message if isinstance(message, dict) else None


def answers(request: Message, data: bytes) -> Iterator[Message]:
    """The answers to one request; its first `skip` files are passed over.

    `data` is what came with the request, and is not looked at where the request names a path.
    """
    if request["path"] is not None:
        try:
            data = Path(request["path"]).read_bytes()
        except OSError:
            wrong = f"“{request['name']}” could not be opened."
            yield from _refusal(request, [wrong, "Check that it is still there and that you may read it."])
            return
    picked = request["columns"]
    source = Source(data, request["name"], Columns(**picked) if picked else None)
    if request["wants"] == "columns":
        try:
            columns = columns_of(source)
        except Exception as error:
            yield from _refusal(request, _sentences(error, source.name))
        else:
            yield {"columns": None if columns is None else asdict(columns), "error": None}
        return
    parts = parts_of(source)
    for place in range(sys.maxsize):
        try:
            part = next(parts, None)
        except Exception as error:
            yield from _refusal(request, _sentences(error, source.name))
            return
        if part is None:
            return
        if place >= request["skip"]:
            yield {"begin": part.name, "bytes": part.n_bytes}
            yield from _file_answers(part, request["without"])


def _file_answers(part: Part, without: list[str]) -> Iterator[Message]:
    try:
        for reading in readings_of(part.load()):
            yield {"document": asdict(document_from(reading, part.name, without))}
    except Exception as error:
        yield {"end": _sentences(error, part.name)}
    else:
        yield {"end": None}


def _refusal(request: Message, sentences: list[str]) -> Iterator[Message]:
    """The answer to a request whose file is refused before any of it is read."""
    if request["wants"] == "columns":
        yield {"columns": None, "error": sentences}
    else:
        yield {"begin": request["name"], "bytes": 0}
        yield {"end": sentences}


def _sentences(error: Exception, name: str) -> list[str]:
    """What to tell the person, whatever went wrong."""
    if isinstance(error, AuditError):
        return [error.wrong, error.remedy]
    if isinstance(error, MemoryError):
        return [f"“{name}” needs more memory to open than is allowed.", "Split it into smaller files."]
    # Readers turn what they know of into an AuditError; this is for what nobody has thought of.
    return [
        f"“{name}” could not be read: something in it was not expected ({type(error).__name__}).",
        "Save it again in the program it came from, or bring it in another format.",
    ]


def _end_with(starter: int) -> None:
    """The starter kills a reader that is late; should the starter have died, nobody would."""
    while os.getppid() == starter:
        time.sleep(_ORPHAN_SECONDS)
    os._exit(1)


def _bound_memory() -> None:
    if sys.platform == "linux":  # macOS does not keep such a bound, Windows has none
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (WORKER_BYTES, WORKER_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Answers requests until there are no more."""
    # A native library that prints must not garble the answers.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _bound_memory()
    threading.Thread(target=_end_with, args=[os.getppid()], daemon=True).start()
    send(output, {"ready": True})
    while (request := receive(sys.stdin.buffer)) is not None:
        data = sys.stdin.buffer.read(request["bytes"])
        for answer in answers(request, data):
            send(output, answer)
        send(output, {"done": True})


if __name__ == "__main__":
    main()
