"""What many tests share. Each test gets a data folder of its own, with the bundled models already in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

from auditlib.core import Settings, settings
from auditlib.models.local import LocalModel
from auditlib.models.opening import load_model
from auditlib.models.request import ModelRequest

# Small models are faster on one thread, and on a busy machine two threads wait for each other.
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def real_settings() -> Settings:
    """Of the machine's own data folder, where `make test` has put the bundled models."""
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
