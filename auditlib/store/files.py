"""Bytes on disk under their hash: all there or not there at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from auditlib.store.failures import folder_unusable


def write_file(file: Path, data: bytes) -> None:
    """Writes `data` so that no reader and no power cut ever finds half of it. Raises `AuditError`."""
    temporary = None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=file.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, file)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise folder_unusable(file.parent, error) from error
