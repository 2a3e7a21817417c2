"""What page and command line have of the worker and its runs. Imports neither torch nor DBOS: it starts at once.

A run is a row in the store: whoever starts one writes the row, and the worker finds it. So runs can be started,
cancelled and looked at whether or not a worker is there, and a page that is killed leaves nothing half done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from auditlib.core import AuditError, Settings
from auditlib.jobs.asking import ask
from auditlib.jobs.brought import BROUGHT_FILES
from auditlib.jobs.executing import kept_notes
from auditlib.jobs.kinds import kind_of
from auditlib.jobs.model_facts import (
    KeyState,
    LoadedModel,
    ModelFilesLook,
    ServerExamination,
    examination_from_wire,
    loaded_from_wire,
    look_from_wire,
)
from auditlib.jobs.plain import to_plain
from auditlib.jobs.remote_model import RemoteModel
from auditlib.jobs.spending import spending_notes
from auditlib.jobs.wire import request_to_wire
from auditlib.models.request import ModelRequest
from auditlib.store import Artifacts, Run, RunLine, Runs, RunState, Store, run_lines
from auditlib.store.workspace import DEFAULT_NAME

STATE_SECONDS = 3.0  # a worker that is there answers this in milliseconds


@dataclass(frozen=True)
class WorkerState:
    """Whether a worker is there, and what it holds.

    said     a sentence for people: what is wrong and what to do where none is there
    process  its number on its machine
    run_id   of the run at work; None where it has nothing to do
    """

    is_there: bool
    said: str
    version: str = ""
    process: int | None = None
    run_id: str | None = None
    models: tuple[LoadedModel, ...] = ()


class JobClient:
    """The runs of one workspace, and the worker's models. Methods raise `AuditError` for what a person can mend."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        workspace: str = DEFAULT_NAME,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store
        self._settings = settings
        self._workspace = workspace
        self._runs = Runs(store, workspace)
        self._now = now

    def start(
        self, kind: str, name: str, parameters: object, who: str = "", files: Mapping[str, bytes] | None = None
    ) -> Run:
        """A new run, queued. `parameters` are the kind's own dataclass, or the plain values that a run keeps.

        `files` are texts that the run brings with it, as its kind packs them; they go when the run is deleted.
        """
        plain: dict[str, Any] = to_plain(parameters)
        known = kind_of(kind)
        known.check(plain)
        return self._runs.add(kind, name.strip() or known.label, plain, _seed(plain), who, self._now(), files)

    def duplicate(self, run_id: str, changes: Mapping[str, Any], name: str, who: str = "") -> Run:
        """A new run like an old one but for `changes` of its parameters."""
        old, artifacts = self._runs.open(run_id), Artifacts(self._store)
        brought = [file.name for file in artifacts.of(run_id) if file.name in BROUGHT_FILES]
        files = {file: artifacts.read(run_id, file) for file in brought}
        return self.start(old.kind, name, old.parameters | to_plain(dict(changes)), who, files)

    def cancel(self, run_id: str) -> bool:
        """Ends a run; the worker stops at its next batch. False where it has ended already."""
        return self._runs.end(run_id, RunState.CANCELLED, self._now())

    def resume(self, run_id: str) -> bool:
        """Lets a run go on that failed or was cancelled; nothing it has read is read again. False in other states."""
        return self._runs.queue_again(run_id)

    def delete(self, run_id: str) -> bool:
        """Forgets a run that has ended, and its files. False while it has not."""
        return self._runs.delete(run_id)

    def rename(self, run_id: str, name: str) -> None:
        """Calls a run `name`."""
        self._runs.rename(run_id, name)

    def runs(self) -> list[Run]:
        """All runs, newest first."""
        return self._runs.all()

    def lines(self) -> list[RunLine]:
        """All runs as a list shows them, newest first; takes no longer for large runs than for small ones."""
        return run_lines(self._store, self._workspace)

    def run(self, run_id: str) -> Run:
        """One run as it is now."""
        return self._runs.open(run_id)

    def inputs(self, run_id: str) -> dict[str, str]:
        """What a run examined: a hash by name; nothing before its texts were opened."""
        return self._runs.inputs(run_id)

    def notes(self, run_id: str) -> list[str]:
        """What a run told on its way, such as that a damaged row was read again, and what it has sent to servers."""
        return kept_notes(Artifacts(self._store), run_id) + spending_notes(self._store, run_id)

    def worker_state(self) -> WorkerState:
        """Whether a worker is there, and its models. Takes milliseconds; at most some seconds where it hangs."""
        try:
            value = self._answer({"what": "state"}, STATE_SECONDS)
        except AuditError as error:
            return WorkerState(False, str(error))
        try:
            return WorkerState(
                True,
                "The worker is running.",
                str(value["version"]),
                value.get("process"),
                value["run"],
                tuple(loaded_from_wire(one) for one in value["models"]),
            )
        except (AttributeError, KeyError, TypeError, ValueError):
            return WorkerState(False, "The worker is of another version than this page. End it and start it again.")

    def model(self, request: ModelRequest) -> RemoteModel:
        """A model in the worker, loaded first if need be."""
        facts = self._answer({"what": "model", "request": request_to_wire(request)})
        return RemoteModel(self._ask, request, facts)

    def unload(self, request: ModelRequest) -> bool:
        """Frees a model's memory. False where it was not loaded."""
        return bool(self._answer({"what": "unload", "request": request_to_wire(request)}))

    def devices(self) -> dict[str, list[str]]:
        """The worker's devices, the best first, each with its data types, the one to take by default first."""
        found: dict[str, list[str]] = self._answer({"what": "devices"})
        return found

    def look(self, request: ModelRequest) -> ModelFilesLook:
        """What can be said of a model before it is loaded; its files are brought here first where they are not yet."""
        return look_from_wire(self._answer({"what": "look", "request": request_to_wire(request)}))

    def examine(self, request: ModelRequest, local: ModelRequest | None = None) -> ServerExamination:
        """Connects the worker to a server anew, with every check. `local` is a copy of its model to compare with."""
        copy = None if local is None else request_to_wire(local)
        return examination_from_wire(
            self._answer({"what": "examine", "request": request_to_wire(request), "local": copy})
        )

    def key_state(self, base_url: str, variable: str) -> KeyState:
        """Whether the worker sends a key to this address."""
        return KeyState(**self._answer({"what": "key", "base_url": base_url, "variable": variable}))

    def remember_key(self, base_url: str, key: str) -> None:
        """Has the worker hold a key for this address in its memory until it ends. It is kept nowhere."""
        self._answer({"what": "remember_key", "base_url": base_url, "key": key})

    def forget_key(self, base_url: str) -> None:
        """Has the worker drop the key that was typed for this address."""
        self._answer({"what": "forget_key", "base_url": base_url})

    def _ask(self, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
        return ask(self._settings.home_folder, question)

    def _answer(self, question: dict[str, Any], silence_seconds: float | None = None) -> Any:
        home = self._settings.home_folder
        lines = ask(home, question) if silence_seconds is None else ask(home, question, silence_seconds)
        return [line["answer"] for line in lines if "answer" in line][-1]


def _seed(plain: Mapping[str, Any]) -> int:
    """The seed of the statistics, wherever a kind keeps it."""
    settings = plain.get("settings")
    return int(plain.get("seed", settings.get("seed", 0) if isinstance(settings, Mapping) else 0))
