"""A run kind: the unlearning audit, from its works' names to its numbers and files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditlib.audits.unlearning import (
    Chunk,
    Chunks,
    CompletionTest,
    JudgePanel,
    Numbers,
    QuestionTest,
    Role,
    Screening,
    UnlearningResult,
    Work,
    cut_works,
    forgetting,
    question_test,
    read_numbers,
    screen,
    unlearning_verdict,
)
from auditlib.audits.unlearning.completions import (
    NO_JUDGE,
    Agreement,
    Completion,
    agreement,
    chosen_chunks,
    compared,
    comparisons,
    with_judge,
)
from auditlib.audits.unlearning.gallery import gallery_of
from auditlib.audits.unlearning.questions import Question, Questions, prompts_of
from auditlib.core import AuditError, Capability, ModelIdentity, TargetModel
from auditlib.jobs.cached_reading import text_key
from auditlib.jobs.kept_generation import keep_generating
from auditlib.jobs.kinds import RunContext, run_kind
from auditlib.jobs.plain import to_plain
from auditlib.jobs.unlearning_files import (
    JUDGEMENTS,
    RESULT,
    all_judgements,
    put_gallery,
    put_tables,
)
from auditlib.jobs.unlearning_report import run_evidence
from auditlib.jobs.unlearning_texts import (
    UnlearningParameters,
    run_questions,
    unlearning_parameters,
    unlearning_works,
)
from auditlib.models.request import ModelRequest
from auditlib.models.sampling import GeneratingModel, Sampling

KIND = "unlearning"
MOST_NEW_TOKENS = 1024
NO_EMBEDDING = ""


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
        questions, why = _made_questions(context, parameters, chunks)
        notes += [why] if why else []

    original, _ = _read(context, parameters, parameters.original, "the original model", chunks, questions)
    reference = None
    if parameters.reference is not None:
        reference, _ = _read(context, parameters, parameters.reference, "the reference model", chunks, None)
    unlearned, model = _read(context, parameters, parameters.unlearned, "the unlearned model", chunks, questions)
    identities = {"original": original.identity, "unlearned": unlearned.identity}
    if reference is not None:
        identities["reference"] = reference.identity
    context.record(
        {part: identity.as_dict() for part, identity in identities.items()},
        {chunk.id: text_key(chunk.text) for chunk in chunks.chunks},
    )
    screening = screen(chunks.chunks, original.chunks, unlearned.chunks, settings.score, settings.k, settings.factor)
    test = _completion_test(context, parameters, model, chunks, screening)
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
    what: str,
    chunks: Chunks,
    questions: Questions | None,
) -> tuple[_Read, TargetModel]:
    """Chunks and questions through one model, in one go, so that the run has one plan of batches for each."""
    model = context.open_model(request)
    context.stage(f"reading with {what}")
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


def _completion_test(
    context: RunContext,
    parameters: UnlearningParameters,
    model: TargetModel,
    chunks: Chunks,
    screening: Screening,
) -> CompletionTest:
    settings = parameters.all_settings
    nothing = CompletionTest(
        NO_EMBEDDING,
        settings.sampling(max(1, settings.new_tokens)),
        settings.prompt_words,
        (),
        (),
        JudgePanel("", 0, {}, 0, 0, Agreement(0, None, "There are no completions."), NO_JUDGE),
    )
    if not parameters.complete:
        return replace(nothing, missing="It was not asked for.")
    if Capability.GENERATE not in model.capabilities:
        return replace(nothing, missing=f"{model.identity.name} gives no continuations here.")
    generating: GeneratingModel = model  # type: ignore[assignment]  # its capabilities say so
    context.stage("continuing chunks")
    chosen = chosen_chunks(chunks.chunks, settings.most_chunks, settings.seed)
    used, sampling, notes = _fitting(generating, chosen, parameters)
    if not used:
        return replace(nothing, missing=notes[0], notes=tuple(notes))
    drawn = keep_generating(
        context, generating, "completions", [c.prompt for c in used], [c.name for c in used], sampling
    )
    context.stage("comparing")
    embed, name, why = _embedding(context, parameters.embedding)
    notes += [why] if why else []
    completions = compared(used, drawn, embed)
    completions, panel = _judged(context, parameters, used, completions)
    return CompletionTest(
        name,
        sampling,
        settings.prompt_words,
        completions,
        comparisons(completions, screening, settings.seed),
        panel,
        tuple(notes),
    )


def _fitting(
    model: GeneratingModel, chunks: Sequence[Chunk], parameters: UnlearningParameters
) -> tuple[list[Chunk], Sampling, list[str]]:
    """Chunks whose prompts leave room for a continuation in the model's window, and what is said of the others."""
    settings = parameters.all_settings
    rests = [model.prompt_tokens(chunk.continuation, chunk.name) for chunk in chunks]
    new_tokens = settings.new_tokens or min(max(rests), MOST_NEW_TOKENS)
    prompts = [model.prompt_tokens(chunk.prompt, chunk.name) for chunk in chunks]
    used = [c for c, n in zip(chunks, prompts, strict=True) if n + new_tokens <= model.window_tokens]
    notes = []
    if len(used) < len(chunks):
        place, longest = max(enumerate(prompts), key=lambda pair: pair[1])
        left = len(chunks) - len(used)
        notes.append(
            f"{left:,} of {len(chunks):,} prompts do not fit into the {model.window_tokens:,} tokens that "
            f"{model.identity.name} sees at once, with {new_tokens:,} more to come, and were not completed: "
            f"{chunks[place].name} has {longest:,}."
        )
    return used, settings.sampling(new_tokens), notes


Embed = Callable[[Sequence[str]], NDArray[np.float32]]


def _embedding(context: RunContext, source: str) -> tuple[Embed | None, str, str]:
    """What embeds, its name, and why there is none."""
    if not source:
        return None, NO_EMBEDDING, "No sentence model was asked for, so there are no cosines."
    # Brings torch, which pages must not: they know this kind's name and parameters.
    from auditlib.models.embedding import open_sentence_model

    try:
        model = open_sentence_model(source, context.settings)
    except AuditError as error:
        return None, NO_EMBEDDING, f"There are no cosines. {error.wrong} {error.remedy}"
    return (lambda texts: model.embed(texts, context.breathe)), model.identity.name, ""


def _judged(
    context: RunContext,
    parameters: UnlearningParameters,
    chunks: Sequence[Chunk],
    completions: tuple[Completion, ...],
) -> tuple[tuple[Completion, ...], JudgePanel]:
    request = parameters.judge
    if request is None:
        return completions, JudgePanel("", 0, {}, 0, 0, agreement(completions), NO_JUDGE)
    # Brings the client of a service that most audits do not ask.
    from auditlib.models.judge import Judge

    context.stage("asking the judge")
    kept = all_judgements(context.store, context.run)
    truth = {chunk.id: chunk.continuation for chunk in chunks}

    def keep(answers: Any) -> None:
        context.put(JUDGEMENTS, "application/json", json.dumps(answers).encode())

    def hear(done: int, total: int) -> None:
        context.progress(done, total)
        context.breathe()

    try:
        judge = Judge(request, context.settings, kept)
        given = judge.rate([(truth[one.chunk], one.text) for one in completions], hear, keep)
    except AuditError as error:
        said = f"The judge could not be asked. {error.wrong} {error.remedy}"
        return completions, JudgePanel(request.model, 0, {}, 0, 0, agreement(completions), said)
    keep(kept)
    rated = with_judge(completions, given.ratings)
    missing: dict[str, int] = {}
    for rating in given.ratings:
        if rating.missing is not None:
            missing[rating.missing.value] = missing.get(rating.missing.value, 0) + 1
    n_rated = len(rated) - sum(missing.values())
    panel = JudgePanel(request.model, n_rated, missing, len(given.ratings), 0, agreement(rated), given.problem)
    return rated, panel


def _made_questions(
    context: RunContext, parameters: UnlearningParameters, chunks: Chunks
) -> tuple[Questions | None, str]:
    """Questions that the judge makes about the works to be forgotten, and why there are fewer than were wanted."""
    if parameters.judge is None:
        return None, ""
    from auditlib.models.judge import Judge  # as in `_judged`

    context.stage("having questions made")
    kept = all_judgements(context.store, context.run)
    passages = [chunk.text for chunk in chunks.of(Role.FORGET)]

    def hear(done: int, total: int) -> None:
        context.put(JUDGEMENTS, "application/json", json.dumps(kept).encode())
        context.progress(done, total)
        context.breathe()

    try:
        judge = Judge(parameters.judge, context.settings, kept)
        found, why = judge.questions(passages, parameters.judged_questions, hear)
    except AuditError as error:
        return None, f"No questions were made. {error.wrong} {error.remedy}"
    asked = dict(pair for own in found for pair in own)
    if not asked:
        return None, why or "The judge made no question whose answer stands in the works."
    made = (Question(question, answer, row) for row, (question, answer) in enumerate(asked.items(), start=1))
    note = f"{len(asked):,} questions were made by {parameters.judge.model}, in the place of a file."
    return Questions(tuple(made), (note,)), why


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
