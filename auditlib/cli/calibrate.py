"""`calibrate`: how well each score tells known members from known non-members."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from auditlib.audits.calibration import K_SCORES, KSweep, calibrate, checked_alpha, examine_words, k_sweep
from auditlib.audits.companions import without_prefixes
from auditlib.audits.saved_calibration import keep, to_json
from auditlib.audits.sets import LabelledSets, ReadSets, labelled_sets, read_sets, told_apart
from auditlib.cli.calibration_files import TABLES, write_package, write_table, write_text
from auditlib.cli.calibration_result import Shown, as_json, print_result
from auditlib.cli.common import LARGEST_SEED, app, progress_bar, read_all, said, stop, threshold_rule
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
from auditlib.core import AuditError, Document, Label, TargetModel
from auditlib.documents.cutting import Cutting
from auditlib.documents.snippets import SNIPPETS, WORDS
from auditlib.models.request import AUTO, BUNDLED
from auditlib.reports.calibration_facts import Preparation
from auditlib.scoring import DEFAULT_K, SCORES, Companions, checked_k


class CutName(StrEnum):
    """How each text is cut into what is scored."""

    WHOLE = "whole"
    SAMPLE = "sample"
    TILE = "tile"
    TRUNCATE = "truncate"


@app.command("calibrate")
def calibrate_command(
    members: Annotated[
        list[str],
        typer.Option(help="file, folder or archive of texts known to be in the training data; may be repeated"),
    ],
    non_members: Annotated[list[str], typer.Option(help="likewise of texts known not to be; may be repeated")],
    model: Annotated[str, typer.Option(help=MODEL_HELP)] = BUNDLED,
    adapter: Annotated[str | None, typer.Option(help="folder of a PEFT adapter to merge into the model")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps; the best there is by default")] = AUTO,
    dtype: Annotated[str, typer.Option(help="float32, bfloat16, float16; what suits the device by default")] = AUTO,
    revision: Annotated[str | None, typer.Option(help="commit, tag or branch of a hub model")] = None,
    sha256: Annotated[str | None, typer.Option(help="what the model's weights must hash to")] = None,
    score: Annotated[
        str, typer.Option(help=f"whose verdict is given ({', '.join(SCORES)}); the table has all of them")
    ] = "min_k",
    k: Annotated[float, typer.Option(help="percent of tokens that Min-K% looks at")] = DEFAULT_K,
    alpha: Annotated[float, typer.Option(min=0, max=1, help="largest p that counts")] = 0.05,
    rule: Annotated[
        str, typer.Option(help="chooses the threshold: accuracy, or a false-positive rate such as 0.05")
    ] = "accuracy",
    cut: Annotated[
        CutName,
        typer.Option(help="what is scored: whole texts, a random sample of pieces, all pieces, or the first words"),
    ] = CutName.WHOLE,
    words: Annotated[int, typer.Option(min=1, help="words in a piece")] = WORDS,
    snippets: Annotated[int, typer.Option(min=1, help="pieces in the sample of each text")] = SNIPPETS,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="of every random choice")] = 0,
    reference: Reference = None,
    placebo: Placebo = None,
    neighbours: NeighboursOption = None,
    prefix_texts: PrefixTexts = 0,
    corpus: Corpus = None,
    clean: Annotated[bool, typer.Option("--clean", help="clean texts first; otherwise read as they stand")] = False,
    save: Annotated[Path | None, typer.Option(help="keep the score's calibration in this file, for `place`")] = None,
    name: Annotated[str | None, typer.Option(help="of the saved calibration; the file's own by default")] = None,
    table: Annotated[Path | None, typer.Option(help="write every text's scores to this .csv or .parquet file")] = None,
    package: Annotated[
        Path | None, typer.Option(help="write report and numbers as an evidence package to this .zip file")
    ] = None,
    with_texts: Annotated[bool, typer.Option("--with-texts", help="put the texts themselves into it")] = False,
    json_wanted: Annotated[bool, typer.Option("--json", help="print JSON instead")] = False,
) -> None:
    """Find out how well scores tell known members from known non-members, and whether that has to do with the model."""
    try:
        checked_k(k)
        checked_alpha(alpha)
        chosen_rule = threshold_rule(rule)
        if score not in SCORES:
            raise AuditError(f"There is no score {score[:40]!r}.", f"Choose one of {', '.join(SCORES)}.")
        _check_targets(save, name, table, package)
        cutting = Cutting(cut.value, snippets, words, seed)
        asked = companion_settings(score, reference, placebo, neighbours, prefix_texts, corpus)
        sets, notes, steps = _sets(members, non_members, cutting, clean)
        sets, prefixes = without_prefixes(sets, prefix_texts, seed)
        with said.status("Trying how far the words alone tell the sets apart …"):
            blind = examine_words(sets, seed)
        request = chosen_model(model, device, dtype, revision, sha256, adapter)
        say_where_texts_go(request, [(text, 2) for text in sets.texts])
        target = open_audited(request)
        read = _read(target, sets, *opened(asked, target, prefixes, seed))
        notes = [*read.sets.notes, *notes]
        with said.status("Computing intervals …"):
            found = calibrate(read, blind, k, alpha, chosen_rule, seed=seed)
            if reason := found.unavailable.get(score):
                raise AuditError(
                    f"{SCORES[score].label} cannot be had for these texts. {reason}", "Choose another score."
                )
            swept = score if score in K_SCORES else "min_k"
            sweep = _sweep(read, swept, seed)
        settings: dict[str, object] = {"cut": cut, "clean": clean}
        if cut is not CutName.WHOLE:
            settings["words"] = words
        if cut is CutName.SAMPLE:
            settings["snippets"] = snippets
        shown = Shown(score, read, found, swept, sweep, tuple(notes), settings)
        if table is not None:
            write_table(table, read, k)
        if save is not None:
            kept = keep(read, found, score, name or save.stem, datetime.now(UTC))
            write_text(save, to_json(kept))
            said.print(f"Saved the calibration “{escape(kept.name)}” in {escape(str(save))}.", soft_wrap=True)
        if package is not None:
            prepared = Preparation("files", cutting, steps)
            write_package(package, shown, prepared, request.adapter, name or package.stem, with_texts)
        if json_wanted:
            typer.echo(as_json(shown))
        else:
            print_result(shown)
    except AuditError as error:
        stop(error)


def _check_targets(save: Path | None, name: str | None, table: Path | None, package: Path | None) -> None:
    if name is not None and save is None and package is None:
        raise AuditError("A name was given, and nothing to save under it.", "Say where with --save FILE.json.")
    if name is not None and not name.strip():
        raise AuditError("The calibration has no name.", "Give it one, such as the model's and the material's.")
    if table is not None and table.suffix.lower() not in TABLES:
        raise AuditError(f"{table} is to be a table of an unknown kind.", f"Let its name end in {' or '.join(TABLES)}.")
    for file in (save, table, package):
        if file is not None and not file.absolute().parent.is_dir():
            raise AuditError(f"There is no folder to write {file} into.", "Choose another place.")
        if file is not None and file.is_dir():
            raise AuditError(f"{file} is a folder.", "Name a file in it.")


def _sets(
    members: list[str], non_members: list[str], cutting: Cutting, clean: bool
) -> tuple[LabelledSets, list[str], tuple[tuple[str, ...], ...]]:
    """Both sets, what was left out of them, and the steps that cleaned them.

    Where a text stood decides its label, whatever a file says.
    """
    documents: list[Document] = []
    notes: list[str] = []
    for label, paths in ((Label.MEMBER, members), (Label.NON_MEMBER, non_members)):
        for path in paths:
            found, errors = read_all([path], clean)
            if errors and not found:
                raise errors[0]
            notes += [f"Not read: {error.wrong} {error.remedy}" for error in errors]
            documents += [replace(document, label=label) for document in found]
    cuts = [cutting.cut(document) for document in told_apart(documents)]
    notes += [one.note for one in cuts if one.note]
    sets = labelled_sets([snippet for one in cuts for snippet in one.snippets])
    return sets, notes, tuple(sorted({document.steps for document in documents}))


def _read(
    target: TargetModel, sets: LabelledSets, companions: Companions | None, placebo: TargetModel | None
) -> ReadSets:
    with progress_bar() as bar:
        task = bar.add_task(f"Reading {len(sets.snippets):,} texts", total=None)
        return read_sets(
            target, sets, lambda done, total: bar.update(task, completed=done, total=total), companions, placebo
        )


def _sweep(read: ReadSets, score: str, seed: int) -> KSweep | AuditError:
    """The sweep, or why there is none."""
    try:
        return k_sweep(read, score, seed)
    except AuditError as error:
        return error
