"""What many tests share. Each test gets a data folder of its own, with the bundled models already in it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, sync_playwright
from playwright.sync_api import Error as PlaywrightError

os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

from auditlib.core import Settings, settings
from auditlib.jobs import JobClient
from auditlib.models.local import LocalModel
from auditlib.models.opening import load_model
from auditlib.models.request import ModelRequest
from auditlib.store import Store
from tests.get_browser import installed_browser

# Small models are faster on one thread, and on a busy machine two threads wait for each other. Where tests run side by
# side, as many processes as there are cores are busy without that, and so are the workers that they start.
torch.set_num_threads(1)
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ["OMP_NUM_THREADS"] = "1"

WORKER_SECONDS = 120.0
ROOT = Path(__file__).parents[1]
DEMOS = {  # what the first of these files has read, the second finds in the cache of the session's data folder
    "browser/test_calibrate.py": "the demo's calibration",
    "test_demo.py": "the demo's calibration",
    "browser/test_books.py": "the demo's books",
    "test_demo_books.py": "the demo's books",
    "browser/test_unlearning.py": "the demo's unlearning",
    "test_demo_unlearning.py": "the demo's unlearning",
}
LONG = ("scoring/test_companions.py", "test_code.py", "browser/test_inspect.py", "browser/test_runs.py")
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In several processes a file's tests stay together, as they share fixtures; what takes minutes begins first."""
    first = [*dict.fromkeys(DEMOS.values()), *LONG]
    places = dict.fromkeys(items, len(first))
    for item in items:
        file = item.path.relative_to(ROOT / "tests").as_posix()
        group = DEMOS.get(file, file)
        item.add_marker(pytest.mark.xdist_group(group))
        if group in first:
            places[item] = first.index(group)
    items.sort(key=places.__getitem__)


@pytest.fixture(scope="session", autouse=True)
def session_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No test sees what this machine's people have saved: a data folder with the bundled models and nothing else."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        link_models(home)
        patch.setenv("AUDIT_HOME", str(home))
        yield home


@pytest.fixture(scope="session")
def worker(session_home: Path) -> Iterator[Path]:
    """The data folder of this session with a worker on it, that every test may ask and none may end."""
    process = start_worker(session_home)
    yield session_home
    process.kill()
    process.wait(30)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, started once for all tests: two of these in one process disturb each other."""
    with sync_playwright() as playwright:
        try:
            chromium = playwright.chromium.launch(executable_path=installed_browser(), args=CHROMIUM_ARGUMENTS)
        except PlaywrightError as error:
            if os.environ.get("CI") == "true":
                raise
            pytest.skip(f"no Chromium could be started: {error.message.splitlines()[0]}")
        yield chromium
        chromium.close()


@pytest.fixture
def worker_on() -> Iterator[Callable[[Path], None]]:
    """Starts a worker on a data folder of the test's own; it ends with the test."""
    started: list[subprocess.Popen[bytes]] = []
    yield lambda home: started.append(start_worker(home))
    for process in started:
        process.kill()
        process.wait(30)


def start_worker(home: Path) -> subprocess.Popen[bytes]:
    """A worker on the data folder `home`, ready to answer."""
    process = subprocess.Popen(
        [sys.executable, "-m", "auditlib", "worker"],
        cwd=ROOT,
        env={**os.environ, "AUDIT_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    client = JobClient(Store(home), Settings(home=home))
    until = time.monotonic() + WORKER_SECONDS
    while not client.worker_state().is_there:
        assert process.poll() is None, "the worker ended"
        assert time.monotonic() < until, "the worker did not come up"
        time.sleep(0.1)
    return process


def link_models(home: Path) -> Path:
    """Puts the bundled models, as `make test` has made them ready, into the data folder `home`."""
    models = settings().home_folder / "models"
    home.mkdir(parents=True, exist_ok=True)
    (home / "models").symlink_to(models.resolve(), target_is_directory=True)
    return home


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of this test's own, with the bundled models."""
    home = link_models(tmp_path / "own home")
    monkeypatch.setenv("AUDIT_HOME", str(home))
    return home


@pytest.fixture(scope="session")
def real_settings() -> Settings:
    """Of a data folder with the bundled models in it."""
    return settings()


@pytest.fixture(scope="session")
def bundled_model(real_settings: Settings) -> LocalModel:
    """The bundled model, loaded once for the whole session."""
    return load_model(ModelRequest(), real_settings)


@pytest.fixture
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with nothing in it, as on a machine that never reached a package index."""
    home = tmp_path / "home"
    monkeypatch.setenv("AUDIT_HOME", str(home))
    return home
