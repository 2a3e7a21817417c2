"""`runs report` and `runs export`: a finished run as files on this machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from auditlib.cli.common import said, stop
from auditlib.cli.runs import RunId, named, opened, runs_app
from auditlib.core import AuditError
from auditlib.jobs import report_files
from auditlib.jobs.brought import BROUGHT
from auditlib.reports.archive import fingerprint
from auditlib.store import Artifacts

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@runs_app.command()
def report(
    run_id: RunId,
    out: Annotated[Path, typer.Option(help="folder to write into; made where there is none")],
    with_texts: Annotated[
        bool, typer.Option("--with-texts", help="put the examined texts themselves into the package")
    ] = False,
) -> None:
    """Write the report (HTML, and PDF where a browser is found) and the evidence package of a run that is done."""
    try:
        store, client = opened()
        run = named(client, run_id)
        with said.status("Writing the report, and printing it …"):
            made = report_files(store, run, with_texts)
        files = {"report.html": made.html, "evidence.zip": made.data}
        if made.pdf is not None:
            files["report.pdf"] = made.pdf
        _write(out, files)
        noted = fingerprint(out / "evidence.zip")
    except AuditError as error:
        stop(error)
    if made.without_pdf:
        said.print(f"There is no PDF: {escape(made.without_pdf)}", soft_wrap=True)
    typer.echo(f"{noted}  fingerprint of the evidence package")


@runs_app.command()
def export(
    run_id: RunId,
    out: Annotated[Path | None, typer.Option(help="folder to write into; by default one named for the run")] = None,
) -> None:
    """Write every file that a run made: its tables, its numbers, and calibrations that `place` and the page import."""
    try:
        store, client = opened()
        run = named(client, run_id)
        kept = Artifacts(store)
        # What the run was given to read is no result, and lies with whoever brought it.
        names = [file.name for file in kept.of(run.id) if _PLAIN.fullmatch(file.name) and file.name != BROUGHT]
        if not names:
            raise AuditError(f"“{run.name}” is {run.state.value} and has made no files.", "Wait for its end.")
        _write(out or Path(f"{run.kind}-{run.id[:8]}"), {name: kept.read(run.id, name) for name in names})
    except AuditError as error:
        stop(error)


def _write(folder: Path, files: dict[str, bytes]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)
            typer.echo(str(folder / name))
    except OSError as error:
        raise AuditError(
            f"{folder} cannot be written into ({error.strerror or error}).", "Choose another place."
        ) from error
