"""Saved models in a shell, first of all those behind servers: named, asked once, and told where texts go."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from auditlib.cli import app
from auditlib.models.endpoint import connecting, model
from auditlib.models.endpoint.patience import Patience
from tests.models.endpoint_server import CONTEXT, NAME, TinyServer, served, tiny_model
from tests.planted import made_up
from tests.tiny import llama_config, save_folder

N = 12  # texts of each set


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner(env={"COLUMNS": "400"}).invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, " ".join(result.stderr.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, and both sets as files."""
    made = tmp_path_factory.mktemp("served")
    save_folder(made / "tiny-model", llama_config(context=CONTEXT))
    for name, start in (("members", 0), ("others", 100)):
        rows = [json.dumps({"text": made_up(start + i).title()}) + "\n" for i in range(N)]
        (made / f"{name}.jsonl").write_text("".join(rows), encoding="utf-8")
    return made


@pytest.fixture
def server(empty_home: Path, folder: Path) -> Iterator[TinyServer]:
    """A server whose model is saved as `far`, in a data folder of the test's own."""
    with served(tiny_model()) as one:
        added = run("models", "add", "far", "--model", NAME, "--url", one.url, "--tokenizer", folder / "tiny-model")
        assert added[0] == 0, added
        yield one


def sets(folder: Path) -> list[object]:
    return ["--members", folder / "members.jsonl", "--non-members", folder / "others.jsonl"]


def calibrated(folder: Path, *options: object) -> tuple[dict[str, Any], str]:
    code, out, err = run("calibrate", *sets(folder), *options, "--json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found, err


def test_a_served_model_gives_the_numbers_of_its_folder_and_is_asked_once(server: TinyServer, folder: Path) -> None:
    found, said = calibrated(folder, "--model", "far")
    assert f"Texts are sent to {server.url}. About" in said
    assert "leave this machine" not in said
    local, said = calibrated(folder, "--model", folder / "tiny-model", "--dtype", "float32")
    assert "sent to" not in said
    for score in ("loss", "min_k", "zlib", "lowercase"):
        assert found["methods"][score]["auc"] == pytest.approx(local["methods"][score]["auc"], abs=1e-3)

    asked = server.behaviour.n_completions
    again, said = calibrated(folder, "--model", "far", "--k", 40)
    assert server.behaviour.n_completions == asked
    assert f"{4 * N} of {4 * N} texts had been read by this model before" in said  # also in lower case
    assert again["methods"]["loss"] == found["methods"]["loss"]


def test_a_budget_that_ends_is_said_before_and_when_it_does(server: TinyServer, folder: Path) -> None:
    tokenizer = ["--tokenizer", folder / "tiny-model"]
    price = ["--price", 2, "--most-tokens", 400]
    assert run("models", "add", "dear", "--model", NAME, "--url", server.url, *tokenizer, *price)[0] == 0
    code, out, err = run("calibrate", *sets(folder), "--model", "dear")
    assert (code, out) == (2, "")
    assert "a cost of about 0.00 at the price given" in err
    assert "The budget does not hold all of it" in err
    assert "The budget of this server ends here" in err


def test_texts_are_scored_and_placed_by_a_served_model(server: TinyServer, folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "one.txt"
    text.write_text(made_up(3), encoding="utf-8")
    (scored,) = json.loads(run("score", text, "--model", "far", "--json")[1])
    (local,) = json.loads(run("score", text, "--model", folder / "tiny-model", "--dtype", "float32", "--json")[1])
    assert scored["scores"]["min_k"] == pytest.approx(local["scores"]["min_k"], abs=1e-4)

    kept = tmp_path / "far.json"
    calibrated(folder, "--model", "far", "--save", kept)
    code, out, err = run("place", kept, text, "--model", "far", "--json")
    assert code == 0, err
    assert "Texts are sent to" in err
    assert len(json.loads(out)["texts"]) == 1
    code, _, err = run("place", kept, text)
    assert code == 2
    assert "was behind the server" in err
    assert "models add" in err


def test_a_package_of_a_served_model_is_repeated_by_its_saved_name(
    server: TinyServer, folder: Path, tmp_path: Path
) -> None:
    package = tmp_path / "evidence.zip"
    calibrated(folder, "--model", "far", "--package", package, "--with-texts")
    code, _, err = run("rerun", package)
    assert code == 2
    assert "was behind the server" in err
    asked = server.behaviour.n_completions
    code, out, err = run("rerun", package, "--model", "far")
    assert code == 0, out + err
    assert f"Texts are sent to {server.url}. About" in err
    assert "not sent again" not in err
    assert server.behaviour.n_completions >= asked + 2 * N  # made anew, without the cache


def test_saved_models_stand_in_for_companions_and_say_everything_themselves(server: TinyServer, folder: Path) -> None:
    found, said = calibrated(folder, "--model", folder / "tiny-model", "--reference", "far", "--score", "reference")
    assert set(found["methods"]["reference"]) == set(found["methods"]["loss"])
    assert f"The reference model is {NAME} ({server.url})." in found["notes"]
    assert f"Texts are sent to {server.url}. What was read" in said
    for option in (["--dtype", "float32"], ["--adapter", "somewhere"], ["--revision", "main"]):
        code, _, err = run("calibrate", *sets(folder), "--model", "far", *option)
        assert code == 2
        assert "is the name of a saved model" in err


def test_a_folder_of_that_name_goes_first(
    server: TinyServer, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "far").symlink_to(folder / "tiny-model", target_is_directory=True)
    before = server.behaviour.n_asked
    calibrated(folder, "--model", "far")
    assert server.behaviour.n_asked == before


@pytest.mark.parametrize("name", ["far\0", "x" * 5000, "no such name"])
def test_a_name_that_is_none_is_refused_in_one_sentence(server: TinyServer, folder: Path, name: str) -> None:
    code, out, err = run("calibrate", *sets(folder), "--model", name)
    assert (code, out) == (2, "")
    assert "Stopped:" in err
    assert len(err) < 1000


def test_a_server_that_dies_ends_the_command_with_what_to_do(
    server: TinyServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "Patience", lambda: Patience(tries=3, first_wait=0.01, longest_wait=0.01))
    monkeypatch.setattr(model, "BATCH_TOKENS_A_REQUEST", 32)
    assert run("score", folder / "members.jsonl", "--model", "far")[0] == 0  # connects, and reads without the cache
    server.behaviour.always, server.behaviour.after = "500", server.behaviour.n_completions + 2 * N
    code, _, err = run("calibrate", *sets(folder), "--model", "far")
    assert code == 2
    assert "Stopped:" in err
    assert "start the run again and it goes on where it stopped" in err
    server.behaviour.always = None
    said = re.search(rf"(\d+) of {4 * N} texts had been read", calibrated(folder, "--model", "far")[1])
    assert said is not None
    assert 0 < int(said[1]) <= 2 * N
