"""Where a data folder's worker says how it is reached: an address on this machine, and a secret only we can read."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from auditlib.store.failures import folder_unusable
from auditlib.store.files import write_file

ABSENT = "No worker is running, so no model can be asked and no run goes on."
HOW_TO_START = "Start one with “python -m auditlib worker”; “make run” does that by itself."


@dataclass(frozen=True)
class WorkerAddress:
    """A worker that listens on 127.0.0.1. Whoever has no `token` is not answered."""

    port: int
    token: str
    pid: int


def worker_folder(home: Path) -> Path:
    """The worker's own folder, which nobody else may enter. Raises `AuditError`."""
    folder = home / "worker"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise folder_unusable(folder, error) from error
    return folder


def write_address(home: Path, address: WorkerAddress) -> None:
    """Says where the worker is. Raises `AuditError`."""
    write_file(_file(home), json.dumps(asdict(address)).encode())  # made readable for its owner only


def forget_address(home: Path, address: WorkerAddress) -> None:
    """Takes the address back, unless another worker has come since."""
    if read_address(home) == address:
        _file(home).unlink(missing_ok=True)


def read_address(home: Path) -> WorkerAddress | None:
    """Where the worker was last; None where it says nothing, or nothing that can be read."""
    try:
        value = json.loads(_file(home).read_bytes())
        return WorkerAddress(int(value["port"]), str(value["token"]), int(value["pid"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def executor_id(home: Path) -> str:
    """The name under which this folder's workers, one after the other, take up what the last one left."""
    file = worker_folder(home) / "executor-id"
    try:
        return file.read_text(encoding="ascii").strip()
    except OSError:
        write_file(file, os.urandom(8).hex().encode())
        return file.read_text(encoding="ascii").strip()


def _file(home: Path) -> Path:
    return home / "worker" / "address.json"
