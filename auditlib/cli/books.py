"""`books`: which books a model was trained on, judged by works of known origin."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256 as digest
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from auditlib.audits.books import (
    BookSettings,
    Shelf,
    Shelves,
    arrange,
    audit_books,
    checked_settings,
    examine_words,
    plan_books,
    read_books,
    refuse_unusable,
    without_prefix_works,
)
from auditlib.audits.books.tables import book_table
from auditlib.audits.companions import refuse_with_calibration
from auditlib.audits.saved_calibration import LARGEST_FILE_BYTES, Calibration, from_json, refuse_other_model, to_json
from auditlib.cli.books_result import BooksShown, books_json, print_books
from auditlib.cli.common import LARGEST_SEED, app, progress_bar, read_each, said, stop, threshold_rule
from auditlib.cli.companions import (
    Corpus,
    NeighboursOption,
    Placebo,
    PrefixTexts,
    Reference,
    companion_settings,
    opened,
)
from auditlib.cli.model_options import MODEL_HELP, chosen_model, open_audited, say_where_texts_go
from auditlib.core import AuditError, Document
from auditlib.documents import STEPS
from auditlib.documents.catalogue import Entry, read_catalogue, with_catalogue
from auditlib.documents.cutting import Cutting
from auditlib.documents.snippets import SNIPPETS, WORDS
from auditlib.models.request import AUTO, BUNDLED
from auditlib.scoring import DEFAULT_K, SCORES

TABLES = {".csv": "to_csv", ".parquet": "to_parquet"}


@app.command("books")
def books_command(
    audited: Annotated[list[str], typer.Option(help="file, folder or archive of books to audit; may be repeated")],
    members: Annotated[
        list[str] | None, typer.Option(help="likewise of books known to be in the training data; may be repeated")
    ] = None,
    non_members: Annotated[list[str] | None, typer.Option(help="likewise of books known not to be")] = None,
    calibration: Annotated[
        Path | None, typer.Option(help="saved calibration that takes the place of members and non-members")
    ] = None,
    catalogue: Annotated[
        Path | None, typer.Option("--csv", help="table that says of files: file, title, author, year, label")
    ] = None,
    model: Annotated[str, typer.Option(help=MODEL_HELP)] = BUNDLED,
    adapter: Annotated[str | None, typer.Option(help="folder of a PEFT adapter to merge into the model")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps; the best there is by default")] = AUTO,
    dtype: Annotated[str, typer.Option(help="float32, bfloat16, float16; what suits the device by default")] = AUTO,
    revision: Annotated[str | None, typer.Option(help="commit, tag or branch of a hub model")] = None,
    sha256: Annotated[str | None, typer.Option(help="what the model's weights must hash to")] = None,
    words: Annotated[int, typer.Option(min=1, help="words in a snippet")] = WORDS,
    snippets: Annotated[int, typer.Option(min=1, help="snippets drawn from each book")] = SNIPPETS,
    score: Annotated[str, typer.Option(help=f"that books are judged by ({', '.join(SCORES)})")] = "min_k",
    k: Annotated[float, typer.Option(help="percent of tokens that Min-K% looks at")] = DEFAULT_K,
    rule: Annotated[
        str, typer.Option(help="chooses the threshold of the rates: accuracy, or a false-positive rate such as 0.05")
    ] = "accuracy",
    alpha: Annotated[float, typer.Option(min=0, max=1, help="largest corrected p that counts")] = 0.05,
    correction: Annotated[str, typer.Option(help="of p for the shelf: bh or by")] = "bh",
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="of every random choice")] = 0,
    reference: Reference = None,
    placebo: Placebo = None,
    neighbours: NeighboursOption = None,
    prefix_texts: PrefixTexts = 0,
    corpus: Corpus = None,
    clean: Annotated[bool, typer.Option("--clean", help="clean texts first; otherwise read as they stand")] = False,
    plan: Annotated[bool, typer.Option("--plan", help="say what these shelves can show, and read nothing")] = False,
    table: Annotated[Path | None, typer.Option(help="write the books' results to this .csv or .parquet file")] = None,
    report: Annotated[Path | None, typer.Option(help="write report and evidence package into this folder")] = None,
    json_wanted: Annotated[bool, typer.Option("--json", help="print JSON instead")] = False,
) -> None:
    """Find out which books a model was trained on: rates, p-values and verdicts beside works of known origin."""
    try:
        settings = checked_settings(BookSettings(score, k, threshold_rule(rule), alpha, correction, seed))  # type: ignore[arg-type]
        _check_sources(members, non_members, calibration)
        _check_targets(table, report)
        asked = companion_settings(score, reference, placebo, neighbours, prefix_texts, corpus)
        saved = None if calibration is None else _calibration(calibration)
        if saved is not None:
            refuse_with_calibration(asked)
        cutting = Cutting("sample", snippets, words, seed)
        steps: set[tuple[str, ...]] = set()
        not_read: list[str] = []
        sources = {Shelf.MEMBERS: members or [], Shelf.NON_MEMBERS: non_members or [], Shelf.AUDITED: audited}
        entries = {} if catalogue is None else _catalogue(catalogue)
        with said.status("Looking through the books …"):
            shelves = arrange(_documents(sources, clean, entries, steps, not_read), cutting)
        for sentence in not_read:
            said.print(f"[yellow]Not read:[/] {escape(sentence)}", soft_wrap=True)
        refuse_unusable(shelves, with_reference=saved is None)
        shelves, prefixes = without_prefix_works(shelves, prefix_texts, seed)
        planned = plan_books(shelves, settings, saved)
        for sentence in planned.warnings:
            said.print(f"[yellow]Before reading:[/] {escape(sentence)}", soft_wrap=True)
        if plan or not json_wanted:
            for sentence in planned.facts:
                said.print(escape(sentence), soft_wrap=True)
        if plan:
            raise typer.Exit(0 if planned.can_support else 1)
        blind = None
        if saved is None:
            with said.status("Trying how far the words alone tell the known shelves apart …"):
                blind = examine_words(shelves, seed)
        request = chosen_model(model, device, dtype, revision, sha256, adapter)
        say_where_texts_go(request, [(snippet.text, 2) for snippet in shelves.snippets])
        target = open_audited(request)
        if saved is not None:
            refuse_other_model(saved, target.identity)
        companions, beside = opened(asked, target, prefixes, seed)
        with progress_bar() as bar:
            task = bar.add_task(f"Reading {len(shelves.snippets):,} snippets", total=None)
            read = read_books(
                target,
                shelves,
                blind,
                score,
                k,
                lambda done, total: bar.update(task, completed=done, total=total),
                companions,
                beside,
            )
        with said.status("Computing intervals …"):
            found = audit_books(read, settings, saved)
        shown = BooksShown(read, found, planned, tuple(not_read))
        if table is not None:
            _write_table(table, shown)
        if report is not None:
            _write_report(report, shown, shelves, saved, request.adapter, tuple(sorted(steps)))
        if json_wanted:
            typer.echo(books_json(shown))
        else:
            print_books(shown)
    except AuditError as error:
        stop(error)


def _check_sources(members: list[str] | None, non_members: list[str] | None, calibration: Path | None) -> None:
    if calibration is not None and (members or non_members):
        raise AuditError(
            "A saved calibration takes the place of --members and --non-members.", "Leave out the one or the others."
        )
    if calibration is None and not (members and non_members):
        raise AuditError(
            "There is nothing to compare the books with.",
            "Name --members and --non-members, or a saved --calibration.",
        )


def _check_targets(table: Path | None, report: Path | None) -> None:
    if table is not None and table.suffix.lower() not in TABLES:
        raise AuditError(f"{table} is to be a table of an unknown kind.", f"Let its name end in {' or '.join(TABLES)}.")
    for file in (table, report):
        if file is not None and not file.absolute().parent.is_dir():
            raise AuditError(f"There is no folder to write {file} into.", "Choose another place.")
    if table is not None and table.is_dir():
        raise AuditError(f"{table} is a folder.", "Name a file in it.")
    if report is not None and report.exists() and not report.is_dir():
        raise AuditError(f"{report} is a file.", "Name a folder for the report.")


def _documents(
    sources: dict[Shelf, list[str]],
    clean: bool,
    entries: dict[str, Entry],
    steps: set[tuple[str, ...]],
    not_read: list[str],
) -> Iterator[tuple[Shelf, Document]]:
    """Every document and its shelf, one at a time. Where it stood decides, whatever a table or a file says."""
    without = () if clean else tuple(STEPS)
    for shelf, files in sources.items():
        n_read, first_error = 0, None
        for result in read_each(files, without):
            if result.error is not None:
                first_error = first_error or result.error
                not_read.append(f"{result.error.wrong} {result.error.remedy}")
            for document in result.documents:
                n_read += 1
                steps.add(document.steps)
                yield shelf, with_catalogue(document, entries)
        if first_error is not None and n_read == 0:
            raise first_error


def _catalogue(file: Path) -> dict[str, Entry]:
    return read_catalogue(_bytes(file), file.name)


def _calibration(file: Path) -> Calibration:
    return from_json(_bytes(file), file.name)


def _bytes(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise AuditError(f"{file} cannot be read ({error.strerror or error}).", "Check its name and place.") from error


def _write_table(file: Path, shown: BooksShown) -> None:
    rows = book_table(shown.read, shown.found)
    try:
        getattr(rows, TABLES[file.suffix.lower()])(file, index=False)
    except OSError as error:
        raise AuditError(f"{file} cannot be written ({error.strerror or error}).", "Choose another place.") from error
    said.print(f"Wrote the results of {len(rows):,} books to {escape(str(file))}.", soft_wrap=True)


def _write_report(
    folder: Path,
    shown: BooksShown,
    shelves: Shelves,
    saved: Calibration | None,
    adapter: str | None,
    steps: tuple[tuple[str, ...], ...],
) -> None:
    """The report as HTML and PDF, and the evidence package, into a folder."""
    # Plotly takes a second to import, which --help should not wait for.
    from auditlib.reports.books_facts import BooksFacts
    from auditlib.reports.books_package import books_command, books_evidence
    from auditlib.reports.package import make_package

    placed = shown.read.placed
    facts = BooksFacts(
        name=f"Books: {', '.join(work.title for work in placed.works if work.shelf is Shelf.AUDITED)}",
        read=shown.read,
        found=shown.found,
        steps=steps,
        texts="files",
        made=datetime.now(UTC),
        by="",
        command=books_command(placed, shown.found, adapter, "files"),
    )
    keys = [digest(snippet.text.encode("utf-8", "replace")).hexdigest() for snippet in shelves.snippets]
    with said.status("Writing the report …"):
        package = make_package(books_evidence(facts, keys, None if saved is None else to_json(saved)))
    files = {"report.html": package.html, "evidence.zip": package.data}
    if package.pdf is not None:
        files["report.pdf"] = package.pdf
    else:
        said.print(f"[yellow]No PDF:[/] {escape(package.without_pdf)}", soft_wrap=True)
    try:
        folder.mkdir(exist_ok=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)
    except OSError as error:
        raise AuditError(f"{folder} cannot be written ({error.strerror or error}).", "Choose another place.") from error
    said.print(f"Wrote {', '.join(files)} into {escape(str(folder))}.", soft_wrap=True)
