"""`rerun`: repeats the run of an evidence package, and says whether its numbers come out again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from auditlib.audits.demo import PLANTED, UNLEARNED, demo_passages
from auditlib.audits.saved_calibration import identity_differences
from auditlib.audits.sets import LabelledSets, read_sets
from auditlib.cli.common import app, progress_bar, read_without, result_console, said, stop
from auditlib.cli.json_output import to_json
from auditlib.cli.model_options import MODEL_HELP, chosen_model, is_saved, open_model, refuse_served, say_where_texts_go
from auditlib.core import AuditError, ModelIdentity, TargetModel, library_versions, settings
from auditlib.documents import STEPS, display_name
from auditlib.models.request import AUTO, BUNDLED, ModelRequest
from auditlib.reports.archive import fingerprint
from auditlib.reports.packaged_run import PackagedRun, read_package
from auditlib.reports.repeating import (
    Agreement,
    Comparison,
    TextSearch,
    compare,
    not_repeated,
    repeatable,
    repeated_numbers,
)
from auditlib.scoring import SCORES
from auditlib.store import Store, Workspace

MOST_NAMED = 20


@app.command("rerun")
def rerun_command(
    package: Annotated[Path, typer.Argument(help="an evidence package (.zip)")],
    texts: Annotated[
        list[str] | None, typer.Option(help="file, folder or archive with the examined texts; may be repeated")
    ] = None,
    model: Annotated[str | None, typer.Option(help=f"the model of the run: {MODEL_HELP}")] = None,
    adapter: Annotated[str | None, typer.Option(help="folder of its adapter, if it has one")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps; the best there is by default")] = AUTO,
    yes: Annotated[bool, typer.Option("--yes", help="open the model that the package names without asking")] = False,
    json_wanted: Annotated[bool, typer.Option("--json", help="print JSON instead")] = False,
) -> None:
    """Repeat the run of an evidence package on the same texts and model. Nothing kept from earlier runs is used.

    Exit code 0 where every number comes out again, 1 where one does not, 2 where the run cannot be repeated.
    """
    try:
        packaged = read_package(package)
        sets = _sets(packaged, texts or [])
        target = _opened(packaged.model, model, adapter, device, yes, sets.texts)
        _refuse_other_model(packaged.model, target)
        with progress_bar() as bar:
            task = bar.add_task(f"Reading {len(sets.snippets):,} texts", total=None)
            read = read_sets(target, sets, lambda done, total: bar.update(task, completed=done, total=total))
        with said.status("Computing …"):
            found = compare(repeatable(packaged.numbers), repeated_numbers(read, packaged))
        if skipped := not_repeated(packaged.settings.scores):
            labels = ", ".join(SCORES[name].label for name in skipped)
            said.print(
                f"Not repeated: {labels}. They need other models, prefixes or a corpus, which the package names and "
                "does not hold.",
                soft_wrap=True,
            )
        agrees = all(one.agreement is not Agreement.NONE for one in found)
        if json_wanted:
            versions = {"packaged": packaged.versions, "now": library_versions()}
            typer.echo(
                to_json({"agrees": agrees, "package": fingerprint(package), "numbers": found, "versions": versions})
            )
        else:
            _print(packaged, found)
    except AuditError as error:
        stop(error)
    raise typer.Exit(0 if agrees else 1)


def _sets(packaged: PackagedRun, brought: list[str]) -> LabelledSets:
    """The examined texts. Raises `AuditError` naming those that are nowhere."""
    search = TextSearch(packaged.inputs)
    _say_found(search, "in the package")
    if search.missing:
        _look_in_workspace(search)
    if search.missing:
        search.offer(document for document in demo_passages() if document.id in search.wanted)
        _say_found(search, "in the package, the workspace and the demonstration")
    # As the run's documents were cleaned; where the package does not say, in the two usual ways.
    for steps in packaged.steps or ((), tuple(STEPS)):
        if search.missing and brought:
            documents, errors = read_without(brought, [step for step in STEPS if step not in steps])
            for error in errors:
                said.print(f"[yellow]Not read:[/] {escape(str(error))}", soft_wrap=True)
            search.offer(documents)
    if search.missing:
        _refuse(search, len(packaged.inputs), brought)
    return search.sets()


def _look_in_workspace(search: TextSearch) -> None:
    chosen = settings()
    workspace = Workspace(Store(chosen.home_folder, chosen.database_url))
    keys = [stored.key for stored in workspace.documents() if stored.document_id in search.wanted]
    search.offer(workspace.open(key) for key in keys)


def _say_found(search: TextSearch, where: str) -> None:
    if not search.missing:
        said.print(f"All texts are {where}.", soft_wrap=True)


def _refuse(search: TextSearch, n_texts: int, brought: list[str]) -> None:
    missing = search.missing
    for one in missing[:MOST_NAMED]:
        said.print(
            f"  missing: “{escape(display_name(one.title))}” from word {one.first_word + 1:,}, "
            f"{one.n_words:,} words, of the document with SHA-256 {escape(one.document[:16])}…",
            soft_wrap=True,
            highlight=False,
        )
    if len(missing) > MOST_NAMED:
        said.print(f"  … and {len(missing) - MOST_NAMED:,} more.")
    raise AuditError(
        f"{len(missing):,} of the {n_texts:,} examined texts cannot be found"
        + (" among those that were brought." if brought else "."),
        "Name the files that they are from with --texts; each must be the same to the letter.",
    )


def _opened(
    packaged: ModelIdentity, model: str | None, adapter: str | None, device: str, yes: bool, texts: Sequence[str]
) -> TargetModel:
    """The model to repeat with: what the person named, else the bundled one, else what they agree to."""
    if model is None:
        refuse_served(packaged)
    elif is_saved(model):
        request = chosen_model(model, device, adapter=adapter)
        say_where_texts_go(request, [(text, 2) for text in texts], is_kept=False)
        return open_model(request)
    if model is None and packaged.source != BUNDLED:
        _ask_whether_to_open(packaged, yes)
    if adapter is None and packaged.adapter is not None:
        adapter = _own_adapter(packaged.adapter)
    revision = packaged.revision if model is None else None
    return open_model(ModelRequest(model or packaged.source, device, packaged.dtype, revision, adapter=adapter))


def _ask_whether_to_open(packaged: ModelIdentity, yes: bool) -> None:
    """A package is a stranger's file: what it names is not opened, nor fetched from a hub, without somebody's yes."""
    shown = display_name(packaged.source)
    said.print(
        f"The package names the model “{escape(shown)}”, which is not the one that comes with this program.",
        soft_wrap=True,
    )
    if yes:
        said.print("It is opened, as --yes says.")
    elif not (sys.stdin.isatty() and typer.confirm("Open it?", err=True)):
        raise AuditError(
            f"The model “{shown}” that the package names was not opened.",
            "Name the model that you trust to be the same with --model, or let this one be opened with --yes.",
        )


def _own_adapter(wanted: str) -> str:
    """The program's own adapter where the run used one. Raises `AuditError` where the adapter is another."""
    from auditlib.models.adapters import find_adapter  # brings torch

    for folder in (PLANTED, UNLEARNED):
        if folder.is_dir() and find_adapter(folder).sha256 == wanted:
            return str(folder)
    raise AuditError(
        f"The run used an adapter (SHA-256 {display_name(wanted)[:16]}…).", "Name its folder with --adapter."
    )


def _refuse_other_model(packaged: ModelIdentity, target: TargetModel) -> None:
    """Raises `AuditError`, after showing both side by side, where the models are not one."""
    astray = identity_differences(packaged, target.identity)
    if not astray:
        return
    table = Table("", "the package's model", "this model", title="Two models", title_justify="left")
    one, other = packaged.as_dict(), target.identity.as_dict()
    for field in one:
        mark = "[red]✗[/] " if field in astray else ""
        table.add_row(
            f"{mark}{field.replace('_', ' ')}", *(escape(display_name(each[field] or "none")) for each in (one, other))
        )
    said.print(table)
    raise AuditError(
        f"The run was made with another model: they differ in {', '.join(f.replace('_', ' ') for f in astray)}.",
        "Name the model of the run with --model, and its adapter with --adapter.",
    )


def _print(packaged: PackagedRun, found: list[Comparison]) -> None:
    out = result_console()
    astray = [one for one in found if one.agreement is Agreement.NONE]
    exact = sum(one.agreement is Agreement.EXACT for one in found)
    if astray:
        out.print(f"[bold]{len(astray)} of {len(found)} numbers differ.[/]")
        table = Table("number", "packaged", "now", "difference")
        for one in astray:
            table.add_row(escape(display_name(one.name)), _shown(one.packaged), _shown(one.now), _difference(one))
        out.print(table)
    else:
        out.print(f"[bold]All {len(found)} numbers come out again[/] on {len(packaged.inputs):,} texts.")
    close = len(found) - exact - len(astray)
    out.print(f"Exactly: {exact}. Within 0.0001: {close}. Different: {len(astray)}.", highlight=False)
    now = library_versions()
    changed = [
        f"{name} {was} (now {now.get(name, 'none')})" for name, was in packaged.versions.items() if now.get(name) != was
    ]
    if changed:
        out.print(escape(f"Other versions than the run's: {', '.join(map(display_name, changed))}."), soft_wrap=True)


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.8g}"


def _difference(one: Comparison) -> str:
    return "" if one.packaged is None or one.now is None else f"{one.now - one.packaged:+.2g}"
