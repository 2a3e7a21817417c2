"""Report and evidence package of a finished unlearning audit, out of the files that the run kept."""

from __future__ import annotations

import math
from hashlib import sha256

from auditlib.audits.unlearning import Chunk, UnlearningResult, cut_works, judged_again
from auditlib.audits.unlearning.gallery import with_ratings
from auditlib.audits.unlearning.screening import FACTOR
from auditlib.core import AuditError
from auditlib.jobs.kept_generation import generation_speed
from auditlib.jobs.plain import to_plain
from auditlib.jobs.unlearning_files import load_gallery, load_unlearning, people_ratings, tables_of
from auditlib.jobs.unlearning_texts import UnlearningParameters, unlearning_parameters, unlearning_works
from auditlib.reports.package import Evidence, InputText
from auditlib.reports.unlearning import unlearning_report
from auditlib.reports.unlearning_facts import UnlearningFacts
from auditlib.store import Run, Runs, Store


def run_evidence(store: Store, run: Run, with_texts: bool = False) -> Evidence:
    """All that goes into report and package, with the ratings that people have given since.

    Raises `AuditError` where a file of the run is gone or altered, and `with_texts` where a work is.
    """
    result, ratings = load_unlearning(store, run), people_ratings(store, run)
    if ratings:
        result = judged_again(result, result.settings.factor, ratings)
    return evidence_as_shown(store, run, result, run.who, with_texts)


def evidence_as_shown(store: Store, run: Run, result: UnlearningResult, by: str, with_texts: bool = False) -> Evidence:
    """The same of a result as a page shows it. `by` stands on the report. Raises `AuditError` likewise."""
    parameters = unlearning_parameters(run.parameters)
    texts: dict[str, Chunk] = {}
    if with_texts:
        settings = result.settings
        chunks = cut_works(unlearning_works(parameters, store, run), settings.chunk_words, settings.prompt_words)
        texts = {chunk.id: chunk for chunk in chunks.chunks}
        if set(texts) != {line.id for line in result.screening.lines}:
            raise AuditError(
                "The texts are no longer those that the run examined.", "Make the package without the texts."
            )
    facts = UnlearningFacts(
        name=run.name,
        result=result,
        gallery=with_ratings(load_gallery(store, run), result.completions),
        speed=generation_speed(store, run),
        made=run.created,
        by=by,
        command=_command(parameters, result),
        run=run.id,
        version=run.versions.get("pretraining-audit", ""),
        versions=run.versions,
    )
    identities = {"original": result.original, "unlearned": result.unlearned, "reference": result.reference}
    return Evidence(
        kind=run.kind,
        report=unlearning_report(facts),
        tables=tables_of(result, with_texts),
        parameters=to_plain(parameters),
        numbers=numbers_to_compare(result),
        identities={part: one.as_dict() for part, one in identities.items() if one is not None},
        inputs=_inputs(store, run, result, texts),
        seed=result.settings.seed,
        versions=run.versions,
        command=facts.command,
        notes=result.notes,
    )


def numbers_to_compare(result: UnlearningResult) -> dict[str, float | None]:
    """What two audits must agree in, by name."""
    found = result.forgetting
    numbers: dict[str, float | None] = {}
    for count in result.screening.counts:
        numbers[f"suspicious.{count.role.name.lower()}"] = float(count.n_suspicious)
    for own in (found.forgotten, found.kept):
        if own is not None and own.original is not None and own.unlearned is not None:
            numbers[f"auc_original.{own.role.name.lower()}"] = own.original.estimate
            numbers[f"auc_unlearned.{own.role.name.lower()}"] = own.unlearned.estimate
    for rise in found.rises:
        numbers[f"loss_unlearned.{rise.role.name.lower()}"] = rise.unlearned
    for one in result.completions.comparisons:
        for side, mean in (("first", one.mean_first), ("second", one.mean_second)):
            numbers[f"{one.measure}.{one.first}.{one.second}.{side}"] = mean if math.isfinite(mean) else None
    return numbers


def _inputs(store: Store, run: Run, result: UnlearningResult, texts: dict[str, Chunk]) -> list[InputText]:
    hashes = Runs(store, run.workspace).inputs(run.id)
    found = []
    for line in result.screening.lines:
        text = texts[line.id].text if line.id in texts else None
        digest = sha256(text.encode("utf-8", "replace")).hexdigest() if text is not None else hashes.get(line.id, "")
        found.append(
            InputText(digest, line.work, line.role.value, line.n_words, line.document_id, line.first_word, text)
        )
    return found


def _command(parameters: UnlearningParameters, result: UnlearningResult) -> str:
    """What reruns it from a shell, as far as that can be said: a judge's key and people's files are their own."""
    window = "" if result.settings.factor == FACTOR else f" --factor {result.settings.factor:g}"
    if parameters.texts == "demo":
        return f"python -m auditlib unlearning --demo{window}"
    return (
        "python -m auditlib unlearning --forget … --keep … --held-out … --original … --unlearned … "
        f"--words {parameters.settings.chunk_words} --prompt-words {parameters.settings.prompt_words} "
        f"--samples {parameters.settings.samples} --seed {parameters.seed}{window}"
    )
