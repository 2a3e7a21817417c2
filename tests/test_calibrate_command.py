"""`calibrate` in the shell: what cannot be done is said before the model reads anything."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from auditlib.cli import app, calibrate
from tests.tiny import byte_level_tokenizer, llama_config, save_folder

WORDS = ["ferry", "quay", "apple", "window", "minute", "letter", "harbour", "number", "garden", "late", "wrote", "cold"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("shell") / "tiny"
    return str(save_folder(folder, llama_config(context=256), byte_level_tokenizer()))


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Members: eight short pieces of one work, and eight long texts. Non-members: as many of works of their own."""
    folder = tmp_path_factory.mktemp("sets")
    for name, one_work in (("Anna", True), ("Bertram", False)):
        rows, deal = [], random.Random(name)
        for place, times in enumerate([2] * 8 + [20] * 8):
            text = " ".join([name, *deal.choices(WORDS, k=10 * times)])
            rows.append({"text": text, "group": "one work" if one_work and times == 2 else f"{name} {place}"})
        (folder / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return ["--members", str(folder / "Anna.jsonl"), "--non-members", str(folder / "Bertram.jsonl")]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--alpha", "0"], "Alpha is a share between 0 and 1"),
        (["--alpha", "1"], "Alpha is a share between 0 and 1"),
        (["--save", "kept.json", "--name", " "], "The calibration has no name"),
        (["--seed", "-1"], "'--seed'"),
        (["--seed", "5000000000"], "'--seed'"),
        (["--rule", "0"], "A threshold is chosen by"),
        (["--k", "0"], "k is a percentage"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_read(
    options: list[str], said: str, sets: list[str], model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("the model was opened")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(calibrate, "open_audited", refuse)
    result = CliRunner().invoke(app, ["calibrate", *sets, "--model", model, *options])
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_lengths_that_one_work_alone_has_keep_nothing_back(sets: list[str], model: str) -> None:
    result = CliRunner().invoke(app, ["calibrate", *sets, "--model", model])
    assert result.exit_code == 0, result.output
    output = " ".join(result.output.split())
    assert "Among texts of 201 words (8 members, 8 non-members) the AUC is" in output
    assert "Model: tiny" in output
