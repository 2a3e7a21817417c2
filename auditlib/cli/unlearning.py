"""`unlearning`: did a model forget the works that it was made to forget."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from auditlib.audits.unlearning import DEMO_SETTINGS, Questions, Role, UnlearningSettings, read_questions
from auditlib.cli.common import LARGEST_SEED, app, progress_bar, read_all, said, stop
from auditlib.cli.json_output import to_json
from auditlib.cli.model_options import MODEL_HELP, chosen_model
from auditlib.cli.unlearning_result import print_unlearning
from auditlib.core import AuditError, Document, Settings, settings
from auditlib.jobs import JobClient, brought_file, report_files
from auditlib.jobs.inline import execute_inline
from auditlib.jobs.kept_generation import generation_speed
from auditlib.jobs.unlearning_files import load_gallery, load_unlearning
from auditlib.jobs.unlearning_texts import UnlearningParameters, demo_parameters, questions_file, roles_of
from auditlib.models.judge_request import JudgeRequest
from auditlib.models.request import AUTO, BUNDLED
from auditlib.scoring import DEFAULT_K, SCORES
from auditlib.store import FINISHED, Run, RunState, Store

LOOK_SECONDS = 0.5
Files = list[str] | None


@app.command("unlearning")
def unlearning_command(
    forget: Annotated[Files, typer.Option(help="file or folder of works to be forgotten; may be repeated")] = None,
    keep: Annotated[Files, typer.Option(help="likewise of works to be kept")] = None,
    held_out: Annotated[Files, typer.Option(help="likewise of works that no model saw")] = None,
    original: Annotated[str, typer.Option(help=f"model before: {MODEL_HELP}")] = BUNDLED,
    original_adapter: Annotated[str | None, typer.Option(help="adapter of the model before")] = None,
    unlearned: Annotated[str, typer.Option(help="model after")] = BUNDLED,
    unlearned_adapter: Annotated[str | None, typer.Option(help="adapter of the model after")] = None,
    reference: Annotated[str | None, typer.Option(help="model that never saw the works to be forgotten")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="the books and models that come with the program")] = False,
    questions: Annotated[
        Path | None, typer.Option(help=".csv or .jsonl file with the columns question and answer")
    ] = None,
    judged_questions: Annotated[
        int, typer.Option(min=0, help="questions that the judge makes about each chunk, without a file of them")
    ] = 0,
    words: Annotated[int | None, typer.Option(min=1, help="words in a chunk; 512 by default, 128 for the demo")] = None,
    prompt_words: Annotated[int | None, typer.Option(min=1, help="words of it that are the prompt; 200, or 50")] = None,
    samples: Annotated[int | None, typer.Option(min=1, help="continuations of each chunk; 20, or 4")] = None,
    new_tokens: Annotated[
        int | None, typer.Option(min=0, help="tokens of each; 0 for as many as the work's own continuation has")
    ] = None,
    score: Annotated[str, typer.Option(help=f"that chunks are screened by ({', '.join(SCORES)})")] = "min_k",
    k: Annotated[float, typer.Option(help="percent of tokens that Min-K% looks at")] = DEFAULT_K,
    factor: Annotated[float, typer.Option(help="suspicious are ratios within 1/factor and factor")] = 1.15,
    margin: Annotated[float, typer.Option(help="difference of AUCs that would not matter")] = 0.1,
    embedding: Annotated[str, typer.Option(help="sentence model: bundled, a folder, a hub id, or none")] = BUNDLED,
    judge_url: Annotated[str | None, typer.Option(help="base URL of a chat model that rates completions")] = None,
    judge_model: Annotated[str, typer.Option(help="its name; its key is AUDIT_JUDGE_KEY")] = "",
    judge_price: Annotated[float | None, typer.Option(help="of a million of its tokens")] = None,
    judge_most_tokens: Annotated[int | None, typer.Option(min=1, help="that it may be sent")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps; the best there is by default")] = AUTO,
    dtype: Annotated[str, typer.Option(help="float32, bfloat16, float16; what suits the device")] = AUTO,
    clean: Annotated[bool, typer.Option("--clean", help="clean texts first; otherwise read as they stand")] = False,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="of every random choice")] = 0,
    no_completions: Annotated[bool, typer.Option("--no-completions", help="screen only, and draw nothing")] = False,
    name: Annotated[str, typer.Option(help="of the run")] = "",
    resume: Annotated[str | None, typer.Option(help="id of an unfinished run of this kind to go on with")] = None,
    report: Annotated[Path | None, typer.Option(help="write report and evidence package into this folder")] = None,
    json_wanted: Annotated[bool, typer.Option("--json", help="print JSON instead")] = False,
) -> None:
    """Find out whether a model has forgotten works: screening, completions, questions, and statistics of forgetting."""
    try:
        chosen = settings()
        store = Store(chosen.home_folder, chosen.database_url)
        client = JobClient(store, chosen)
        asked = None if questions is None else _questions(questions)
        if resume is not None:
            run = _resumed(client, resume)
        else:
            base = DEMO_SETTINGS if demo else UnlearningSettings()
            numbers = {"chunk_words": words, "prompt_words": prompt_words, "samples": samples, "new_tokens": new_tokens}
            wanted = replace(
                base,
                score=score,
                k=k,
                factor=factor,
                margin=margin,
                **{what: value for what, value in numbers.items() if value is not None},
            )
            judge = None
            if judge_url is not None:
                judge = JudgeRequest(judge_url, judge_model, price=judge_price, most_tokens=judge_most_tokens)
            files = {} if asked is None else questions_file(asked)
            if demo:
                parameters = demo_parameters(wanted)
            else:
                works = {
                    role: _read(paths or [], clean)
                    for role, paths in ((Role.FORGET, forget), (Role.KEEP, keep), (Role.HELD_OUT, held_out))
                }
                parameters = UnlearningParameters(
                    chosen_model(original, device, dtype, adapter=original_adapter),
                    chosen_model(unlearned, device, dtype, adapter=unlearned_adapter),
                    None if reference is None else chosen_model(reference, device, dtype),
                    texts="brought",
                    documents=tuple(one for role, own in works.items() for one in roles_of(own, role)),
                    settings=wanted,
                )
                files = brought_file([document for own in works.values() for document in own]) | files
            parameters = replace(
                parameters,
                judge=judge,
                embedding="" if embedding == "none" else embedding,
                complete=not no_completions,
                judged_questions=judged_questions,
                seed=seed,
            )
            run = client.start("unlearning", name, parameters, files=files)
        run = _executed(store, chosen, client, run)
        if run.state is not RunState.DONE:
            raise AuditError(
                f"The run {run.id[:8]} was {run.state.value}. {run.problem or ''}".strip(),
                f"What it has done is kept: go on with “unlearning --resume {run.id[:8]}”.",
            )
        result = load_unlearning(store, run)
        if report is not None:
            _write_report(store, run, report)
        if json_wanted:
            typer.echo(to_json(result))
        else:
            print_unlearning(result, load_gallery(store, run), generation_speed(store, run))
    except AuditError as error:
        stop(error)


def _questions(file: Path) -> Questions:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise AuditError(f"{file} cannot be read ({error.strerror or error}).", "Check the path.") from error
    found = read_questions(file.name, data)
    for note in found.notes:
        said.print(escape(note), soft_wrap=True)
    return found


def _read(paths: list[str], clean: bool) -> list[Document]:
    documents, errors = read_all(paths, clean)
    if errors and not documents:
        raise errors[0]
    for error in errors:
        said.print(f"[yellow]Not read:[/] {escape(error.wrong)}", soft_wrap=True)
    return documents


def _resumed(client: JobClient, run_id: str) -> Run:
    # Here, as the commands' own module would register itself twice while it is imported.
    from auditlib.cli.runs import named

    run = named(client, run_id)
    if run.kind != "unlearning":
        raise AuditError(f"The run {run.id[:8]} is of another kind ({run.kind}).", "“runs list” lists all.")
    client.resume(run.id)
    return client.run(run.id)


def _executed(store: Store, chosen: Settings, client: JobClient, run: Run) -> Run:
    """The run once it has ended: by the worker where one is there, else in this process."""
    if run.state in FINISHED:
        return run
    said.print(f"Run {run.id[:8]}; what it does is kept as it goes.", soft_wrap=True, highlight=False)
    work = None
    if not client.worker_state().is_there:
        work = threading.Thread(target=execute_inline, args=(store, chosen, run), daemon=True)
        work.start()
    told = ""
    with progress_bar() as bar:
        task = bar.add_task("", total=None)
        while run.state not in FINISHED and (work is None or work.is_alive()):
            at = run.progress
            stage = at.stage if at is not None else "starting"
            rate = f", {at.per_second:,.0f} tokens a second" if at is not None and at.per_second else ""
            bar.update(
                task,
                description=f"{stage}{rate}",
                completed=at.done if at else 0,
                total=at.total if at and at.total else None,
            )
            if stage != told and not said.is_terminal:
                said.print(stage, highlight=False)
            told = stage
            time.sleep(LOOK_SECONDS)
            run = client.run(run.id)
    if work is not None:
        work.join()
    return client.run(run.id)


def _write_report(store: Store, run: Run, folder: Path) -> None:
    package = report_files(store, run)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"unlearning-{run.id[:8]}-evidence.zip").write_bytes(package.data)
    except OSError as error:
        raise AuditError(f"{folder} cannot be written ({error.strerror or error}).", "Choose another place.") from error
    said.print(f"Wrote the evidence package, report included, to {escape(str(folder))}.", soft_wrap=True)
