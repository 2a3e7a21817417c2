"""`score`: every score of texts."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pandas as pd
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from auditlib.cli.common import app, plain, progress_bar, read_all, said, scorable, stop
from auditlib.cli.model_options import MODEL_HELP, chosen_model, open_model, say_where_texts_go
from auditlib.core import AuditError, Document, library_versions
from auditlib.models.request import AUTO, BUNDLED
from auditlib.scoring import DEFAULT_K, SCORES, Reading, all_scores, checked_k, read_texts
from auditlib.scoring.loss import perplexity
from auditlib.scoring.token_table import token_table

if TYPE_CHECKING:
    from auditlib.models.opening import HeldModel


@app.command()
def score(
    files: Annotated[list[str], typer.Argument(help="Files, folders or archives of texts; - reads standard input.")],
    model: Annotated[str, typer.Option(help=MODEL_HELP)] = BUNDLED,
    k: Annotated[float, typer.Option(help="percent of tokens that Min-K% looks at")] = DEFAULT_K,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of a table")] = False,
    tokens: Annotated[Path | None, typer.Option(help="write every token's statistics to this Parquet file")] = None,
    adapter: Annotated[str | None, typer.Option(help="folder of a PEFT adapter to merge into the model")] = None,
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
        documents, errors = read_all(files, clean)
        results: list[Result] = []
        if documents:
            request = chosen_model(model, device, dtype, revision, sha256, adapter)
            say_where_texts_go(request, [(document.text, 1 + lowercase) for document in documents], is_kept=False)
            target = open_model(request)
            documents, too_short = scorable(target, documents)
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
        stop(error)
    for problem in errors:
        said.print(f"[bold red]Not scored:[/] {plain(problem)}", soft_wrap=True)
    if errors:
        raise typer.Exit(1)


@dataclass(frozen=True)
class Result:
    """One text, as one model read it."""

    document: Document
    reading: Reading
    target: HeldModel

    @property
    def scores(self) -> dict[str, float | None]:
        """Every score by name; None where it cannot be had."""
        return all_scores(self.reading, self.target.capabilities)


def _read(
    target: HeldModel, documents: list[Document], k: float, lowercase: bool
) -> tuple[list[Result], list[AuditError]]:
    """Results in the order of the documents; and what the model could make no numbers of."""
    readings: dict[int, Reading] = {}
    failures = []
    with progress_bar() as bar:
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
    alone = [name for name, score in SCORES.items() if not score.needs_a_second_look]  # the others would be dashes
    for name in alone:
        table.add_column(SCORES[name].label, justify="right")
    table.add_column("perplexity", justify="right")
    for result in results:
        table.add_row(
            escape(result.document.source_name),
            f"{result.reading.stats.n_tokens:,}",
            *("–" if (value := result.scores[name]) is None else f"{value:.4g}" for name in alone),
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
