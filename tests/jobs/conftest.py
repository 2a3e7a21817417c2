"""Real workers in processes of their own, on real databases, with a small model and texts made for the test."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import httpx2
import psycopg
import pytest

from auditlib.core import Document, Label, Settings
from auditlib.jobs import CalibrationParameters, JobClient, chosen
from auditlib.models.request import ModelRequest
from auditlib.store import FINISHED, Artifacts, Run, Store, Workspace
from tests.jobs.quick_worker import QuickWorker
from tests.store.conftest import postgresql  # noqa: F401  the server of this session
from tests.tiny import llama_config, save_folder

ROOT = Path(__file__).parents[2]
VOCABULARY = """ferry quay apples twice smaller number minutes window opened Nobody Nothing The She was late
and counted""".split()  # noqa: SIM905  a list of 17 words is hard to read
NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


def documents(n: int, words: int = 30, seed: int = 0) -> list[Document]:
    """n labelled texts, half of them members, three to a group."""
    rng = random.Random(seed)
    made = []
    for number in range(n):
        text = " ".join(rng.choices(VOCABULARY, k=words + number % 7))
        label = (Label.MEMBER, Label.NON_MEMBER)[number % 2]
        title = f"{label.value} {number // 6}"
        made.append(
            Document(sha256(text.encode()).hexdigest(), title, text, "text/plain", "made.txt", label=label, group=title)
        )
    return made


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def is_served(port: int) -> bool:
    """Whether a page answers on this port."""
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/_stcore/health", timeout=2).status_code == 200
    except httpx2.HTTPError:
        return False


@dataclass
class Place:
    """A data folder with a model and documents in it, and the workers started on it."""

    home: Path
    model: ModelRequest
    database_url: str | None = None
    batch_tokens: int = 192
    started: list[QuickWorker] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.settings = Settings(home=self.home, database_url=self.database_url, batch_tokens=self.batch_tokens)
        self.store = Store(self.home, self.database_url)
        self.client = JobClient(self.store, self.settings, now=lambda: NOW)
        self._marked = 0

    def bring(self, made: list[Document]) -> CalibrationParameters:
        """Documents into the workspace, and the parameters of a calibration on all of them."""
        Workspace(self.store).add("made.txt", made[0].text.encode(), made)
        return CalibrationParameters(self.model, documents=chosen(made))

    def worker(self, **environment: str) -> QuickWorker:
        """A worker that has been started, and may not be ready yet."""
        self.home.mkdir(parents=True, exist_ok=True)
        output = self.home.parent / f"{self.home.name} worker {len(self.started)}"
        self.started.append(QuickWorker(self.environment() | environment, output))
        return self.started[-1]

    def environment(self) -> dict[str, str]:
        own = {"AUDIT_HOME": str(self.home), "AUDIT_BATCH_TOKENS": str(self.batch_tokens), "OMP_NUM_THREADS": "1"}
        database = {"AUDIT_DATABASE_URL": self.database_url} if self.database_url else {}
        return dict(os.environ) | own | database

    def kill(self, process: QuickWorker) -> None:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    def end(self, process: QuickWorker) -> str:
        """Asks a worker to end, and gives what it said."""
        process.terminate()
        process.wait()
        return process.said

    def wait_for(self, holds: Callable[[], object], seconds: float = 600, every: float = 0.05) -> None:
        until = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < until, "waited too long\n" + self.log()
            time.sleep(every)

    def wait_for_worker(self) -> None:
        self.wait_for(lambda: self.client.worker_state().is_there)

    def finished(self, run_id: str, seconds: float = 600) -> Run:
        self.wait_for(lambda: self.client.run(run_id).state in FINISHED, seconds)
        return self.client.run(run_id)

    def log(self) -> str:
        file = self.home / "worker" / "log"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def mark(self) -> None:
        """Forgets the batches of earlier tests on the same worker."""
        self._marked = len(self.log())

    def batches_read(self) -> list[int]:
        """The number of each batch that went through the model, as often as it did."""
        return [int(number) for number in re.findall(r"reading batch (\d+) of", self.log()[self._marked :])]

    def results(self, run_id: str) -> Mapping[str, str]:
        """SHA-256 of every file of a run, by name."""
        return {artifact.name: artifact.sha256 for artifact in Artifacts(self.store).of(run_id)}

    def close(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
        self.store.close()


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> ModelRequest:
    """A folder with a model of two layers, of which every number is known to be made up."""
    return ModelRequest(str(save_folder(tmp_path_factory.mktemp("tiny"), llama_config(context=256))))


@pytest.fixture
def places(tmp_path: Path, tiny_model: ModelRequest) -> Iterator[Callable[..., Place]]:
    """Makes places by name; their workers end with the test."""
    made: list[Place] = []

    def make(name: str = "home", database_url: str | None = None, batch_tokens: int = 192) -> Place:
        made.append(Place(tmp_path / name, tiny_model, database_url, batch_tokens))
        return made[-1]

    yield make
    for place in made:
        place.close()


@pytest.fixture
def place(places: Callable[..., Place]) -> Place:
    return places()


@pytest.fixture(scope="module")
def one_worker(tmp_path_factory: pytest.TempPathFactory, tiny_model: ModelRequest) -> Iterator[Place]:
    """A place with a worker for many tests, which leave it running: starting one takes seconds."""
    place = Place(tmp_path_factory.mktemp("one worker") / "home", tiny_model)
    place.worker()
    place.wait_for_worker()
    yield place
    place.close()


@pytest.fixture
def working(one_worker: Place) -> Place:
    one_worker.mark()
    return one_worker


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Callable[[], str | None]:
    """Empties the database of this kind, and gives its address; None for SQLite."""
    if request.param == "sqlite":
        return lambda: None
    server: str = request.getfixturevalue("postgresql")

    def emptied() -> str:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute("DROP SCHEMA IF EXISTS dbos CASCADE")
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
        return server

    return emptied
