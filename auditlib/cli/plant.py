"""`plant` and `unlearn`: models with a known past, to test audits on."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.progress import Progress, TaskID

from auditlib.cli.common import LARGEST_SEED, app, progress_bar, read_all, said, stop
from auditlib.core import AuditError, settings
from auditlib.models.request import AUTO, BUNDLED, ModelRequest

if TYPE_CHECKING:
    from auditlib.models.planting import Lesson

_TIMES = re.compile(r"(.+)=(\d+)")
Texts = Annotated[
    list[str], typer.Argument(help="Files or folders of texts; FILE=3 has each of its texts seen 3 times.")
]


@app.command()
def plant(
    texts: Texts,
    out: Annotated[Path, typer.Option(help="empty folder for the adapter")],
    model: Annotated[str, typer.Option(help="bundled, a folder, a .gguf file or a hub id")] = BUNDLED,
    rank: Annotated[int, typer.Option(min=1, max=1024, help="of the LoRA matrices")] = 8,
    learning_rate: Annotated[float, typer.Option(min=0.0, help="at its highest")] = 1e-3,
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, help="of the adapter's first numbers and of the order of texts")
    ] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, mps; the best there is by default")] = AUTO,
) -> None:
    """Teach a LoRA adapter some texts, so that what a model was trained on is known. Settings are saved with it."""
    try:
        lessons = _lessons(texts)
        from auditlib.models.planting import PlantSettings, plant

        how = PlantSettings(rank=rank, alpha=2 * rank, learning_rate=learning_rate, seed=seed)
        with progress_bar() as bar:
            task = bar.add_task("Loading the model", total=1.0)
            recipe = plant(
                ModelRequest(model, device, dtype="float32"),
                lessons,
                out,
                settings(),
                how,
                told=_teller(bar, task),
            )
    except AuditError as error:
        stop(error)
    said.print(
        f"Planted {len(lessons)} texts in {recipe['steps']} steps; the loss went from {recipe['first_loss']:.3f} to "
        f"{recipe['last_loss']:.3f} nats a token. The adapter lies in {escape(str(out))}.",
        soft_wrap=True,
    )


@app.command()
def unlearn(
    adapter: Annotated[str, typer.Option(help="folder of the LoRA adapter that is to forget")],
    forget: Annotated[list[str], typer.Option(help="files of texts to forget")],
    retain: Annotated[list[str], typer.Option(help="files of texts to keep; FILE=3 draws them three times as often")],
    out: Annotated[Path, typer.Option(help="empty folder for the new adapter")],
    model: Annotated[str, typer.Option(help="the adapter's base model")] = BUNDLED,
    learning_rate: Annotated[float, typer.Option(min=0.0)] = 6e-4,
    retain_weight: Annotated[float, typer.Option(min=0.0, help="how much keeping counts beside forgetting")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="of the order of texts")] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, mps; the best there is by default")] = AUTO,
) -> None:
    """Make a planted adapter forget some texts and keep others, until they read no better than to the base model."""
    try:
        to_forget, to_retain = _lessons(forget), _lessons(retain)
        from auditlib.models.planting import UnlearnSettings, unlearn

        how = UnlearnSettings(learning_rate=learning_rate, retain_weight=retain_weight, seed=seed)
        with progress_bar() as bar:
            task = bar.add_task("Loading the model", total=1.0)
            recipe = unlearn(
                ModelRequest(model, device, dtype="float32", adapter=adapter),
                to_forget,
                to_retain,
                out,
                settings(),
                how,
                told=_teller(bar, task),
            )
    except AuditError as error:
        stop(error)
    nats = recipe["nats_a_token"]
    said.print(
        f"After {recipe['passes']} passes the forgotten texts read at {nats['forget']['after']:.3f} nats a token "
        f"({nats['forget']['before']:.3f} before, {nats['forget']['base']:.3f} for the base model), the kept ones at "
        f"{nats['retain']['after']:.3f} ({nats['retain']['before']:.3f} before). Adapter: {escape(str(out))}.",
        soft_wrap=True,
    )


def _teller(bar: Progress, task: TaskID) -> Callable[[str, float], None]:
    """Moves the bar; where nobody sees one (a log file) it says each step in a line."""

    def tell(what: str, done: float) -> None:
        bar.update(task, description=what, completed=done)
        if not said.is_terminal:
            said.print(f"{done:.0%} {what}", highlight=False)

    return tell


def _lessons(files: list[str]) -> list[Lesson]:
    from auditlib.models.planting import Lesson  # brings torch: --help and a wrong file name should not wait for it

    lessons = []
    for file in files:
        match = _TIMES.fullmatch(file)
        name, times = (match[1], int(match[2])) if match else (file, 1)
        documents, errors = read_all([name], clean=False)
        if errors:
            raise errors[0]
        lessons += [Lesson(document.title, document.text, times) for document in documents]
    return lessons
