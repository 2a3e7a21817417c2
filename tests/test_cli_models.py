"""`python -m auditlib models`: named models from a shell."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from auditlib.cli import app
from auditlib.models.endpoint import connecting
from auditlib.models.endpoint.patience import Patience
from tests.models.endpoint_server import CONTEXT, KEY, NAME, served, tiny_model
from tests.tiny import llama_config, save_folder


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["models", *arguments])
    return result.exit_code, " ".join((result.output + result.stderr).split())


@pytest.fixture(autouse=True)
def _quick(empty_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "WHILE_CONNECTING", Patience(tries=2, first_wait=0.01, longest_wait=0.01))


def test_models_are_added_listed_and_removed() -> None:
    assert run() == (0, "No model has a name yet.")
    assert run("add", "Mine", "--model", "/models/mine")[0] == 0
    code, output = run("add", "Mine", "--model", "/models/other")
    assert code == 2
    assert "a model called 'Mine' already" in output
    assert (
        run("add", "Far", "--model", "m", "--url", "https://far.example/v1", "--price", "2", "--most-cost", "1")[0] == 0
    )
    listed = run("list")[1]
    assert listed.index("/models/mine") < listed.index("https://far.example/v1")
    assert run("remove", "Mine") == (0, "Removed Mine.")
    assert run("remove", "Mine")[0] == 2
    assert "/models/mine" not in run()[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--url", "https://user:hunter2@far.example/v1"], "user name or a password"),
        (["--url", "https://far.example/v1", "--key-variable", "hunter2"], "must begin with AUDIT_"),
        (["--url", "https://far.example/v1", "--most-cost", "1"], "no price"),
    ],
)
def test_what_makes_no_sense_is_refused_and_no_secret_repeated(options: list[str], said: str) -> None:
    code, output = run("add", "Far", "--model", "m", *options)
    assert code == 2
    assert said in output
    assert "hunter2" not in output
    assert run()[1] == "No model has a name yet."


def test_check_prints_every_check_and_a_copy_agrees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save_folder(tmp_path / "tiny", llama_config(context=CONTEXT))
    with served(tiny_model(), key=KEY) as server:
        run("add", "far", "--model", NAME, "--url", server.url)
        run("add", "here", "--model", str(folder))
        code, output = run("check", "far")
        assert code == 1
        assert "wants a key and was sent none" in output
        monkeypatch.setenv("AUDIT_ENDPOINT_KEY", KEY)
        monkeypatch.setenv("AUDIT_ENDPOINT_KEY_HOSTS", server.url)
        code, output = run("check", "far", "--copy", "here")
        assert code == 0, output
        assert "Mean difference 0.0000" in output
        assert KEY not in output
        assert run("check", "here")[0] == 2
