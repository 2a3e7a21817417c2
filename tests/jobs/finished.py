"""Runs executed in this process, for tests of what finished runs are good for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from auditlib.core import Document
from auditlib.jobs.executing import execute_run
from auditlib.models.opening import load_model
from auditlib.store import Run
from tests.jobs.conftest import Place
from tests.jobs.test_executing import Here


def finished_run(place: Place, made: Sequence[Document], name: str = "North", **changes: Any) -> Run:
    """A calibration on `made` that is done; `changes` are of its parameters."""
    parameters = replace(place.bring(list(made)), **changes)
    run = place.client.start("calibration", name, parameters, "A. Auditor")
    here = Here(load_model(parameters.model, place.settings))
    ended = execute_run(place.store, place.settings, "default", run.id, here)
    assert ended == "done", place.client.run(run.id).problem
    return place.client.run(run.id)


def written(file: Path, data: bytes) -> Path:
    file.write_bytes(data)
    return file
