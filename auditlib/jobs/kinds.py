"""What a run may be, and what it is given to do its work with. A new kind is one decorated function in one file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from auditlib.core import AuditError, Settings
from auditlib.jobs.cached_reading import CachedModel
from auditlib.models.request import ModelRequest
from auditlib.reports.package import Evidence
from auditlib.store import Run, Store


class RunContext(Protocol):
    """What a run's kind is given."""

    run: Run
    store: Store
    settings: Settings

    def open_model(self, request: ModelRequest, part: str = "") -> CachedModel:
        """The loaded model; what it reads is kept, and nothing is read that was kept before.

        A run that reads with several models, or several sets of texts, names each of them but one by its `part`.
        """
        ...

    def stage(self, name: str) -> None:
        """What the run does from now on. Raises where the run was cancelled, or the worker is to end."""
        ...

    def progress(self, done: int, total: int) -> None:
        """How far the stage is."""
        ...

    def step(self, name: str, work: Callable[[], int]) -> int:
        """Does `work` once for good: where that was done before, gives its result."""
        ...

    def breathe(self) -> None:
        """Called often: others may go first. Raises where the run was cancelled, or the worker is to end."""
        ...

    def scored(self, tokens: int) -> None:
        """So many tokens have just passed through a model."""
        ...

    def record(self, identities: Mapping[str, Any], inputs: Mapping[str, str]) -> None:
        """Keeps what the run is made with: model identities by their part, hashes of what is examined by name."""
        ...

    def put(self, name: str, media_type: str, data: bytes) -> None:
        """Keeps a file of the run."""
        ...


EvidenceOf = Callable[[Store, Run, bool], Evidence]
"""Report and package of a finished run out of the files that it kept; with the texts themselves where True."""


@dataclass(frozen=True)
class RunKind:
    """One kind of run.

    check     raises `AuditError` for parameters that make no sense, before they are queued
    execute   does the work and gives the name of the file that holds the result. It may be called again from the
              start after an interruption, and must then end the same
    evidence  None where this kind has no report
    """

    name: str
    label: str
    check: Callable[[Mapping[str, Any]], object]
    execute: Callable[[RunContext], str]
    evidence: EvidenceOf | None = None


KINDS: dict[str, RunKind] = {}


def run_kind(
    name: str, label: str, check: Callable[[Mapping[str, Any]], object], evidence: EvidenceOf | None = None
) -> Callable[[Callable[[RunContext], str]], Callable[[RunContext], str]]:
    """Registers the decorated function in `KINDS` under `name`."""

    def register(execute: Callable[[RunContext], str]) -> Callable[[RunContext], str]:
        KINDS[name] = RunKind(name, label, check, execute, evidence)
        return execute

    return register


def kind_of(name: str) -> RunKind:
    """The kind of that name. Raises `AuditError` where this version knows none."""
    if name not in KINDS:
        raise AuditError(
            f"This version does not know runs of the kind {name[:40]!r}.", "Update the program, or delete the run."
        )
    return KINDS[name]
