"""What a judge does in an unlearning run: it rates completions and makes questions. Without it the rest is done."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from auditlib.audits.unlearning import Chunk, Chunks, JudgePanel, Questions, Role
from auditlib.audits.unlearning.completions import NO_JUDGE, Completion, agreement, with_judge
from auditlib.audits.unlearning.questions import Question
from auditlib.core import AuditError
from auditlib.jobs.kinds import RunContext
from auditlib.jobs.unlearning_files import JUDGEMENTS, all_judgements
from auditlib.jobs.unlearning_texts import UnlearningParameters


def judged(
    context: RunContext,
    parameters: UnlearningParameters,
    chunks: Sequence[Chunk],
    completions: tuple[Completion, ...],
) -> tuple[tuple[Completion, ...], JudgePanel]:
    """The completions with the judge's ratings, and what became of asking."""
    request = parameters.judge
    if request is None:
        return completions, JudgePanel("", 0, {}, 0, agreement(completions), NO_JUDGE)
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
        return completions, JudgePanel(request.model, 0, {}, 0, agreement(completions), said)
    keep(kept)
    rated = with_judge(completions, given.ratings)
    missing: dict[str, int] = {}
    for rating in given.ratings:
        if rating.missing is not None:
            missing[rating.missing.value] = missing.get(rating.missing.value, 0) + 1
    n_rated = len(rated) - sum(missing.values())
    panel = JudgePanel(request.model, n_rated, missing, len(given.ratings), agreement(rated), given.problem)
    return rated, panel


def made_questions(
    context: RunContext, parameters: UnlearningParameters, chunks: Chunks
) -> tuple[Questions | None, str]:
    """Questions that the judge makes about the works to be forgotten, and why there are fewer than were wanted."""
    if parameters.judge is None:
        return None, ""
    from auditlib.models.judge import Judge  # as in `judged`

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
