"""The demo's truth, told by the shell: the planted model's verdict is `supported`, the bare model's is not."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from auditlib.audits.demo import PLANTED, SETS, UNLEARNED
from auditlib.cli import app
from auditlib.core import Label

ADAPTER_BYTES = 16_000_000


def calibrated(*options: str) -> dict[str, object]:
    sets = ["--members", str(SETS[Label.MEMBER]), "--non-members", str(SETS[Label.NON_MEMBER])]
    result = CliRunner().invoke(app, ["calibrate", *sets, "--json", *options])
    assert result.exit_code == 0, result.stderr
    found: dict[str, object] = json.loads(result.stdout)
    return found


@pytest.mark.bundled
def test_planted_model_is_supported() -> None:
    found = calibrated("--adapter", str(PLANTED))
    assert found["verdict"]["word"] == "supported"  # type: ignore[index]
    assert 0.80 <= found["methods"]["min_k"]["auc"]["estimate"] <= 0.97  # type: ignore[index]


@pytest.mark.bundled
def test_bare_model_is_not_supported() -> None:
    assert calibrated()["verdict"]["word"] != "supported"  # type: ignore[index]


def test_adapters_are_small_and_say_how_they_were_made() -> None:
    files = [file for folder in (PLANTED, UNLEARNED) for file in folder.iterdir()]
    assert sum(file.stat().st_size for file in files) < ADAPTER_BYTES
    for folder in (PLANTED, UNLEARNED):
        recipe = json.loads((folder / "recipe.json").read_text(encoding="utf-8"))
        assert recipe["made by"].startswith("python -m auditlib")
        assert recipe["settings"]["learning_rate"] > 0
