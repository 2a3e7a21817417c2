"""The shell does what the page does, and says in one sentence what it cannot do."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from auditlib.cli import app
from auditlib.scoring import SCORES
from tests.tiny import byte_level_tokenizer, llama_config, save_folder

TEXT = "The ferry was late, and nobody on the quay was surprised. She counted the apples twice."


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_folder(tmp_path_factory.mktemp("cli") / "tiny", llama_config(context=64), byte_level_tokenizer()))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def run(*arguments: object, text: str | None = None) -> tuple[int, str, str]:
    result = CliRunner(env={"COLUMNS": "400"}).invoke(app, [str(a) for a in arguments], input=text)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, " ".join(result.stderr.split())


def test_json_holds_every_score_with_the_model_and_versions_it_came_from(file: Path, model: str) -> None:
    code, out, _ = run("score", file, "--model", model, "--json", "--k", 10)
    (result,) = json.loads(out)
    assert code == 0
    assert set(result["scores"]) == set(SCORES)
    had = {name for name, value in result["scores"].items() if value is not None}
    assert had == {"loss", "zlib", "lowercase", "min_k", "min_k_plus_plus", "surp"}
    assert result["k"] == 10
    assert result["perplexity"] == pytest.approx(math.exp(-result["scores"]["loss"]))
    assert len(result["model"]["weights_sha256"]) == 64
    assert result["versions"]["pretraining-audit"]


def test_table_names_each_text(file: Path, model: str) -> None:
    other = file.with_name("[bold]other.md")
    other.write_text(TEXT * 2)
    code, out, _ = run("score", file, other, "--model", model)
    assert code == 0
    assert "(bold)other.md" in out  # as it may be shown anywhere
    assert "text.txt" in out
    assert "Min-K%++" in out


def test_same_inputs_give_the_same_numbers(file: Path, model: str) -> None:
    assert run("score", file, "--model", model, "--json")[1] == run("score", file, "--model", model, "--json")[1]


def test_tokens_are_written_one_row_each_and_agree_with_the_scores(file: Path, model: str, tmp_path: Path) -> None:
    target = tmp_path / "tokens.parquet"
    code, out, err = run("score", file, "--model", model, "--json", "--tokens", target)
    table = pd.read_parquet(target)
    (result,) = json.loads(out)
    assert code == 0
    assert len(table) == result["n_tokens"]
    assert f"Wrote {len(table):,} tokens" in err
    assert table["logprob"].mean() == pytest.approx(result["scores"]["loss"], abs=1e-6)
    assert table.loc[table["in_bottom_k"], "logprob"].mean() == pytest.approx(result["scores"]["min_k"], abs=1e-6)
    assert (table["text_sha256"] == result["text_sha256"]).all()


def test_standard_input_is_read(model: str) -> None:
    code, out, _ = run("score", "-", "--model", model, "--json", text=TEXT)
    assert code == 0
    assert json.loads(out)[0]["file"] == "standard input.txt"


def test_bad_files_are_named_and_the_others_scored(file: Path, model: str, tmp_path: Path) -> None:
    bad = {"empty.txt": b"", "binary.txt": bytes(range(256)) * 9, "one.txt": b"a", "book.exe": b"MZ"}
    for name, data in bad.items():
        (tmp_path / name).write_bytes(data)
    paths = [tmp_path / name for name in bad]
    code, out, err = run("score", *paths, tmp_path / "absent.txt", file, "--model", model, "--json")
    assert code == 1
    assert len(json.loads(out)) == 1
    assert err.count("Not scored:") == 5
    for name in (*bad, "absent.txt"):
        assert name in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--k", "0"], "k is a percentage"),
        (["--model", "/no/such/folder"], "There is no model folder"),
        (["--device", "quantum"], "does not offer the device"),
        (["--sha256", "0" * 64], "not what was expected"),
        (["--tokens", "/no/such/place/tokens.parquet"], "There is no folder to write"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(options: list[str], said: str, file: Path, model: str) -> None:
    given = options if "--model" in options else [*options, "--model", model]
    code, _, err = run("score", file, *given)
    assert code == 2
    assert said in err
    assert "Traceback" not in err


def test_bundled_model_that_was_never_fetched_is_said_with_the_way_to_it(file: Path, empty_home: Path) -> None:
    assert not empty_home.exists()
    code, _, err = run("score", file, "--sha256", "1" * 64)  # a request that no other test has loaded
    assert code == 2
    assert "make run" in err


@pytest.mark.bundled
def test_fetch_is_done_already_and_says_nothing() -> None:
    assert run("fetch") == (0, "", "")
