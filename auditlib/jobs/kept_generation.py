"""Continuations that are kept: drawn batch by batch, each batch once for good, so that no kill costs more than one.

Which prompts go together is fixed by the prompts and the settings alone. A batch is kept as a whole, or not at all; and
what an earlier run of the workspace drew with the same model, prompts and settings is not drawn again.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from hashlib import sha256

from auditlib.core import AuditError
from auditlib.jobs.kinds import RunContext
from auditlib.models.sampling import GeneratingModel, Sampling
from auditlib.store import Artifacts, Run, Runs, Store

logger = logging.getLogger(__name__)

STEP_TOKENS = 8192  # of a batch that is kept at once: a minute's work of two cores with a small model


def keep_generating(
    context: RunContext,
    model: GeneratingModel,
    what: str,
    prompts: Sequence[str],
    names: Sequence[str],
    sampling: Sampling,
) -> dict[tuple[int, int], str]:
    """Every continuation by (place of the prompt, sample). `what` names the files; see `GeneratingModel` for errors."""
    lengths = [model.prompt_tokens(prompt, name) for prompt, name in zip(prompts, names, strict=True)]
    for length, name in zip(lengths, names, strict=True):
        if length + sampling.max_new_tokens > model.window_tokens:
            raise AuditError(
                f"{name} has {length:,} tokens, and with {sampling.max_new_tokens:,} more it does not fit into the "
                f"{model.window_tokens:,} that {model.identity.name} sees at once.",
                "Choose a shorter prompt or fewer new tokens, or a model with a longer context.",
            )
    batches = _batches(lengths, sampling)
    total = len(prompts) * sampling.samples * sampling.max_new_tokens
    done = 0
    found: dict[tuple[int, int], str] = {}
    for number, places in enumerate(batches):
        own = [prompts[place] for place in places]
        key = _key(model.identity.digest, own, sampling)
        file = _file(what, number)

        draw = partial(_draw, context, model, own, [names[place] for place in places], sampling, key, file, done, total)
        context.breathe()
        context.step(f"{what} {number + 1}", draw)
        kept = _kept(context.store, context.run, file, key)
        if kept is None:  # its file was damaged or taken away since it was drawn
            draw()
            kept = _kept(context.store, context.run, file, key)
        if kept is None:
            raise AuditError("What was just generated cannot be read again.", "See that the disk is sound.")
        found |= {(places[place], sample): text for place, sample, text in kept}
        done += len(places) * sampling.samples * sampling.max_new_tokens
        context.progress(done, total)
    return found


def generation_speed(store: Store, run: Run) -> tuple[int, float]:
    """Tokens that were drawn for the run, prompts not counted, and the seconds that took, in whichever run that was."""
    tokens, seconds = 0, 0.0
    artifacts = Artifacts(store)
    for file in artifacts.of(run.id):
        if file.name.startswith("generated-"):
            value = json.loads(artifacts.read(run.id, file.name))
            tokens, seconds = tokens + int(value["tokens"]), seconds + float(value["seconds"])
    return tokens, seconds


def _draw(
    context: RunContext,
    model: GeneratingModel,
    prompts: list[str],
    names: list[str],
    sampling: Sampling,
    key: str,
    file: str,
    before: int,
    total: int,
) -> int:
    """Tokens that were drawn: all of the batch, or none where it was kept before."""
    if _kept(context.store, context.run, file, key) is not None or _taken_over(context, file, key):
        return 0
    logger.info("generating %s: %d prompts", file, len(prompts))
    began, heard = time.perf_counter(), 0

    def hear(drawn: int, _: int) -> None:
        nonlocal heard
        context.scored(drawn - heard)
        heard = drawn
        context.progress(min(before + drawn, total), total)
        context.breathe()

    texts = sorted(model.generate(prompts, sampling, hear, names))
    value = {"key": key, "texts": texts, "tokens": heard, "seconds": round(time.perf_counter() - began, 3)}
    context.put(file, "application/json", json.dumps(value).encode())
    return heard


def _taken_over(context: RunContext, file: str, key: str) -> bool:
    """Whether an earlier run of the workspace drew the same: then its file is this run's, too."""
    artifacts = Artifacts(context.store)
    for run in Runs(context.store, context.run.workspace).all():
        if run.kind != context.run.kind or run.id == context.run.id:
            continue
        if _kept(context.store, run, file, key) is not None:
            context.put(file, "application/json", artifacts.read(run.id, file))
            return True
    return False


def _batches(lengths: Sequence[int], sampling: Sampling) -> list[list[int]]:
    """Places of prompts in batches of whole prompts, longest first."""
    batches: list[list[int]] = []
    room = 0
    for place in sorted(range(len(lengths)), key=lambda one: -lengths[one]):
        if room < 1:
            batches.append([])
            room = max(1, STEP_TOKENS // (sampling.samples * (lengths[place] + sampling.max_new_tokens)))
        batches[-1].append(place)
        room -= 1
    return batches


def _file(what: str, number: int) -> str:
    return f"generated-{what}-{number + 1:04}.json"


def _key(model: str, prompts: Sequence[str], sampling: Sampling) -> str:
    """What was asked: another model, prompt or setting makes a kept batch of no use."""
    said = json.dumps([model, list(prompts), asdict(sampling)])
    return sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def _kept(store: Store, run: Run, file: str, key: str) -> list[tuple[int, int, str]] | None:
    """A batch as it was kept; None where it is not there, damaged, or of another question."""
    artifacts = Artifacts(store)
    try:
        value = json.loads(artifacts.read(run.id, file))
        if value["key"] != key:
            return None
        return [(int(place), int(sample), str(text)) for place, sample, text in value["texts"]]
    except (AuditError, ValueError, KeyError, TypeError):
        return None
