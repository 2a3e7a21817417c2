"""A question to the data folder's worker, and its answer line by line."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from auditlib.core import AuditError
from auditlib.jobs.place import ABSENT, HOW_TO_START, read_address
from auditlib.jobs.wire import LARGEST_QUESTION_BYTES, error_from_wire

Ask = Callable[[dict[str, Any]], Iterator[dict[str, Any]]]
CUT_OFF = "The worker ended before it had answered."
ASK_AGAIN = "Ask again. If it does not come back, start one with “python -m auditlib worker”."
SILENCE_SECONDS = 30.0  # a worker that works gives a sign of life every second


def ask(home: Path, question: dict[str, Any], silence_seconds: float = SILENCE_SECONDS) -> Iterator[dict[str, Any]]:
    """The answer's lines: signs of life, progress, and `answer` last.

    Raises `AuditError` where no worker is there, where it ends or falls silent, and where it says that it cannot.
    """
    address = read_address(home)
    if address is None:
        raise AuditError(ABSENT, HOW_TO_START)
    body = json.dumps(question).encode()
    if len(body) > LARGEST_QUESTION_BYTES:
        raise AuditError("These texts are too long for one question.", "Ask about fewer of them, or start a run.")
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=silence_seconds)
    is_there = False
    try:
        connection.request("POST", "/ask", body, {"Authorization": f"Bearer {address.token}"})
        response = connection.getresponse()
        is_there = response.status == 200
        if response.status == 403:  # somebody else has the port of a worker that was killed
            raise AuditError(ABSENT, HOW_TO_START)
        for line in response:
            value = json.loads(line)
            if "error" in value:
                raise error_from_wire(value)
            yield value
            if "answer" in value:
                return
        raise AuditError(CUT_OFF, ASK_AGAIN)
    except TimeoutError as error:
        raise AuditError("The worker does not answer.", "It may be stopped; end it and start it again.") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        if is_there:
            raise AuditError(CUT_OFF, ASK_AGAIN) from error
        raise AuditError(ABSENT, HOW_TO_START) from error
    finally:
        connection.close()
