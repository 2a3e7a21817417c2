"""The works of an unlearning audit and the chunks they are cut into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from auditlib.core import AuditError, Document
from auditlib.documents.snippets import excerpt, tile

WORDS = 512  # of a chunk, and of its beginning that is the prompt: Shi et al. 2024, section 7.2.1
PROMPT_WORDS = 200
FEWEST_CONTINUED = 10  # words behind the prompt, below which a continuation compares with nothing


class Role(StrEnum):
    """What a work is in the audit."""

    FORGET = "to be forgotten"
    KEEP = "to be kept"
    HELD_OUT = "never seen"


@dataclass(frozen=True)
class Work:
    """One work and its role. Its title names it; works of one title are one."""

    document: Document
    role: Role

    @property
    def title(self) -> str:
        """What groups its chunks."""
        return self.document.group or self.document.title


@dataclass(frozen=True)
class Chunk:
    """A piece of a work: `prompt` is its first words and `continuation` the rest, as they stand in the work.

    `first_word` counts the document's words from 0.
    """

    id: str
    document_id: str
    work: str
    role: Role
    text: str
    first_word: int
    n_words: int
    prompt: str
    continuation: str

    @property
    def name(self) -> str:
        """How people find it."""
        return f"“{self.work[:60]}” from word {self.first_word + 1:,}"


@dataclass(frozen=True)
class Chunks:
    """All chunks, by role and in the order of the works; `notes` say what was left out and why."""

    chunks: tuple[Chunk, ...]
    notes: tuple[str, ...]

    def of(self, role: Role) -> tuple[Chunk, ...]:
        """Those of one role."""
        return tuple(chunk for chunk in self.chunks if chunk.role is role)


def check_lengths(words: int, prompt_words: int) -> None:
    """Raises `AuditError` where a chunk of so many words leaves nothing to be continued."""
    if prompt_words < 1 or words - prompt_words < FEWEST_CONTINUED:
        raise AuditError(
            f"A chunk of {words:,} words with a prompt of {prompt_words:,} leaves too little to be continued.",
            f"Let the prompt be at least 1 word, and the chunk {FEWEST_CONTINUED} words longer than it.",
        )


def cut_works(works: Sequence[Work], words: int = WORDS, prompt_words: int = PROMPT_WORDS) -> Chunks:
    """Every work in chunks of `words` words.

    Raises `AuditError` where no work to be forgotten gives a chunk, or a work has two roles.
    """
    check_lengths(words, prompt_words)
    _refuse_two_roles(works)
    chunks: list[Chunk] = []
    notes: list[str] = []
    seen: set[str] = set()
    for work in sorted(works, key=lambda one: list(Role).index(one.role)):
        if work.document.id in seen:
            notes.append(f"“{work.title}” was brought twice and is looked at once.")
            continue
        seen.add(work.document.id)
        pieces = tile(work.document, words)
        if not pieces.snippets:
            n = len(work.document.text.split())
            notes.append(f"“{work.title}” has {n:,} words, fewer than a chunk of {words:,}, and is left out.")
        for piece in pieces.snippets:
            prompt = excerpt(work.document, piece.first_word, prompt_words)
            rest = excerpt(work.document, piece.first_word + prompt_words, words - prompt_words)
            chunks.append(
                Chunk(
                    piece.id,
                    piece.document_id,
                    work.title,
                    work.role,
                    piece.text,
                    piece.first_word,
                    words,
                    prompt.text,
                    rest.text,
                )
            )
    if not any(chunk.role is Role.FORGET for chunk in chunks):
        longest = max((len(w.document.text.split()) for w in works if w.role is Role.FORGET), default=0)
        if longest == 0:
            raise AuditError("No work to be forgotten was given.", "Choose at least one.")
        raise AuditError(
            f"The works to be forgotten are too short: the longest has {longest:,} words, and a chunk {words:,}.",
            "Choose shorter chunks, or longer works.",
        )
    return Chunks(tuple(chunks), tuple(notes))


def _refuse_two_roles(works: Sequence[Work]) -> None:
    for name_of in (lambda work: work.title, lambda work: work.document.id):
        roles: dict[str, Role] = {}
        for work in works:
            if roles.setdefault(name_of(work), work.role) is not work.role:
                raise AuditError(
                    f"“{work.title[:80]}” is {roles[name_of(work)].value} and {work.role.value} at once.",
                    "Give each work one role, and works of different roles different titles.",
                )
