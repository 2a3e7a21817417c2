"""What an unlearning run is asked for, and where its works and questions come from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from auditlib.audits.demo import demo_books, planted_request, unlearned_request
from auditlib.audits.unlearning import (
    DEMO_SETTINGS,
    Chunks,
    Questions,
    Role,
    UnlearningSettings,
    Work,
    checked_unlearning,
)
from auditlib.audits.unlearning.completions import chosen_chunks
from auditlib.core import AuditError, Document, Label
from auditlib.jobs.brought import QUESTIONS, brought_documents
from auditlib.jobs.plain import from_plain, to_plain
from auditlib.models.judge_prompt import messages_for, reckoned_tokens
from auditlib.models.judge_questions import MOST_EACH, QUESTION_TOKENS, question_messages
from auditlib.models.judge_request import JudgeRequest
from auditlib.models.request import BUNDLED, ModelRequest
from auditlib.store import Artifacts, Run, Store, StoredDocument, Workspace

FORGOTTEN_BOOK = "spectacles-for-orrevan"


@dataclass(frozen=True)
class RoleDocument:
    """A document by the SHA-256 of its text, its role in the audit, and the work it is of (its title where empty)."""

    id: str
    role: Role
    group: str = ""


@dataclass(frozen=True)
class UnlearningParameters:
    """All that decides an unlearning audit, so that the same parameters give the same numbers.

    original, unlearned  the model before and after; `reference` one that never saw the works to be forgotten
    texts       "documents" of the workspace, those "brought" with the run, or the "demo" that comes with the program
    embedding   sentence model: "bundled", a folder or a hub id; "" for none
    judge       None for no judge
    judged_questions  that the judge makes about each chunk of the works to be forgotten, where no file was brought
    complete    whether completions (and answers) are drawn at all
    seed        of every random choice; goes before the one in `settings`
    """

    original: ModelRequest
    unlearned: ModelRequest
    reference: ModelRequest | None = None
    texts: Literal["documents", "brought", "demo"] = "documents"
    documents: tuple[RoleDocument, ...] = ()
    settings: UnlearningSettings = field(default_factory=UnlearningSettings)
    embedding: str = BUNDLED
    judge: JudgeRequest | None = None
    complete: bool = True
    judged_questions: int = 0
    seed: int = 0

    @property
    def all_settings(self) -> UnlearningSettings:
        """The settings, with the run's seed."""
        return replace(self.settings, seed=self.seed)


def demo_parameters(settings: UnlearningSettings = DEMO_SETTINGS) -> UnlearningParameters:
    """The planted model before and after it was made to forget one of its two books; the plain one for reference."""
    return UnlearningParameters(planted_request(), unlearned_request(), ModelRequest(), texts="demo", settings=settings)


def roles_of(documents: Sequence[Document] | Sequence[StoredDocument], role: Role) -> tuple[RoleDocument, ...]:
    """Documents as parameters name them, all of one role."""
    return tuple(
        RoleDocument(d.document_id if isinstance(d, StoredDocument) else d.id, role, d.group) for d in documents
    )


def unlearning_parameters(plain: Mapping[str, Any]) -> UnlearningParameters:
    """Parameters as a run keeps them, checked. Raises `AuditError` where they make no sense."""
    try:
        parameters = from_plain(UnlearningParameters, dict(plain))
    except ValueError as error:
        raise AuditError(f"These parameters make no sense: {error}.", "Start the run anew from its page.") from error
    checked_unlearning(parameters.all_settings)
    roles = {one.role for one in parameters.documents}
    if parameters.texts != "demo" and Role.FORGET not in roles:
        raise AuditError("No work to be forgotten was chosen.", "Choose at least one.")
    if not 0 <= parameters.judged_questions <= MOST_EACH:
        raise AuditError("So many questions about one chunk cannot be asked for.", f"Choose 0 to {MOST_EACH}.")
    if parameters.judged_questions and parameters.judge is None:
        raise AuditError("Questions are to be made, and no judge model was given.", "Give one, or a file of questions.")
    return parameters


def unlearning_works(parameters: UnlearningParameters, store: Store, run: Run) -> list[Work]:
    """The works with their roles. Raises `AuditError` where a document was deleted or changed since it was chosen."""
    if parameters.texts == "brought":
        return _with_roles({one.id: one for one in brought_documents(store, run)}, parameters.documents)
    return chosen_works(parameters.texts, parameters.documents, store, run.workspace)


def chosen_works(
    texts: Literal["documents", "demo"], documents: Sequence[RoleDocument], store: Store, workspace: str
) -> list[Work]:
    """The works of a workspace, or the demo's, with their roles. Raises `AuditError` likewise."""
    if texts == "demo":
        return [Work(book, _demo_role(book)) for book in demo_books()]
    files, wanted = Workspace(store, workspace), {one.id for one in documents}
    by_id = {d.document_id: files.open(d.key) for d in files.documents() if d.document_id in wanted}
    return _with_roles(by_id, documents)


def _with_roles(by_id: Mapping[str, Document], documents: Sequence[RoleDocument]) -> list[Work]:
    gone = [one for one in documents if one.id not in by_id]
    if gone:
        those = "A document" if len(gone) == 1 else f"{len(gone):,} documents"
        raise AuditError(
            f"{those} of this run can no longer be found: deleted, or cleaned in another way since.",
            "Bring the file again as it was, or start a run on the documents that are there.",
        )
    return [Work(replace(by_id[one.id], group=one.group), one.role) for one in documents]


def expected_judging(parameters: UnlearningParameters, chunks: Chunks) -> tuple[int, int]:
    """Pairs that the judge would be asked about, and tokens that this and making questions would take, reckoned before
    anything is generated: as if each completion were as long as the true continuation.
    """
    settings = parameters.all_settings
    chosen = chosen_chunks(chunks.chunks, settings.most_chunks, settings.seed)
    pairs = len(chosen) * settings.samples
    tokens = settings.samples * sum(
        reckoned_tokens(messages_for(chunk.continuation, chunk.continuation)) for chunk in chosen
    )
    if parameters.judged_questions:
        each = parameters.judged_questions
        tokens += sum(
            reckoned_tokens(question_messages(chunk.text, each)) + QUESTION_TOKENS * each
            for chunk in chunks.of(Role.FORGET)
        )
    return pairs, tokens


def questions_file(questions: Questions) -> dict[str, bytes]:
    """Questions as a file that `JobClient.start` is given, beside `brought_file`'s."""
    return {QUESTIONS: json.dumps(to_plain(questions)).encode()}


def run_questions(store: Store, run: Run) -> Questions | None:
    """The questions that the run was given; None where it was given none. Raises `AuditError` for a damaged file."""
    artifacts = Artifacts(store)
    if all(file.name != QUESTIONS for file in artifacts.of(run.id)):
        return None
    try:
        return from_plain(Questions, json.loads(artifacts.read(run.id, QUESTIONS)))
    except ValueError as error:
        raise AuditError("The questions of this run cannot be read.", "Start a run with the file again.") from error


def _demo_role(book: Document) -> Role:
    if book.label is Label.NON_MEMBER:
        return Role.HELD_OUT
    return Role.FORGET if book.source_name.startswith(FORGOTTEN_BOOK) else Role.KEEP
