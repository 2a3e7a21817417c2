"""Reading files: a batch goes one by one to a worker process, and each comes back as documents or an error.

Whatever a file does to its reader - crash it, hang it, eat its memory - costs that file and no other.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from auditlib.core import AuditError, Document, Edit, Label
from auditlib.documents.limits import FILE_BYTES, seconds_for
from auditlib.documents.names import display_name
from auditlib.documents.process import LostError, ReaderProcess
from auditlib.documents.readers.table import TableColumns
from auditlib.documents.reading import Columns
from auditlib.documents.refusals import too_large

_MOST_LOSSES = 5  # workers that one archive may cost; each may cost 30 seconds


@dataclass(frozen=True)
class Upload:
    """One file to read: its name, its bytes or where it lies, and for a table the columns picked."""

    name: str
    data: bytes | Path
    columns: Columns | None = None


@dataclass(frozen=True)
class FileResult:
    """What became of one file: its documents, or why there are none. `name` is safe to show.

    `upload` is the place of the upload that it was in: files of one archive share it.
    A file is read wholly or not at all: where a table breaks off, the rows before are not given either.
    """

    name: str
    documents: tuple[Document, ...] = ()
    error: AuditError | None = None
    upload: int = 0


def read_files(uploads: Iterable[Upload], without: Collection[str] = ()) -> Iterator[FileResult]:
    """One result a file, in order, as each is finished; an archive gives one for each file in it.

    `without` names the cleaning steps that are switched off. Never raises for what is in a file.
    """
    with ReaderProcess() as worker:
        for place, upload in enumerate(uploads):
            for result in _read(worker, upload, without):
                yield replace(result, upload=place)


def read_file(
    name: str, data: bytes | Path, columns: Columns | None = None, without: Collection[str] = ()
) -> list[Document]:
    """The documents of one file. Raises its `AuditError`, or the first one of an archive that has any."""
    results = list(read_files([Upload(name, data, columns)], without))
    for result in results:
        if result.error is not None:
            raise result.error
    return [document for result in results for document in result.documents]


def guess_columns(name: str, data: bytes | Path) -> TableColumns | None:
    """A table's columns and which look like text, label and group; None for a file that is no table.

    Raises `AuditError`.
    """
    shown = display_name(name)
    size = _checked_size(Upload(name, data), shown)
    with ReaderProcess() as worker:
        try:
            worker.ask(shown, data, {"wants": "columns", "columns": None, "without": [], "skip": 0}, size)
            answer = worker.answer()
        except LostError:
            raise worker.obituary(shown) from None
    if answer["error"] is not None:
        raise AuditError(*answer["error"])
    found = answer["columns"]
    return None if found is None else TableColumns(tuple(found["names"]), Columns(**found["guess"]))


def _read(worker: ReaderProcess, upload: Upload, without: Collection[str]) -> Iterator[FileResult]:
    shown = display_name(upload.name)
    try:
        size = _checked_size(upload, shown)
    except AuditError as error:
        yield FileResult(shown, error=error)
        return
    finished = losses = 0
    while True:  # a worker lost in an archive is replaced, and the next goes on with the next entry
        request = {
            "wants": "documents",
            "columns": None if upload.columns is None else asdict(upload.columns),
            "without": sorted(without),
            "skip": finished,
        }
        current = shown
        documents: list[Document] = []
        begun = False
        try:
            worker.ask(shown, upload.data, request, size)
            while "done" not in (answer := worker.answer()):
                if "begin" in answer:
                    current, documents, begun = display_name(str(answer["begin"])), [], True
                    worker.allow(seconds_for(min(int(answer["bytes"]), FILE_BYTES)))
                elif "document" in answer:
                    documents.append(_document(answer["document"]))
                else:
                    refusal = AuditError(*answer["end"]) if answer["end"] else None
                    finished, begun = finished + 1, False
                    worker.stop_clock()
                    yield FileResult(current, () if refusal else tuple(documents), refusal)
                    worker.allow(seconds_for(size))
            return
        except LostError:
            yield FileResult(current, error=worker.obituary(current))
            finished, losses = finished + 1, losses + 1
            if not begun:
                return
            if losses == _MOST_LOSSES:
                wrong = f"The rest of “{shown}” was not read: {losses} of its files made their reader fail."
                yield FileResult(shown, error=AuditError(wrong, "Unpack it and bring only the files you need."))
                return


def _checked_size(upload: Upload, shown: str) -> int:
    """The file's size in bytes. Raises `AuditError` where it is too large or no ordinary file."""
    if isinstance(upload.data, Path):
        if not upload.data.is_file():
            raise AuditError(f"“{shown}” is no file that can be opened.", "Check the path.")
        if not os.access(upload.data, os.R_OK):
            raise AuditError(f"“{shown}” may not be read by you.", "Ask for permission to read it.")
        size = upload.data.stat().st_size
    else:
        size = len(upload.data)
    if size > FILE_BYTES:
        raise too_large(shown, size, FILE_BYTES)
    return size


def _document(fields: dict[str, Any]) -> Document:
    edits = tuple(Edit(**edit) for edit in fields.pop("edits"))
    return Document(
        **fields
        | {
            "edits": edits,
            "label": Label(fields["label"]),
            "warnings": tuple(fields["warnings"]),
            "steps": tuple(fields["steps"]),
        }
    )
