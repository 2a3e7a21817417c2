"""A forward pass that lets others go first between two of its layers.

A long window takes a processor many seconds, and a person with a short question should not wait for its end. What a
pass has computed so far lies in its own tensors, so another pass may run through the same weights in between.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn


class Interruption:
    """Hooks on a model's layers. `lock` is what its passes hold; it is given back while others go first."""

    def __init__(self, model: nn.Module, lock: threading.Lock) -> None:
        self._lock = lock
        self._thread = threading.local()
        for layer in _layers(model):
            layer.register_forward_pre_hook(self._between)

    @contextmanager
    def by(self, give_way: Callable[[], None]) -> Iterator[None]:
        """Within, passes of this thread call `give_way` between layers. It may end the pass by raising."""
        self._thread.give_way = give_way
        try:
            yield
        finally:
            self._thread.give_way = None

    def waited(self) -> float:
        """Seconds that passes of this thread have waited for others so far."""
        return float(getattr(self._thread, "waited", 0.0))

    def _between(self, *_: Any) -> None:
        give_way: Callable[[], None] | None = getattr(self._thread, "give_way", None)
        if give_way is None:
            return
        began = time.perf_counter()
        self._lock.release()
        try:
            give_way()
        finally:
            self._lock.acquire()
            self._thread.waited = self.waited() + time.perf_counter() - began


def _layers(model: nn.Module) -> list[nn.Module]:
    """The longest list of modules that a model has: its layers, in every architecture there is."""
    lists = [list(module) for module in model.modules() if isinstance(module, nn.ModuleList)]
    return max(lists, key=len, default=[])
