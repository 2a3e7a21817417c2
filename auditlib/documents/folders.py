"""A folder of files, for the command line."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from auditlib.core import AuditError
from auditlib.documents.batch import FileResult, Upload, read_files
from auditlib.documents.limits import ARCHIVE_ENTRIES
from auditlib.documents.names import display_name


def read_folder(folder: Path, without: Collection[str] = ()) -> Iterator[FileResult]:
    """One result for each file in a folder and the folders in it, in the order of their names.

    Hidden files are passed over. Links are not followed: they come back as an error, as do devices and pipes.
    Raises `AuditError` where the folder cannot be read or holds too many files.
    """
    if not folder.is_dir():
        raise AuditError(f"“{display_name(str(folder))}” is not a folder.", "Check the path.")
    uploads: list[Upload] = []
    for path in _files(folder):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            wrong = f"“{display_name(name)}” was not read: it is a link to another file, not a file."
            yield FileResult(display_name(name), error=AuditError(wrong, "Put the file itself into the folder."))
        else:
            uploads.append(Upload(name, path))
        if len(uploads) > ARCHIVE_ENTRIES:
            raise AuditError(
                f"“{display_name(str(folder))}” holds more than {ARCHIVE_ENTRIES:,} files.",
                "Bring them in several folders.",
            )
    yield from read_files(uploads, without)


def _files(folder: Path) -> Iterator[Path]:
    for at, folders, files in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        linked = [name for name in folders if (Path(at) / name).is_symlink()]
        for name in sorted([*files, *linked]):
            if not name.startswith("."):
                yield Path(at) / name
