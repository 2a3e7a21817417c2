"""`verify`: whether an evidence package is as it was made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from auditlib.cli.common import app, said, stop
from auditlib.core import AuditError
from auditlib.documents.names import display_name


@app.command()
def verify(
    package: Annotated[Path, typer.Argument(help="an evidence package (.zip)")],
    fingerprint: Annotated[
        str | None, typer.Option(help="what the package's fingerprint must be, as it was noted elsewhere")
    ] = None,
) -> None:
    """Check every file of an evidence package against its manifest (exit code 1 where one was changed)."""
    from auditlib.reports import archive

    try:
        problems = archive.verify(package)
        found = archive.fingerprint(package)
    except AuditError as error:
        stop(error)
    if fingerprint is not None and fingerprint.strip().lower() != found:
        problems.append("The package is not the one whose fingerprint was noted: its manifest is another.")
    for problem in problems:
        said.print(f"[bold red]Changed:[/] {escape(problem)}", soft_wrap=True)
    typer.echo(f"{found}  fingerprint of {display_name(package.name)}")
    if problems:
        raise typer.Exit(1)
    said.print("Every file is as it was when the package was made.")
