"""How a worker comes to be: `make run` beside the page, and what the command line says of runs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from auditlib.cli import app
from auditlib.jobs.place import read_address
from tests.jobs.conftest import ROOT, Place, documents, free_port, is_served

VENV = Path(sys.prefix)


@pytest.mark.skipif(shutil.which("make") is None or not (VENV / "bin" / "streamlit").exists(), reason="needs make")
def test_make_run_starts_page_and_worker_and_ctrl_c_ends_both(place: Place, own_home: Path) -> None:
    port = free_port()
    process = subprocess.Popen(
        ["make", "run", f"VENV={VENV}", "-o", f"{VENV}/installed", f"PORT={port}"],
        cwd=ROOT,
        env=place.environment() | {"AUDIT_HOME": str(own_home), "STREAMLIT_SERVER_HEADLESS": "true"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        place.wait_for(lambda: is_served(port) and read_address(own_home) is not None)
        address = read_address(own_home)
        assert address is not None
        os.killpg(process.pid, signal.SIGINT)  # what a terminal does
        said, _ = process.communicate(timeout=120)
        place.wait_for(lambda: not Path(f"/proc/{address.pid}").exists())
        assert not is_served(port)
        assert "The worker is ready" in said
        assert "Traceback" not in said
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def test_runs_are_listed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_HOME", str(place.home))
    runner = CliRunner()
    assert "No run" in runner.invoke(app, ["runs"]).output
    place.client.start("calibration", "[bold]North", place.bring(documents(4)), "A. Auditor")
    listed = runner.invoke(app, ["runs"], env={"COLUMNS": "160"}).output
    assert "[bold]North" in listed
    assert "queued" in listed
