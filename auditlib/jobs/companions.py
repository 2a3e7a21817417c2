"""What a run reads besides its texts: opened through the worker, so that it is cached and can be cancelled."""

from __future__ import annotations

from typing import Any

from auditlib.audits.companions import CompanionSettings, Prefixes, open_companions
from auditlib.core import TargetModel
from auditlib.jobs.asked import document_keys
from auditlib.jobs.cached_reading import CachedModel
from auditlib.jobs.kinds import RunContext
from auditlib.scoring import Companions
from auditlib.store import Workspace


def opened_companions(
    context: RunContext, asked: CompanionSettings, model: CachedModel, prefixes: Prefixes | None, seed: int
) -> Companions | None:
    """What was asked for; None where that is nothing. Raises `AuditError` where something cannot be had."""

    def corpus() -> list[str]:
        workspace = Workspace(context.store, context.run.workspace)
        keys = document_keys(asked.corpus_documents, workspace)
        return [workspace.open(keys[one]).text for one in asked.corpus_documents]

    return open_companions(asked, model, prefixes, context.open_model, corpus, context.settings, seed, context.breathe)


def identities_of(
    model: TargetModel, companions: Companions | None, placebo: TargetModel | None = None
) -> dict[str, Any]:
    """The exact models of a run, by their part in it."""
    models = {
        "target": model,
        "reference": companions.reference if companions is not None else None,
        "placebo": placebo,
    }
    return {part: one.identity.as_dict() for part, one in models.items() if one is not None}
