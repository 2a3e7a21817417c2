"""The completion test in a run: which chunks fit, their continuations, and how near these come to the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from auditlib.audits.unlearning import Chunk, Chunks, CompletionTest, JudgePanel, Screening
from auditlib.audits.unlearning.completions import NO_JUDGE, Agreement, chosen_chunks, compared, comparisons
from auditlib.core import AuditError, Capability, TargetModel
from auditlib.jobs.kept_generation import keep_generating
from auditlib.jobs.kinds import RunContext
from auditlib.jobs.unlearning_judging import judged
from auditlib.jobs.unlearning_texts import UnlearningParameters
from auditlib.models.sampling import GeneratingModel, Sampling

MOST_NEW_TOKENS = 1024
NO_EMBEDDING = ""


def completion_test(
    context: RunContext,
    parameters: UnlearningParameters,
    model: TargetModel,
    chunks: Chunks,
    screening: Screening,
) -> CompletionTest:
    """Completions of chunks by the unlearned model, compared and rated; or why there are none."""
    settings = parameters.all_settings
    nothing = CompletionTest(
        NO_EMBEDDING,
        settings.sampling(max(1, settings.new_tokens)),
        settings.prompt_words,
        (),
        (),
        JudgePanel("", 0, {}, 0, Agreement(0, None, "There are no completions."), NO_JUDGE),
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
    completions, panel = judged(context, parameters, used, completions)
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
