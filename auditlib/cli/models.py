"""`models`: the models that the workspace knows by name, as on the Models page."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from auditlib.cli.common import app, result_console, said, stop
from auditlib.core import AuditError, settings
from auditlib.jobs import SavedModel, save_model, saved_models
from auditlib.models.endpoint.keys import KEY_VARIABLE
from auditlib.models.request import AUTO, BUNDLED, EndpointRequest, ModelRequest
from auditlib.store import SavedModels, Store

models_app = typer.Typer(help="List, add, check and remove the models that have a name.", no_args_is_help=False)
app.add_typer(models_app, name="models")
Name = Annotated[str, typer.Argument(help="what the model is called")]


@models_app.callback(invoke_without_command=True)
def _without_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_models()


@models_app.command("list")
def list_models() -> None:
    """List the named models, in the order in which they came."""
    try:
        found = saved_models(_store())
    except AuditError as error:
        stop(error)
    table = Table("Name", "Model", "Where")
    for one in found:
        table.add_row(escape(one.name), escape(_what(one)), escape(_where(one)))
    if found:
        result_console().print(table)
    else:
        typer.echo("No model has a name yet.")


@models_app.command()
def add(
    name: Name,
    model: Annotated[str, typer.Option(help="bundled, a folder, a .gguf file, a hub id, or a server's name for it")],
    url: Annotated[str | None, typer.Option(help="base URL of the server that holds it, without any key")] = None,
    adapter: Annotated[str | None, typer.Option(help="folder of a PEFT adapter to merge in")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps, all-gpus")] = AUTO,
    dtype: Annotated[str, typer.Option(help="float32, bfloat16, float16")] = AUTO,
    tokenizer: Annotated[str | None, typer.Option(help="folder of a served model's tokenizer")] = None,
    price: Annotated[float | None, typer.Option(help="of a million tokens, in any one currency")] = None,
    most_tokens: Annotated[int | None, typer.Option(help="that one run may send to the server")] = None,
    most_cost: Annotated[float | None, typer.Option(help="that one run may have; needs a price")] = None,
    key_variable: Annotated[str, typer.Option(help="environment variable that holds the key")] = KEY_VARIABLE,
) -> None:
    """Keep a model under a name. Nothing is loaded and nothing is sent."""
    try:
        request = ModelRequest(model, device, dtype, adapter=adapter)
        if url is not None:
            endpoint = EndpointRequest(url, model, tokenizer=tokenizer, price=price, key_variable=key_variable)
            endpoint = replace(endpoint, most_tokens=most_tokens, most_cost=most_cost)
            request = ModelRequest(endpoint=endpoint)
        save_model(_store(), name, request, datetime.now(UTC))
    except AuditError as error:
        stop(error)
    typer.echo(f"Added {name}.")


@models_app.command()
def remove(name: Name) -> None:
    """Forget a name. Files, runs and readings stay."""
    try:
        _named(name)
        SavedModels(_store()).remove(name)
    except AuditError as error:
        stop(error)
    typer.echo(f"Removed {name}.")


@models_app.command()
def check(
    name: Name,
    copy: Annotated[str | None, typer.Option(help="name of a copy on this machine to compare with")] = None,
) -> None:
    """Connect to the server of a model and print every check. Exit code 1 where it cannot be used.

    A few thousand tokens of our own texts are sent, none of yours. The key comes from the environment.
    """
    try:
        request = _named(name)
        local = None if copy is None else _named(copy)
        if request.endpoint is None:
            raise AuditError(f"{name} is no model behind a server.", "Only these are checked so.")
        # Torch takes seconds to import; a wrong name should not wait for it.
        from auditlib.models.opening import SHELF

        with said.status("Connecting and checking …"):
            connection = SHELF.examine(request.endpoint, settings(), local)
    except AuditError as error:
        stop(error)
    table = Table("Check", "Outcome", "What was found")
    for one in connection.checks:
        table.add_row(one.name, one.outcome.value, escape(one.sentence))
    result_console().print(table)
    if connection.problem is not None:
        said.print(f"[bold red]Refused:[/] {escape(str(connection.problem))}", soft_wrap=True)
        raise typer.Exit(1)


def _store() -> Store:
    chosen = settings()
    return Store(chosen.home_folder, chosen.database_url)


def _named(name: str) -> ModelRequest:
    """The model of that name. Raises `AuditError` where there is none that can be understood."""
    for one in saved_models(_store()):
        if one.name == name:
            return one.usable
    raise AuditError(f"There is no model called {name!r}.", "“python -m auditlib models” lists those there are.")


def _what(one: SavedModel) -> str:
    if one.request is None:
        return one.problem
    return one.request.endpoint.model if one.request.endpoint is not None else one.request.source


def _where(one: SavedModel) -> str:
    if one.request is None:
        return ""
    if one.request.endpoint is not None:
        return one.request.endpoint.base_url
    return "bundled" if one.request.source == BUNDLED else "this machine"
