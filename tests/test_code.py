"""The code itself: style, types, and who may call whom."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    "command",
    [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"], ["lint-imports"]],
    ids=["ruff check", "ruff format", "mypy", "lint-imports"],
)
def test_checker_finds_nothing(command: list[str]) -> None:
    result = subprocess.run([BIN / command[0], *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_drawing_the_page_needs_no_torch() -> None:
    """Torch takes seconds to import; the page must be there before."""
    program = "import auditlib.ui.models, auditlib.ui.text_source, auditlib.cli, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0
