"""Who may use the machine now: people's questions one after the other, and the running audit between two of them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOOK_SECONDS = 0.2


class Turns:
    """Questions in the order in which they came. An audit lets all of them go first, between two forward passes."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()

    @contextmanager
    def question(self, check: Callable[[], None]) -> Iterator[None]:
        """Waits until every earlier question is answered; `check` is called meanwhile and may end that by raising."""
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
        try:
            with self._changed:
                while self._waiting[0] is not ticket:
                    self._changed.wait(LOOK_SECONDS)
                    check()
            yield
        finally:
            with self._changed:
                self._waiting.remove(ticket)
                self._changed.notify_all()

    def give_way(self, check: Callable[[], None]) -> None:
        """Waits until no question is left; `check` is called at least once, and may end that by raising."""
        check()
        with self._changed:
            while self._waiting:
                self._changed.wait(LOOK_SECONDS)
                check()
