"""What commands read besides their texts: other models, prefixes, a corpus; see `auditlib.audits.companions`."""

from __future__ import annotations

from typing import Annotated

import typer

from auditlib.audits.companions import (
    OWN,
    CompanionSettings,
    Prefixes,
    checked_companions,
    open_companions,
    refuse_score_without,
)
from auditlib.cli.common import read_all, said
from auditlib.cli.model_options import MODEL_HELP, chosen_model, open_audited, say_where_texts_go
from auditlib.core import TargetModel, settings
from auditlib.jobs.cached_reading import CachedModel
from auditlib.models.request import ModelRequest
from auditlib.scoring import Companions

DEMO = "demo"
Reference = Annotated[
    str | None,
    typer.Option(help=f"model that has not been trained on the texts, for the score Reference: {MODEL_HELP}"),
]
Placebo = Annotated[
    str | None,
    typer.Option(help="likewise one that cannot have seen either set; its AUC stands beside the audited one's"),
]
NeighboursOption = Annotated[
    str | None,
    typer.Option(help=f"for the score Neighbour: folder or hub id of a masked language model, or “{OWN}”"),
]
PrefixTexts = Annotated[
    int, typer.Option(min=0, help="works of each set to stand before all texts, for ReCaLL and Con-ReCall; 0 for none")
]
Corpus = Annotated[
    list[str] | None,
    typer.Option(help=f"file or folder to count words in, for DC-PDD, or “{DEMO}”; may be repeated"),
]


def companion_settings(
    score: str,
    reference: str | None,
    placebo: str | None,
    neighbours: str | None,
    shots: int,
    corpus: list[str] | None,
) -> CompanionSettings:
    """What the options ask for. Raises `AuditError` where they make no sense, or do not give `score` what it needs."""
    demo = corpus == [DEMO]
    asked = checked_companions(
        CompanionSettings(
            reference=chosen_model(reference) if reference else None,
            placebo=chosen_model(placebo) if placebo else None,
            neighbours=neighbours or "",
            shots=shots,
            corpus="demo" if demo else "documents" if corpus else "",
            corpus_documents=() if demo else tuple(corpus or ()),
            corpus_name="" if demo else ", ".join(corpus or ()),
        )
    )
    refuse_score_without(asked, score)
    return asked


def opened(
    asked: CompanionSettings, target: CachedModel, prefixes: Prefixes | None, seed: int
) -> tuple[Companions | None, TargetModel | None]:
    """What was asked for, and the placebo. Raises `AuditError` where something cannot be had."""

    def corpus() -> list[str]:
        documents, errors = read_all(list(asked.corpus_documents), clean=False)
        if errors:
            raise errors[0]
        return [document.text for document in documents]

    def other_model(request: ModelRequest, part: str) -> TargetModel:
        say_where_texts_go(request, ())
        with said.status(f"Loading the {part} model …"):
            return open_audited(request)

    placebo = other_model(asked.placebo, "placebo") if asked.placebo is not None else None
    return (
        open_companions(asked, target, prefixes, other_model, corpus, settings(), seed),
        placebo,
    )
