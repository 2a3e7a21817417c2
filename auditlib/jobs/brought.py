"""Texts that a run brings with it, as a file of its own: those that were uploaded for it and lie nowhere else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from auditlib.core import AuditError, Document
from auditlib.jobs.plain import from_plain, to_plain
from auditlib.store import Artifacts, Run, Store

BROUGHT = "texts.json"
QUESTIONS = "questions.json"
BROUGHT_FILES = (BROUGHT, QUESTIONS)  # what a run is given and does not make


def brought_file(documents: Sequence[Document]) -> dict[str, bytes]:
    """The file that `JobClient.start` is given. Texts as they are scored: what cleaning took out is not kept."""
    kept = [replace(document, raw=None, edits=()) for document in documents]
    return {BROUGHT: json.dumps(to_plain(kept)).encode()}


def brought_documents(store: Store, run: Run) -> list[Document]:
    """The texts again. Raises `AuditError` where the file is gone, altered or not to be understood."""
    data = Artifacts(store).read(run.id, BROUGHT)
    try:
        return list(from_plain(tuple[Document, ...], json.loads(data)))
    except ValueError as error:
        raise AuditError("The texts of this run cannot be read.", "Start a run with the files again.") from error
