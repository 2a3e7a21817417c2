"""The workspace as pages use it: opened once, filled from uploads, and asked for the two sets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import streamlit as st

from auditlib.core import AuditError, Document, Label, settings
from auditlib.documents import Columns, TableColumns, Upload, guess_columns, read_files
from auditlib.store import Calibrations, SavedModels, Store, Workspace


@dataclass(frozen=True)
class UploadReport:
    """What became of a batch: documents added, names of files that were there already, and refusals."""

    n_documents: int
    were_there: tuple[str, ...]
    errors: tuple[AuditError, ...]


@st.cache_resource(show_spinner=False)
def _store(home: str, database_url: str | None) -> Store:
    return Store(Path(home), database_url)


def store() -> Store:
    """What lasts on this machine. Raises `AuditError` where its folder or its database cannot be used."""
    chosen = settings()
    return _store(str(chosen.home_folder), chosen.database_url)


def workspace() -> Workspace:
    """This person's files and documents. Raises `AuditError` likewise."""
    return Workspace(store())


def calibrations() -> Calibrations:
    """The calibrations that were saved here. Raises `AuditError` likewise."""
    return Calibrations(store())


def saved_model_names() -> SavedModels:
    """The models that were named here, to be called otherwise or forgotten. Raises `AuditError` likewise."""
    return SavedModels(store())


@st.cache_data(show_spinner="Looking for columns …", max_entries=50)
def table_columns(file_id: str, name: str, _data: bytes) -> TableColumns | AuditError | None:
    """A table's columns with a guess; None for what is no table, and the error where it cannot be opened."""
    try:
        return guess_columns(name, _data)
    except AuditError as error:
        return error


def add_uploads(
    files: Sequence[Any],
    columns: Mapping[str, Columns],
    without: Collection[str],
    label: Label,
    progress: Callable[[int, str], None],
) -> UploadReport:
    """Reads uploaded files one by one and stores each with its documents.

    `columns` holds what was picked for tables, by file id; `label` is given to texts that bring none.
    `progress` hears of the files done and the one at hand.
    """
    files_of = workspace()
    documents: dict[int, list[Document]] = {place: [] for place in range(len(files))}
    errors: list[AuditError] = []
    for result in read_files(
        (Upload(file.name, file.getvalue(), columns.get(file.file_id)) for file in files), without
    ):
        progress(result.upload, result.name)
        if result.error is not None:
            errors.append(result.error)
        documents[result.upload] += result.documents
    added, were_there = 0, []
    for place, file in enumerate(files):
        found = [d if d.label is not Label.UNKNOWN else replace(d, label=label) for d in documents[place]]
        if not found:
            continue
        outcome = files_of.add(found[0].source_name, file.getvalue(), found)
        if outcome.was_there:
            were_there.append(found[0].source_name)
        else:
            added += len(found)
    return UploadReport(added, tuple(were_there), tuple(errors))


@st.cache_data(show_spinner="Opening the texts …", max_entries=4)
def labelled_documents(home: str, marks: tuple[tuple[int, str, str, str], ...]) -> list[Document]:
    """The documents named by (key, document id, label, group): members and non-members with their texts."""
    files_of = workspace()
    return [files_of.open(key) for key, _, _, _ in marks]
