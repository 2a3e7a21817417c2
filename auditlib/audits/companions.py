"""What an audit reads besides its texts under the model: chosen by the auditor, found here, named in the result.

A reference model, variants of each text, texts of known membership in front, a corpus to count words in. Each that is
not chosen leaves the scores that need it unavailable. And the placebo: a model that cannot have seen either set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from auditlib.audits.demo import demo_books
from auditlib.audits.sets import LabelledSets
from auditlib.core import AuditError, Settings, TargetModel
from auditlib.models.request import ModelRequest
from auditlib.scoring import SCORES, Companion, Companions, drawn_prefix, frequency_table
from auditlib.scoring.base import MISSING
from auditlib.scoring.companions import MakesNeighbours

OWN = "own"
MOST_NEIGHBOURS = 100
MOST_SHOTS = 28
PREFIX_WORDS = 64  # of each text in a prefix; the papers take texts of 32 to 64 tokens and more of them
DEMO_CORPUS = "the demo's four books"


@dataclass(frozen=True)
class CompanionSettings:
    """What is to be read besides.

    reference     a model that has not been trained on the texts
    placebo       a model that cannot have seen either set: what it tells apart, the audited model need not have learned
    neighbours    "" for none; "own" for variants by the audited model itself; else folder or hub id of a masked
                  language model
    n_neighbours  variants of each text
    shots         texts in each prefix of ReCaLL and Con-ReCall; 0 for none
    corpus        to count words in, for DC-PDD: the demo's books, or documents by the SHA-256s of their texts
    corpus_name   for people
    """

    reference: ModelRequest | None = None
    placebo: ModelRequest | None = None
    neighbours: str = ""
    n_neighbours: int = 25
    shots: int = 0
    corpus: Literal["", "demo", "documents"] = ""
    corpus_documents: tuple[str, ...] = ()
    corpus_name: str = ""

    @property
    def given(self) -> frozenset[Companion]:
        """What scores may look at because of this."""
        asked = {
            Companion.LOWERCASED: True,
            Companion.REFERENCE: self.reference is not None,
            Companion.NEIGHBOURS: bool(self.neighbours),
            Companion.AFTER_NON_MEMBERS: self.shots > 0,
            Companion.AFTER_MEMBERS: self.shots > 0,
            Companion.FREQUENCIES: bool(self.corpus),
        }
        return frozenset(companion for companion, is_given in asked.items() if is_given)


@dataclass(frozen=True)
class Prefixes:
    """Texts of known membership that stand before others, ready to be read."""

    non_members: str
    members: str


class AuditedModel(TargetModel, Protocol):
    """A target model that can have texts put in front, and says which tokens a text has."""

    def after(self, prefix: str, part: str) -> TargetModel:
        """The same model with `prefix` before every text; `part` names what is read so within the audit."""
        ...

    def reading_apart(self, part: str) -> TargetModel:
        """The same model for other texts of the audit."""
        ...

    def token_ids(self, text: str) -> NDArray[np.int32]:
        """The text's tokens. (n,)"""
        ...


def checked_companions(settings: CompanionSettings) -> CompanionSettings:
    """The settings, or `AuditError` where they make no sense."""
    if not 0 <= settings.shots <= MOST_SHOTS:
        raise AuditError(
            f"A prefix of {settings.shots} texts cannot be made.", f"Choose 1 to {MOST_SHOTS}, or 0 for none."
        )
    if settings.neighbours and not 1 <= settings.n_neighbours <= MOST_NEIGHBOURS:
        raise AuditError(
            f"{settings.n_neighbours} variants of each text cannot be made.", f"Choose 1 to {MOST_NEIGHBOURS}."
        )
    if settings.corpus == "documents" and not settings.corpus_documents:
        raise AuditError("The corpus to count words in has no document.", "Choose its documents, or leave DC-PDD out.")
    return settings


def refuse_score_without(settings: CompanionSettings, score: str) -> None:
    """Raises `AuditError` where a score would lack what it needs, before hours of reading."""
    if lacking := SCORES[score].reads - settings.given:
        raise AuditError(
            f"{SCORES[score].label} needs more than the texts. {MISSING[min(lacking)]}",
            "Choose what it needs besides, or another score.",
        )


def refuse_with_calibration(settings: CompanionSettings) -> None:
    """Raises `AuditError` where anything is chosen: a saved calibration says nothing of it."""
    if settings != CompanionSettings():
        raise AuditError(
            "A saved calibration says nothing of other models, prefixes and corpora.",
            "Leave these out, or bring the reference shelf itself.",
        )


def without_prefixes(sets: LabelledSets, shots: int, seed: int) -> tuple[LabelledSets, Prefixes | None]:
    """The sets without what stands in a prefix, and the prefixes: `shots` works of either set, drawn by `seed`.

    What is in a prefix is measured by no score, so that all scores speak of the same texts. Raises `AuditError` where
    too few would be left.
    """
    if not shots:
        return sets, None
    texts = [beginning(text) for text in sets.texts]
    non_members, of_non_members = drawn_prefix(texts, ~sets.is_member, shots, seed, sets.groups)
    members, of_members = drawn_prefix(texts, sets.is_member, shots, seed, sets.groups)
    left = ~(of_non_members | of_members)
    note = (
        f"{shots} works of each set, drawn at random, stand before the texts for ReCaLL and Con-ReCall; they are "
        "measured by no score."
    )
    kept = tuple(snippet for snippet, is_left in zip(sets.snippets, left, strict=True) if is_left)
    return replace(sets, snippets=kept, notes=(*sets.notes, note)), Prefixes(non_members, members)


def beginning(text: str) -> str:
    """What of a text stands in a prefix."""
    return " ".join(text.split()[:PREFIX_WORDS])


def open_companions(
    settings: CompanionSettings,
    target: AuditedModel,
    prefixes: Prefixes | None,
    open_model: Callable[[ModelRequest, str], TargetModel],
    corpus: Callable[[], Sequence[str]],
    machine: Settings,
    seed: int = 0,
    breathe: Callable[[], None] = lambda: None,
) -> Companions | None:
    """What the settings ask for; None where that is nothing. Raises `AuditError` where something cannot be had.

    `open_model` opens the reference model, given its part in the audit; `corpus` gives the texts of documents.
    `breathe` is called before variants of each text are made, and may raise.
    """
    if settings.given == CompanionSettings().given:
        return None
    reference = open_model(settings.reference, "reference") if settings.reference is not None else None
    table = None
    if settings.corpus:
        demo = settings.corpus == "demo"
        texts = [book.text for book in demo_books()] if demo else corpus()
        table = frequency_table(target, texts, DEMO_CORPUS if demo else settings.corpus_name or "an unnamed corpus")
    neighbours = _neighbours(settings, target, machine, seed)
    return Companions(
        reference=reference,
        neighbours=_Breathing(neighbours, breathe) if neighbours is not None else None,
        after_non_members=target.after(prefixes.non_members, "after non-members") if prefixes else None,
        after_members=target.after(prefixes.members, "after members") if prefixes else None,
        frequencies=table,
        reads_neighbours=target.reading_apart("variants") if neighbours is not None else None,
    )


def _neighbours(
    settings: CompanionSettings, target: TargetModel, machine: Settings, seed: int
) -> MakesNeighbours | None:
    if not settings.neighbours:
        return None
    # Only here: it takes torch, which a page that reads these settings does not.
    from auditlib.models.neighbours import OwnNeighbours, masked_neighbours

    if settings.neighbours == OWN:
        return OwnNeighbours(target, settings.n_neighbours, seed)
    return masked_neighbours(settings.neighbours, machine, settings.n_neighbours, seed)


class _Breathing:
    """Making variants, with a pause before each text in which others may go first."""

    def __init__(self, maker: MakesNeighbours, breathe: Callable[[], None]) -> None:
        self._maker, self._breathe = maker, breathe

    @property
    def made_by(self) -> str:
        """The maker's own."""
        return self._maker.made_by

    def of(self, text: str) -> list[str]:
        """The maker's own."""
        self._breathe()
        return self._maker.of(text)
