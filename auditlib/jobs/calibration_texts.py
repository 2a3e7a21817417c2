"""What a calibration run is asked for, and where its texts come from: a run names its texts and does not copy them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from auditlib.audits.calibration import ALPHA, checked_alpha, checked_rule
from auditlib.audits.companions import CompanionSettings, Prefixes, checked_companions, without_prefixes
from auditlib.audits.demo import demo_passages
from auditlib.audits.sets import LabelledSets, labelled_sets, told_apart
from auditlib.core import AuditError, Document, Label
from auditlib.documents.cutting import Cutting
from auditlib.evidence.thresholds import Rule
from auditlib.jobs.asked import checked_method, document_keys, parameters_of
from auditlib.jobs.brought import brought_documents
from auditlib.models.request import ModelRequest
from auditlib.scoring import DEFAULT_K, SCORES, checked_k
from auditlib.store import Run, Store, StoredDocument, Workspace


@dataclass(frozen=True)
class ChosenDocument:
    """A document of the workspace: `id` is its text's SHA-256; label and group are as they were when it was chosen."""

    id: str
    label: Label
    group: str = ""


@dataclass(frozen=True)
class CalibrationParameters:
    """All that decides a calibration, so that the same parameters give the same numbers.

    texts      "documents" of the workspace, those "brought" with the run, or the "demo" that comes with the program
    rule       how the threshold is chosen: "accuracy", or a false-positive rate
    score      whose verdict the report gives; another one where these texts cannot have it
    companions what is read besides, for scores that need more
    """

    model: ModelRequest
    texts: Literal["documents", "brought", "demo"] = "documents"
    documents: tuple[ChosenDocument, ...] = ()
    cutting: Cutting = field(default_factory=Cutting)
    drop_shared: bool = True
    k: float = DEFAULT_K
    alpha: float = ALPHA
    rule: Rule = "accuracy"
    score: str = "min_k"
    seed: int = 0
    companions: CompanionSettings = field(default_factory=CompanionSettings)


def chosen(documents: Sequence[StoredDocument] | Sequence[Document]) -> tuple[ChosenDocument, ...]:
    """The labelled ones among documents, as parameters name them."""
    return tuple(
        ChosenDocument(d.document_id if isinstance(d, StoredDocument) else d.id, d.label, d.group)
        for d in documents
        if d.label is not Label.UNKNOWN
    )


def calibration_parameters(plain: Mapping[str, Any]) -> CalibrationParameters:
    """Parameters as a run keeps them, checked. Raises `AuditError` where they make no sense."""
    parameters = parameters_of(CalibrationParameters, plain)
    checked_k(parameters.k)
    checked_alpha(parameters.alpha)
    checked_rule(parameters.rule)
    if parameters.score not in SCORES:
        raise AuditError(f"There is no score {parameters.score[:40]!r}.", f"Choose one of {', '.join(SCORES)}.")
    checked_method(parameters.cutting)
    checked_companions(parameters.companions)
    if parameters.texts == "documents" and not parameters.documents:
        raise AuditError("No document was chosen.", "Mark documents as members and non-members first.")
    return parameters


def calibration_sets(parameters: CalibrationParameters, store: Store, run: Run) -> LabelledSets:
    """The two sets. Raises `AuditError` where a document was deleted or changed since it was chosen."""
    return cut_sets(parameters, calibration_documents(parameters, store, run))


def calibration_documents(parameters: CalibrationParameters, store: Store, run: Run) -> list[Document]:
    """The labelled texts before they are cut. Raises `AuditError` likewise."""
    if parameters.texts == "demo":
        return demo_passages()
    if parameters.texts == "brought":
        return brought_documents(store, run)
    return _documents(parameters, Workspace(store, run.workspace))


def cut_sets(parameters: CalibrationParameters, documents: Sequence[Document]) -> LabelledSets:
    """The two sets out of their documents, without what stands before texts in a prefix."""
    return cut_with_prefixes(parameters, documents)[0]


def cut_with_prefixes(
    parameters: CalibrationParameters, documents: Sequence[Document]
) -> tuple[LabelledSets, Prefixes | None]:
    """Likewise, and the prefixes. Raises `AuditError` where these leave too little."""
    cuts = [parameters.cutting.cut(document) for document in told_apart(documents)]
    sets = labelled_sets([snippet for cut in cuts for snippet in cut.snippets], parameters.drop_shared)
    return without_prefixes(sets, parameters.companions.shots, parameters.seed)


def _documents(parameters: CalibrationParameters, workspace: Workspace) -> list[Document]:
    keys = document_keys((one.id for one in parameters.documents), workspace)
    return [replace(workspace.open(keys[one.id]), label=one.label, group=one.group) for one in parameters.documents]
