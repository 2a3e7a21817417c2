"""`place`: where texts stand among those of a saved calibration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from auditlib.audits.saved_calibration import (
    LARGEST_FILE_BYTES,
    Calibration,
    Placement,
    differences,
    from_json,
    place_all,
    refuse_other_model,
)
from auditlib.cli.calibration_result import identity_line, print_reasons
from auditlib.cli.common import app, plain, progress_bar, read_all, result_console, said, scorable, stop
from auditlib.cli.json_output import to_json
from auditlib.cli.model_options import chosen_model, is_saved, open_model, refuse_served, say_where_texts_go
from auditlib.core import AuditError, Document, ModelIdentity, TargetModel, library_versions
from auditlib.documents import display_name
from auditlib.evidence import LIMITS
from auditlib.models.request import AUTO, ModelRequest
from auditlib.scoring import SCORES, Reading, read_texts


@app.command("place")
def place_command(
    calibration: Annotated[Path, typer.Argument(help="what `calibrate --save` or the page wrote")],
    texts: Annotated[list[str], typer.Argument(help="files, folders or archives of texts; - reads standard input")],
    model: Annotated[str | None, typer.Option(help="the calibrated model; where it was found then by default")] = None,
    adapter: Annotated[str | None, typer.Option(help="folder of its adapter, if it has one")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps; the best there is by default")] = AUTO,
    dtype: Annotated[str | None, typer.Option(help="that of the calibration by default")] = None,
    revision: Annotated[str | None, typer.Option(help="commit, tag or branch of a hub model")] = None,
    clean: Annotated[bool, typer.Option("--clean", help="clean texts first; otherwise read as they stand")] = False,
    json_wanted: Annotated[bool, typer.Option("--json", help="print JSON instead of a table")] = False,
) -> None:
    """Say how texts compare with the members and non-members of a calibration, each with its p-value and verdict.

    Texts that cannot be scored are named; the others still are (exit code 1 then).
    """
    try:
        kept = _open(calibration)
        documents, errors = read_all(texts, clean)
        placed: list[tuple[Document, Reading, Placement]] = []
        if documents:
            known = kept.model
            wanted = _wanted(known, model, adapter, device, dtype, revision)
            if wanted.endpoint is None:
                said.print(f"Model: {escape(wanted.source)}", soft_wrap=True, highlight=False)
            say_where_texts_go(wanted, [(document.text, 2) for document in documents], is_kept=False)
            target = open_model(wanted)
            if differences(kept, target.identity):
                _print_side_by_side(known, target.identity)
            refuse_other_model(kept, target.identity)
            documents, failures = scorable(target, documents)
            placed, unplaced = _place(kept, target, documents)
            errors += failures + unplaced
        if json_wanted:
            typer.echo(to_json(_as_dict(kept, placed)))
        elif placed:
            _print(kept, placed)
    except AuditError as error:
        stop(error)
    for problem in errors:
        said.print(f"[bold red]Not placed:[/] {plain(problem)}", soft_wrap=True)
    if errors:
        raise typer.Exit(1)


def _open(file: Path) -> Calibration:
    try:
        with file.open("rb") as stream:
            data = stream.read(LARGEST_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise AuditError(f"{str(file)[:200]} cannot be opened ({reason}).", "Check the path.") from error
    return from_json(data, display_name(str(file)))


def _place(
    kept: Calibration, target: TargetModel, documents: list[Document]
) -> tuple[list[tuple[Document, Reading, Placement]], list[AuditError]]:
    score = SCORES[kept.score]
    readings: dict[int, Reading] = {}
    errors = []
    with progress_bar() as bar:
        task = bar.add_task(f"Reading {len(documents):,} texts", total=None)
        try:
            for index, reading in read_texts(
                target,
                [document.text for document in documents],
                kept.k,
                lowercase=score.reads_lowercased,
                progress=lambda done, total: bar.update(task, completed=done, total=total),
                names=[document.source_name for document in documents],
            ):
                if reason := score.unavailable_because(reading, target.capabilities):
                    errors.append(AuditError(f"{documents[index].source_name} has no {score.label} score.", reason))
                else:
                    readings[index] = reading
        except AuditError as error:
            errors.append(error)
    found = sorted(readings)
    placements = place_all(
        kept,
        [score.compute(readings[i]) for i in found],
        [readings[i].stats.n_tokens for i in found],
        target.identity,
    )
    return [(documents[i], readings[i], placement) for i, placement in zip(found, placements, strict=True)], errors


def _as_dict(kept: Calibration, placed: list[tuple[Document, Reading, Placement]]) -> dict[str, object]:
    return {
        "calibration": {
            "name": kept.name,
            "created": kept.created,
            "score": kept.score,
            "k": kept.k,
            "alpha": kept.alpha,
            "verdict": kept.verdict,
            "threshold": kept.threshold,
            "members_sha256": kept.members_sha256,
            "non_members_sha256": kept.non_members_sha256,
        },
        "model": kept.model,
        "texts": [
            {
                "file": document.source_name,
                "title": document.title,
                "text_sha256": document.id,
                "n_tokens": reading.stats.n_tokens,
                "placement": placement,
            }
            for document, reading, placement in placed
        ],
        "versions": library_versions(),
    }


def _print(kept: Calibration, placed: list[tuple[Document, Reading, Placement]]) -> None:
    out = result_console()
    table = Table(
        title=escape(f"{SCORES[kept.score].label} of {kept.model.name}, by the calibration “{kept.name}”"),
        title_justify="left",
    )
    table.add_column("text", overflow="fold")
    for heading in ("tokens", "score", "p", "p corrected", "above members", "above non-members", "threshold"):
        table.add_column(heading, justify="right", overflow="fold")
    table.add_column("verdict")
    for document, reading, placement in placed:
        reached = {None: "–", True: "reached", False: "not reached"}[placement.threshold_says]
        table.add_row(
            escape(_name(document)),
            f"{reading.stats.n_tokens:,}",
            f"{placement.score:.4g}",
            f"{placement.p.p:.3g}",
            f"{placement.verdict.p:.3g}",
            f"{placement.members_below:.0%}",
            f"{placement.non_members_below:.0%}",
            reached,
            placement.verdict.word.value,
        )
    out.print(table)
    for document, _, placement in placed:
        out.print(f"[bold]{escape(_name(document))}: {placement.verdict.word.value}.[/]", soft_wrap=True)
        print_reasons(out, placement.verdict.reasons)
        out.print(f"  {escape(placement.p.note)}", soft_wrap=True, highlight=False)
    out.print(
        "p is how often a text that the model was not trained on would score so high, if it is like the calibration's "
        "non-members; corrected for the number of texts. " + LIMITS,
        style="italic",
        soft_wrap=True,
    )
    out.print(escape(f"Model: {identity_line(kept.model)}."), soft_wrap=True, highlight=False)


def _name(document: Document) -> str:
    """A row of a table is told by its title, a file by its name."""
    return document.title if document.title.startswith(document.source_name) else document.source_name


def _wanted(
    known: ModelIdentity, model: str | None, adapter: str | None, device: str, dtype: str | None, revision: str | None
) -> ModelRequest:
    """The model to place with: the one that was named, as it was calibrated where nothing else is said."""
    if model is None:
        refuse_served(known)
    elif is_saved(model):
        return chosen_model(model, device, dtype or AUTO, revision, adapter=adapter)
    revision = revision if model or revision else known.revision
    return ModelRequest(model or known.source, device, dtype or known.dtype, revision, adapter=adapter)


def _print_side_by_side(calibrated: ModelIdentity, opened: ModelIdentity) -> None:
    table = Table(title="Two different models", title_justify="left")
    for heading in ("", "calibrated", "opened"):
        table.add_column(heading, overflow="fold")
    own, other = calibrated.as_dict(), opened.as_dict()
    for field in own:
        style = "bold red" if own[field] != other[field] else None
        cells = (field.replace("_", " "), own[field] or "none", other[field] or "none")
        table.add_row(*(escape(cell) for cell in cells), style=style)
    said.print(table)
