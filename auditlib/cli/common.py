"""What the commands share: where they speak, how they read files and open models, how they stop."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from auditlib.audits.calibration import checked_rule
from auditlib.core import AuditError, Document, TargetModel
from auditlib.documents import STEPS, FileResult, Upload, read_files, read_folder
from auditlib.evidence.thresholds import Rule

if TYPE_CHECKING:
    pass

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Find out what a language model was trained on.",
)
TABLE_WIDTH = 130
LARGEST_SEED = 2**31 - 1  # as on the page; the libraries below take no larger one
LOG_WIDTH = 240
said = Console(stderr=True)  # everything that is not the result itself
if not said.is_terminal:
    said.width = LOG_WIDTH  # a log has no edge, and a hash that is broken in two cannot be searched for


@app.callback()
def _commands() -> None:
    """Find out what a language model was trained on."""


def read_all(files: list[str], clean: bool) -> tuple[list[Document], list[AuditError]]:
    """The texts of files, folders and standard input (`-`), and what could not be read."""
    return read_without(files, () if clean else tuple(STEPS))


def read_without(files: list[str], without: Collection[str]) -> tuple[list[Document], list[AuditError]]:
    """Likewise, cleaned by all steps but those named."""
    results = list(read_each(files, without))
    documents = [document for result in results for document in result.documents]
    return documents, [result.error for result in results if result.error is not None]


def read_each(files: list[str], without: Collection[str]) -> Iterator[FileResult]:
    """Likewise, file by file: whoever takes what they need of each needs the memory of one."""
    for file in files:
        if file == "-":
            yield from read_files([Upload("standard input.txt", sys.stdin.buffer.read())], without)
        elif Path(file).is_dir():
            yield from read_folder(Path(file), without)
        else:
            yield from read_files([Upload(file, Path(file))], without)


def scorable(target: TargetModel, documents: list[Document]) -> tuple[list[Document], list[AuditError]]:
    """The documents that `target` can score, and why it cannot score the others."""
    able, errors = [], []
    for document in documents:
        try:
            target.tokens_to_read(document.text, document.source_name)
            able.append(document)
        except AuditError as error:
            errors.append(error)
    return able, errors


def result_console() -> Console:
    """Where results are printed: as wide as the terminal, and wide enough for a table where there is none."""
    out = Console()
    return out if out.is_terminal else Console(width=max(out.width, TABLE_WIDTH))


def progress_bar() -> Progress:
    """A bar for work on a model; gone when it is done."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(*columns, console=said, transient=True)


def plain(error: AuditError) -> str:
    """Both sentences, ready for `said.print`."""
    return escape(f"{error.wrong} {error.remedy}")


def stop(error: AuditError) -> NoReturn:
    """Says what is wrong and ends the command with exit code 2."""
    said.print(f"[bold red]Stopped:[/] {plain(error)}", soft_wrap=True)
    raise typer.Exit(2) from error


def threshold_rule(said: str) -> Rule:
    """How thresholds are chosen, as it is said in a shell. Raises `AuditError` for what is no way."""
    try:
        return checked_rule(float(said))
    except ValueError:
        return checked_rule(said)
