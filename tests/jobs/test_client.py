"""What page and command line have of the worker, where the worker is a strange one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from auditlib.core import Settings
from auditlib.jobs import JobClient
from auditlib.jobs.wire import request_to_wire
from auditlib.models.request import ModelRequest
from auditlib.store import Store
from tests.tiny import identity_of

MODEL = {
    "request": request_to_wire(ModelRequest()),
    "identity": identity_of("tiny").as_dict(),
    "device": "cpu",
    "memory_bytes": 1,
    "context_length": 2,
    "tokens_per_second": None,
    "capabilities": ["token ranks"],
    "takes_prefixes": True,
    "vocabulary_size": 400,
}
STATE = {"version": "0.1.0", "process": 7, "run": None, "models": [MODEL]}


def state_said(home: Path, answer: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(JobClient, "_answer", lambda *_: answer)
    return JobClient(Store(home), Settings(home=home)).worker_state()


def test_state_says_version_process_and_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = state_said(tmp_path, STATE, monkeypatch)
    assert (state.is_there, state.version, state.process, state.run_id) == (True, "0.1.0", 7, None)
    assert state.models[0].identity.name == "tiny"
    assert state_said(tmp_path, {k: v for k, v in STATE.items() if k != "process"}, monkeypatch).process is None


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {"version": "9"},
        STATE | {"models": [{}]},
        STATE | {"models": [MODEL | {"request": {"fields": "of tomorrow"}}]},
        STATE | {"models": [MODEL | {"identity": {"name": "x"}}]},
    ],
)
def test_worker_of_another_version_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    state = state_said(tmp_path, answer, monkeypatch)
    assert not state.is_there
    assert "another version" in state.said
    assert state.models == ()
