"""Forgetting the whole cache in the background: a million rows take a minute, and nobody should wait for it."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass

from auditlib.core import AuditError
from auditlib.store.token_cache import TokenCache

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ClearingState:
    """How far a clearing is, in texts.

    problem  why it ended early, in two sentences; what is left then can still be used
    """

    is_running: bool = False
    done: int = 0
    total: int = 0
    problem: AuditError | None = None


class Clearing:
    """At most one clearing at a time, in a thread that goes on when whoever asked for it has left.

    It ends with the process: what was not forgotten by then is kept, and can be cleared again.
    """

    def __init__(self, cache: TokenCache) -> None:
        self._cache = cache
        self._starting = threading.Lock()
        self.state = ClearingState()

    def start(self) -> bool:
        """Begins. False, and no change, where one is under way. Raises `AuditError` where the database fails."""
        with self._starting:
            if self.state.is_running:
                return False
            self.state = ClearingState(True, 0, self._cache.size().rows)
            threading.Thread(target=self._clear, name="clearing the cache", daemon=True).start()
            return True

    def _clear(self) -> None:
        try:
            self._cache.clear(self._hear)
            problem = None
        except AuditError as error:
            problem = error
        except Exception:
            logger.exception("the cache could not be cleared")
            problem = AuditError(
                "Clearing met an error that was not foreseen.", "What it was stands where the page was started."
            )
        done, total = self.state.done, self.state.total
        self.state = ClearingState(False, done if problem else total, total, problem)

    def _hear(self, done: int, total: int) -> None:
        self.state = ClearingState(True, done, total)
