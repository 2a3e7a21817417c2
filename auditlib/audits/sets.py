"""Known members and known non-members, checked before a model spends time on them, and read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from auditlib.core import AuditError, Capability, Document, Label, ModelIdentity, Progress, Snippet, TargetModel
from auditlib.documents.sets import shared_passages, without_shared
from auditlib.scoring import DEFAULT_K, SCORES, Companions, Reading, read_texts, with_companions
from auditlib.scoring.companions import model_note

FEWEST_TEXTS = 2


@dataclass(frozen=True)
class LabelledSets:
    """Member and non-member snippets, in an order that does not depend on how they were brought.

    notes  what was left out and why, for people
    """

    snippets: tuple[Snippet, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def is_member(self) -> NDArray[np.bool_]:
        """(n,)"""
        return np.array([snippet.label is Label.MEMBER for snippet in self.snippets], dtype=np.bool_)

    @cached_property
    def groups(self) -> NDArray[np.int64] | None:
        """A number for each text's group (n,); None where every text is a group of its own."""
        # Not names: an array of strings takes for each text what the longest name takes.
        number_of: dict[str, int] = {}
        numbers = [number_of.setdefault(snippet.group, len(number_of)) for snippet in self.snippets]
        return np.array(numbers, dtype=np.int64) if len(number_of) < len(numbers) else None

    @cached_property
    def words(self) -> NDArray[np.int64]:
        """Lengths in words. (n,)"""
        return np.array([snippet.word_count for snippet in self.snippets], dtype=np.int64)

    @cached_property
    def texts(self) -> list[str]:
        """(n,)"""
        return [snippet.text for snippet in self.snippets]

    def digest_of(self, label: Label) -> str:
        """SHA-256 over the sorted SHA-256s of one set's texts: the same for the same texts in any order."""
        own = sorted(sha256(s.text.encode("utf-8", "replace")).hexdigest() for s in self.snippets if s.label is label)
        return sha256("\n".join(own).encode()).hexdigest()

    @cached_property
    def digest(self) -> str:
        """Names these sets as they are: texts, labels and groups."""
        said = "\n".join(f"{s.id} {s.label.value} {s.group}" for s in self.snippets)
        return sha256(said.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True)
class ReadSets:
    """Both sets as one model read them: all that every score, k and threshold is computed from.

    settled  scores (n,) that were computed while there was at hand what they need besides; none of them has a k
    placebo  the same sets as a model read them that cannot have seen either
    """

    sets: LabelledSets
    readings: tuple[Reading, ...]
    identity: ModelIdentity
    capabilities: frozenset[Capability]
    settled: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    placebo: ReadSets | None = None

    @cached_property
    def n_tokens(self) -> NDArray[np.int64]:
        """Scored tokens of each text. (n,)"""
        return np.array([reading.stats.n_tokens for reading in self.readings], dtype=np.int64)

    def scores(self, name: str, k: float = DEFAULT_K) -> NDArray[np.float64]:
        """One score of every text, at k percent. (n,) Raises `AuditError` where a text cannot have it."""
        if reason := self.unavailable_because(name):
            raise AuditError(f"{SCORES[name].label} cannot be had for these texts. {reason}", "Choose another score.")
        if name in self.settled:
            return self.settled[name]
        return np.array([SCORES[name].compute(replace(reading, k=k)) for reading in self.readings], dtype=np.float64)

    def unavailable_because(self, name: str) -> str | None:
        """Why a score cannot be had for all of these texts; None where it can."""
        if name in self.settled:
            return None
        reasons = [SCORES[name].unavailable_because(reading, self.capabilities) for reading in self.readings]
        lacking = [reason for reason in reasons if reason]
        if not lacking:
            return None
        return (
            lacking[0]
            if len(lacking) == len(reasons)
            else f"{_texts(len(lacking))} of {len(reasons):,} cannot have it: {lacking[0]}"
        )


def told_apart(documents: Sequence[Document]) -> list[Document]:
    """The documents; of those that share no more than a title across the sets, each in a group of its own.

    A document that was given no group has its title for one: files of one name in two folders are not one work.
    """
    labels_of: dict[str, set[Label]] = {}
    for document in documents:
        labels_of.setdefault(document.group or document.title, set()).add(document.label)
    return [
        document
        if document.group not in ("", document.title) or len(labels_of[document.title] - {Label.UNKNOWN}) < 2
        else replace(document, group=f"{document.title} ({document.id[:8]})")
        for document in documents
    ]


def labelled_sets(snippets: Sequence[Snippet], drop_shared: bool = True) -> LabelledSets:
    """Both sets out of labelled snippets; unlabelled ones, and texts that stand in both sets, are left out and noted.

    Raises `AuditError` where a set is left with fewer than 2 texts, or a group is called member and non-member.
    """
    notes = []
    known = [snippet for snippet in snippets if snippet.label is not Label.UNKNOWN]
    if len(known) < len(snippets):
        notes.append(
            f"{_texts(len(snippets) - len(known))} without a label {_were(len(snippets) - len(known))} left out."
        )
    _refuse_empty(known, "")
    if drop_shared:
        pairs = shared_passages(known)
        kept = without_shared(known, pairs)
        if len(kept) < len(known):
            n = len(known) - len(kept)
            across = sum(pair.across for pair in pairs)
            notes.append(
                f"{_texts(n)} {_were(n)} left out because they share passages with others"
                + (f" ({_pairs(across)} across the two sets)." if across else ".")
            )
        known = kept
        _refuse_empty(known, " once texts that stand in both sets are left out")
    labels_of: dict[str, Label] = {}
    for snippet in known:
        if labels_of.setdefault(snippet.group, snippet.label) is not snippet.label:
            raise AuditError(
                f"“{snippet.group[:80]}” is called member and non-member at once.",
                "Give all texts of one group the same label, or put them into groups of their own.",
            )
    return LabelledSets(tuple(sorted(known, key=lambda s: (s.label.value, s.group, s.first_word, s.id))), tuple(notes))


def read_sets(
    model: TargetModel,
    sets: LabelledSets,
    progress: Progress | None = None,
    companions: Companions | None = None,
    placebo: TargetModel | None = None,
) -> ReadSets:
    """Every text through the model, as it stands and in lower case. The one expensive step.

    With `companions` what the scores need besides is read too; the texts of a prefix must not be in `sets`. `placebo`
    reads the same texts. `progress` begins anew with each of them.

    Raises `AuditError`, naming the text, where one cannot be scored.
    """
    names = [f"“{snippet.group[:60]}” from word {snippet.first_word + 1:,}" for snippet in sets.snippets]
    readings: list[Any] = [None] * len(sets.snippets)
    for index, reading in read_texts(model, sets.texts, progress=progress, names=names):
        readings[index] = reading
    if companions is not None:
        readings = with_companions(model, readings, companions, names, progress)
        sets = replace(sets, notes=(*sets.notes, *companions.notes))
    beside = read_sets(placebo, sets, progress) if placebo is not None else None
    if beside is not None:
        sets = replace(sets, notes=(*sets.notes, model_note("placebo", beside.identity)))
    return ReadSets(sets, tuple(readings), model.identity, model.capabilities, placebo=beside)


def score_table(read: ReadSets, k: float = DEFAULT_K) -> pd.DataFrame:
    """One row a text: what it is, its length, and a column for each score that can be had."""
    snippets = read.sets.snippets
    columns: dict[str, Any] = {
        "snippet": [snippet.id for snippet in snippets],
        "document": [snippet.document_id for snippet in snippets],
        "group": [snippet.group for snippet in snippets],
        "label": [snippet.label.value for snippet in snippets],
        "first_word": [snippet.first_word for snippet in snippets],
        "n_words": read.sets.words,
        "n_tokens": read.n_tokens,
    }
    return pd.DataFrame(
        columns | {name: read.scores(name, k) for name in SCORES if read.unavailable_because(name) is None}
    )


def _refuse_empty(snippets: Sequence[Snippet], when: str) -> None:
    for label in (Label.MEMBER, Label.NON_MEMBER):
        n = sum(snippet.label is label for snippet in snippets)
        if n < FEWEST_TEXTS:
            raise AuditError(
                f"There {'is' if n == 1 else 'are'} {n or 'no'} {label.value}{'' if n == 1 else 's'}{when}.",
                f"A calibration needs at least {FEWEST_TEXTS} of each set, and 100 of each to say something.",
            )


def _pairs(n: int) -> str:
    return "1 pair reaches" if n == 1 else f"{n:,} pairs reach"


def _texts(n: int) -> str:
    return "1 text" if n == 1 else f"{n:,} texts"


def _were(n: int) -> str:
    return "was" if n == 1 else "were"
