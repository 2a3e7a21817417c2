"""`runs`: what the worker does and did. Each command names a run by its id, or the first letters of it."""

from __future__ import annotations

import time
from typing import Annotated, NoReturn

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from auditlib.cli.common import app, result_console, said, stop
from auditlib.core import AuditError, settings
from auditlib.jobs import JobClient
from auditlib.store import FINISHED, Run, RunProgress, RunState, Store

LOOK_SECONDS = 0.5
EXIT_CODES = {RunState.DONE: 0, RunState.FAILED: 1, RunState.CANCELLED: 3}

runs_app = typer.Typer(help="List, watch, cancel, resume, delete, report and export runs.", no_args_is_help=False)
app.add_typer(runs_app, name="runs")
RunId = Annotated[str, typer.Argument(metavar="ID", help="the run's id, or as many of its first letters as needed")]


@runs_app.callback(invoke_without_command=True)
def _without_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_runs()


@runs_app.command("list")
def list_runs() -> None:
    """List all runs, newest first."""
    try:
        _, client = opened()
        found = client.runs()
    except AuditError as error:
        stop(error)
    table = Table("Id", "Name", "Kind", "State", "Who", "Created", "Took")
    for run in found:
        state = run.state.value
        if run.state is RunState.RUNNING and run.progress is not None and run.progress.total:
            state += f", {run.progress.stage} {run.progress.done / run.progress.total:.0%}"
        table.add_row(
            run.id[:8],
            escape(run.name),
            run.kind,
            state if run.problem is None else f"{state}: {escape(run.problem)}",
            escape(run.who),
            f"{run.created:%Y-%m-%d %H:%M}",
            "" if run.seconds is None else f"{run.seconds:,.0f} s",
        )
    if found:
        result_console().print(table)
    else:
        typer.echo("No run was started yet.")


@runs_app.command()
def watch(run_id: RunId) -> None:
    """Follow a run to its end (exit code 0 done, 1 failed, 3 cancelled). Ctrl-C stops watching; the run goes on."""
    try:
        _, client = opened()
        run = named(client, run_id)
        said.print(f"{escape(run.name)} ({run.kind}, {run.id[:8]})", soft_wrap=True, highlight=False)
        run = _followed(client, run)
    except AuditError as error:
        stop(error)
    except KeyboardInterrupt:
        said.print("The run goes on.")
        raise typer.Exit(130) from None
    _say_end(run)


@runs_app.command()
def cancel(run_id: RunId) -> None:
    """Stop a run at its next batch. What it has read is kept."""
    try:
        _, client = opened()
        run = named(client, run_id)
        if not client.cancel(run.id):
            raise AuditError(f"“{run.name}” has ended already: it is {client.run(run.id).state.value}.", "Leave it so.")
    except AuditError as error:
        stop(error)
    typer.echo(f"Cancelled {run.id[:8]}. “runs resume {run.id[:8]}” lets it go on where it was.")


@runs_app.command()
def resume(run_id: RunId) -> None:
    """Let a run go on that failed or was cancelled. What it has read is not read again."""
    try:
        _, client = opened()
        run = named(client, run_id)
        if not client.resume(run.id):
            raise AuditError(
                f"“{run.name}” is {run.state.value}, so there is nothing to resume.", "Watch it, or start another run."
            )
        state = client.worker_state()
    except AuditError as error:
        stop(error)
    typer.echo(f"Queued {run.id[:8]} again.")
    if not state.is_there:
        said.print(escape(state.said), soft_wrap=True)


@runs_app.command()
def delete(run_id: RunId) -> None:
    """Forget a run that has ended, and the files it made. Documents, and what models made of them, are kept."""
    try:
        _, client = opened()
        run = named(client, run_id)
        if not client.delete(run.id):
            raise AuditError(f"“{run.name}” is {run.state.value}.", f"Cancel it first: runs cancel {run.id[:8]}.")
    except AuditError as error:
        stop(error)
    typer.echo(f"Deleted {run.id[:8]}.")


def opened() -> tuple[Store, JobClient]:
    """The data folder's store and its runs. Raises `AuditError`."""
    chosen = settings()
    store = Store(chosen.home_folder, chosen.database_url)
    return store, JobClient(store, chosen)


def named(client: JobClient, run_id: str) -> Run:
    """The one run whose id begins like this. Raises `AuditError` where there is none, or more than one."""
    wanted = run_id.strip().lower()
    found = [run for run in client.runs() if wanted and run.id.startswith(wanted)]
    if not found:
        raise AuditError(f"There is no run whose id begins with {run_id[:40]!r}.", "“runs list” lists all.")
    if len(found) > 1:
        raise AuditError(
            f"{len(found):,} runs have an id that begins with {run_id[:40]!r}.", "Give more letters of the id."
        )
    return found[0]


def _followed(client: JobClient, run: Run) -> Run:
    """The run once it has ended, after a bar or, where nobody looks, a line for each stage."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[about]}"))
    with Progress(*columns, console=said, transient=True) as bar:
        task = bar.add_task("", total=None, about="")
        told = ""
        while run.state not in FINISHED:
            stage = _stage(run)
            if stage != told:
                if not said.is_terminal:
                    said.print(stage)
                told = stage
                if not (state := client.worker_state()).is_there:
                    said.print(escape(state.said), soft_wrap=True)
            at = run.progress
            if run.state is RunState.RUNNING and at is not None and at.total:
                bar.update(task, description=stage, completed=at.done, total=at.total, about=_about(at))
            else:
                bar.update(task, description=stage, completed=0, total=None, about="")
            time.sleep(LOOK_SECONDS)
            run = client.run(run.id)
    return run


def _stage(run: Run) -> str:
    if run.state is RunState.QUEUED:
        return "waiting for its turn"
    return run.progress.stage if run.progress is not None and run.progress.stage else "starting"


def _about(at: RunProgress) -> str:
    """Done and total, rate, and the time left as the run itself reckons it: none before it can know."""
    unit = " tokens" if at.stage == "reading" else ""
    line = f"{at.done:,} of {at.total:,}{unit}"
    if at.per_second:
        line += f", {at.per_second:,.0f} a second"
    if at.seconds_left is not None and at.done < at.total:
        line += f", about {_duration(at.seconds_left)} left in this stage"
    return line


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _say_end(run: Run) -> NoReturn:
    took = "" if run.seconds is None else f" after {_duration(run.seconds)}"
    typer.echo(f"{run.state.value.capitalize()}{took}.")
    if run.problem:
        said.print(escape(run.problem), soft_wrap=True)
    raise typer.Exit(EXIT_CODES[run.state])
