"""One worker a data folder: a lock that the operating system takes back however its holder ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from auditlib.jobs.place import worker_folder
from auditlib.store.failures import folder_unusable


class WorkerLock:
    """Held by the data folder's one worker."""

    def __init__(self, home: Path) -> None:
        """Raises `AuditError` where the folder cannot be used."""
        file = worker_folder(home) / "lock"
        try:
            self._handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise folder_unusable(file.parent, error) from error

    def take(self) -> bool:
        """Whether the lock is ours now."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, str(os.getpid()).encode(), 0)
        return True

    def holder(self) -> str:
        """Process number of whoever has it."""
        return os.pread(self._handle, 20, 0).decode("ascii", "replace") or "unknown"

    def give_back(self) -> None:
        """Lets the next one have it."""
        os.close(self._handle)
