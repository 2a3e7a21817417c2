"""An unlearning audit in this process, with small models whose past is known, and works made for the test."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from auditlib.audits.unlearning import Role, UnlearningResult, UnlearningSettings
from auditlib.core import Document, Settings
from auditlib.jobs import JobClient, brought_file
from auditlib.jobs.executing import execute_run
from auditlib.jobs.unlearning_files import load_unlearning
from auditlib.jobs.unlearning_texts import UnlearningParameters, roles_of
from auditlib.models.local import LocalModel
from auditlib.models.opening import load_model
from auditlib.models.request import ModelRequest
from auditlib.store import Run, Store
from tests.jobs.conftest import NOW
from tests.planted import WORDS

SETTINGS = UnlearningSettings(chunk_words=18, prompt_words=8, samples=3, new_tokens=16, answer_tokens=8, most_chunks=50)


def work(title: str, seed: int, words: int = 180) -> Document:
    rng = random.Random(seed)
    text = " ".join(rng.choice(WORDS) for _ in range(words)) + "."
    return Document(sha256(text.encode()).hexdigest(), title, text, "text/plain", f"{title}.txt", group=title)


WORKS = {
    Role.FORGET: [work("Forgotten", 1)],
    Role.KEEP: [work("Kept", 2)],
    Role.HELD_OUT: [work("Unseen", 3), work("Also unseen", 4)],
}


class Killed(BaseException):
    """As if the worker had been killed."""


@dataclass
class Here:
    """A worker's surroundings without a worker. `steps_left` counts down to a kill."""

    settings: Settings
    steps_left: int = 10**9
    models: dict[ModelRequest, LocalModel] = field(default_factory=dict)
    done: list[tuple[str, int]] = field(default_factory=list)

    def open_model(self, request: ModelRequest) -> LocalModel:
        if request not in self.models:
            self.models[request] = load_model(request, self.settings)
        return self.models[request]

    def step(self, name: str, work: Callable[[], int]) -> int:
        self.steps_left -= 1
        if self.steps_left < 0:
            raise Killed
        result = work()
        self.done.append((name, result))
        return result

    def give_way(self) -> None: ...

    def now(self) -> datetime:
        return NOW


@dataclass
class Audits:
    """A data folder of the test's own."""

    home: Path

    def __post_init__(self) -> None:
        self.settings = Settings(home=self.home, batch_tokens=192)
        self.store = Store(self.home)
        self.client = JobClient(self.store, self.settings, now=lambda: NOW)
        self.here = Here(self.settings)

    def start(
        self,
        original: ModelRequest,
        unlearned: ModelRequest,
        works: Mapping[Role, list[Document]] = WORKS,
        files: Mapping[str, bytes] | None = None,
        settings: UnlearningSettings = SETTINGS,
        **changes: Any,
    ) -> Run:
        everything = [document for own in works.values() for document in own]
        documents = tuple(one for role, own in works.items() for one in roles_of(own, role))
        parameters = replace(
            UnlearningParameters(original, unlearned, texts="brought", documents=documents, settings=settings),
            **{"embedding": "", **changes},
        )
        return self.client.start(
            "unlearning", "An audit", parameters, "A. Auditor", dict(brought_file(everything)) | dict(files or {})
        )

    def execute(self, run: Run, here: Here | None = None) -> str:
        return execute_run(self.store, self.settings, "default", run.id, here or self.here)

    def result(self, run: Run) -> UnlearningResult:
        return load_unlearning(self.store, run)

    def audited(self, *models: ModelRequest, **how: Any) -> UnlearningResult:
        run = self.start(*models, **how)
        assert self.execute(run) == "done", self.client.run(run.id).problem
        return self.result(run)
