"""A run kind: the unlearning audit, from its works' names to its numbers and files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from auditlib.audits.unlearning import (
    Chunks,
    Numbers,
    QuestionTest,
    UnlearningResult,
    Work,
    cut_works,
    forgetting,
    question_test,
    read_numbers,
    screen,
    unlearning_verdict,
)
from auditlib.audits.unlearning.gallery import gallery_of
from auditlib.audits.unlearning.questions import Questions, prompts_of
from auditlib.core import AuditError, Capability, ModelIdentity, TargetModel
from auditlib.jobs.cached_reading import text_key
from auditlib.jobs.kept_generation import keep_generating
from auditlib.jobs.kinds import RunContext, run_kind
from auditlib.jobs.plain import to_plain
from auditlib.jobs.unlearning_completing import completion_test
from auditlib.jobs.unlearning_files import (
    RESULT,
    put_gallery,
    put_tables,
)
from auditlib.jobs.unlearning_judging import made_questions
from auditlib.jobs.unlearning_report import run_evidence
from auditlib.jobs.unlearning_texts import (
    UnlearningParameters,
    run_questions,
    unlearning_parameters,
    unlearning_works,
)
from auditlib.models.request import ModelRequest
from auditlib.models.sampling import GeneratingModel

KIND = "unlearning"


@dataclass(frozen=True)
class _Read:
    """One model's part: who it is, its numbers of the chunks and of the questions, its vocabulary."""

    identity: ModelIdentity
    chunks: Numbers
    questions: Numbers
    vocabulary: int


@run_kind(name=KIND, label="Unlearning", check=unlearning_parameters, evidence=run_evidence)
def execute_unlearning(context: RunContext) -> str:
    """Works, models, readings, continuations, judge, numbers, files."""
    parameters = unlearning_parameters(context.run.parameters)
    settings = parameters.all_settings
    # Before the models: a work that is gone or too short should not wait for gigabytes to be loaded.
    works = unlearning_works(parameters, context.store, context.run)
    chunks = cut_works(works, settings.chunk_words, settings.prompt_words)
    questions = run_questions(context.store, context.run)
    notes = list(chunks.notes)
    if questions is None and parameters.judged_questions:
        questions, why = made_questions(context, parameters, chunks)
        notes += [why] if why else []

    original, _ = _read(context, parameters, parameters.original, "original", chunks, questions)
    reference = None
    if parameters.reference is not None:
        reference, _ = _read(context, parameters, parameters.reference, "reference", chunks, None)
    unlearned, model = _read(context, parameters, parameters.unlearned, "unlearned", chunks, questions)
    identities = {"original": original.identity, "unlearned": unlearned.identity}
    if reference is not None:
        identities["reference"] = reference.identity
    context.record(
        {part: identity.as_dict() for part, identity in identities.items()},
        {chunk.id: text_key(chunk.text) for chunk in chunks.chunks},
    )
    screening = screen(chunks.chunks, original.chunks, unlearned.chunks, settings.score, settings.k, settings.factor)
    test = completion_test(context, parameters, model, chunks, screening)
    asked = (
        None if questions is None else _question_test(context, parameters, model, questions, original, unlearned, works)
    )
    context.stage("computing")
    forgotten = forgetting(
        chunks.chunks,
        original.chunks,
        unlearned.chunks,
        None if reference is None else reference.chunks,
        unlearned.vocabulary,
        original.identity.tokenizer_sha256 == unlearned.identity.tokenizer_sha256,
        settings.margin,
        settings.alpha,
        settings.seed,
    )
    result = UnlearningResult(
        original.identity,
        unlearned.identity,
        None if reference is None else reference.identity,
        settings,
        screening,
        test,
        asked,
        forgotten,
        unlearning_verdict(screening, forgotten, test),
        tuple(notes),
    )
    context.stage("writing")
    put_tables(context, result)
    put_gallery(context, gallery_of(result, chunks))
    data = json.dumps(to_plain(result), indent=1, allow_nan=False).encode()
    context.put(RESULT, "application/json", data)
    return RESULT


def _read(
    context: RunContext,
    parameters: UnlearningParameters,
    request: ModelRequest,
    part: str,
    chunks: Chunks,
    questions: Questions | None,
) -> tuple[_Read, TargetModel]:
    """Chunks and questions through one model, in one go, so that the run has one plan of batches for each."""
    model = context.open_model(request, part)
    context.stage(f"reading with the {part} model")
    asked = () if questions is None else questions.questions
    texts = [*(chunk.text for chunk in chunks.chunks), *(question.text for question in asked)]
    names = [*(chunk.name for chunk in chunks.chunks), *(f"The question of row {q.row:,}" for q in asked)]
    settings = parameters.all_settings
    read = read_numbers(model, texts, names, settings.score, settings.k, context.progress)
    n = len(chunks.chunks)
    return (
        _Read(
            model.identity,
            Numbers(read.scores[:n], read.losses[:n]),
            Numbers(read.scores[n:], read.losses[n:]),
            model.vocabulary_size,
        ),
        model,
    )


def _question_test(
    context: RunContext,
    parameters: UnlearningParameters,
    model: TargetModel,
    questions: Questions,
    original: _Read,
    unlearned: _Read,
    works: Sequence[Work],
) -> QuestionTest:
    settings = parameters.all_settings
    nothing = QuestionTest((), settings.samples, 0, float("nan"), float("nan"), None, None, questions.notes)
    if not parameters.complete or Capability.GENERATE not in model.capabilities:
        return replace(nothing, missing="No answers were drawn, as this model gives no continuations here.")
    generating: GeneratingModel = model  # type: ignore[assignment]
    context.stage("answering questions")
    sampling = settings.sampling(settings.answer_tokens)
    names = [f"The question of row {one.row:,}" for one in questions.questions]
    try:
        drawn = keep_generating(context, generating, "answers", prompts_of(questions.questions), names, sampling)
    except AuditError as error:
        return replace(nothing, missing=f"{error.wrong} {error.remedy}")
    context.stage("comparing answers")
    return question_test(
        questions,
        original.questions,
        unlearned.questions,
        drawn,
        works,
        settings.factor,
        settings.samples,
        settings.seed,
    )
