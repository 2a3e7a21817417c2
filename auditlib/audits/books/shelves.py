"""Three shelves of works: known members, known non-members, and those to be audited; checked by content, not by name.

Documents are taken one after the other and only their snippets and a sketch of them are kept, so that 500 books need
the memory of their snippets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from auditlib.core import AuditError, Document, Label, Snippet
from auditlib.documents.clusters import first_of_cluster
from auditlib.documents.cutting import Cutting
from auditlib.documents.editions import SharedWork, Sketch, shared_works, sketch

FEWEST_WORKS = 2


class Shelf(StrEnum):
    """Where a work stands."""

    MEMBERS = "known members"
    NON_MEMBERS = "known non-members"
    AUDITED = "audited"


LABEL_OF = {Shelf.MEMBERS: Label.MEMBER, Shelf.NON_MEMBERS: Label.NON_MEMBER, Shelf.AUDITED: Label.UNKNOWN}
REFERENCE = (Shelf.MEMBERS, Shelf.NON_MEMBERS)


@dataclass(frozen=True)
class Work:
    """One work of a shelf, as results name it: no text.

    documents  ids of those that were read: several where a work came in parts
    editions   titles of other editions on the same shelf, which were not read
    n_words    of the documents that were read
    """

    shelf: Shelf
    title: str
    author: str
    year: int | None
    documents: tuple[str, ...]
    editions: tuple[str, ...]
    n_words: int
    n_snippets: int


@dataclass(frozen=True)
class Shelves:
    """All works, those of the reference shelves first, and their snippets in the order of the works.

    work_of  (n,) place in `works` of each snippet
    notes    what was left out or counted together and why, for people
    """

    works: tuple[Work, ...]
    snippets: tuple[Snippet, ...]
    work_of: NDArray[np.int64]
    cutting: Cutting
    notes: tuple[str, ...] = ()

    def on(self, *shelves: Shelf) -> list[int]:
        """Places of the works on these shelves."""
        return [place for place, work in enumerate(self.works) if work.shelf in shelves]

    @cached_property
    def digest(self) -> str:
        """Names these shelves as they are: snippets, their works, and where these stand."""
        said = "\n".join(
            f"{snippet.id} {work} {self.works[work].shelf.value}"
            for snippet, work in zip(self.snippets, self.work_of.tolist(), strict=True)
        )
        return sha256(said.encode()).hexdigest()


@dataclass(frozen=True)
class _Taken:
    """A document once its text is gone."""

    shelf: Shelf
    id: str
    title: str
    group: str
    author: str
    year: int | None
    n_words: int
    snippets: tuple[Snippet, ...]
    sketch: Sketch


def arrange(documents: Iterable[tuple[Shelf, Document]], cutting: Cutting) -> Shelves:
    """The shelves out of documents, each with where it stands.

    Documents of one group on one shelf are parts of one work. What says the same is found by content: on one shelf it
    is one work in several editions, of which the longest is read; a work that is called member and non-member is left
    out; and the reference copy of an audited book is left out, or the book would be compared with itself.
    """
    vocabulary: dict[str, int] = {}
    taken = []
    for shelf, document in documents:
        cut = cutting.cut(document)
        taken.append(
            _Taken(
                shelf,
                document.id,
                document.title,
                document.group or document.title,
                document.author,
                document.year,
                len(document.text.split()),
                cut.snippets,
                sketch(document.text, vocabulary),
            )
        )
    taken.sort(key=lambda one: (list(Shelf).index(one.shelf), one.group, one.id))
    same = shared_works([one.sketch for one in taken])
    kept, editions, notes = _without_copies(taken, same)
    works: list[Work] = []
    snippets: list[Snippet] = []
    work_of: list[int] = []
    for parts in _by_work(kept):
        own, left = _drawn([snippet for part in parts for snippet in part.snippets], cutting)
        first = parts[0]
        title = first.title if len(parts) == 1 else first.group
        if left:
            notes.append(f"“{title}” came in {len(parts):,} parts; {len(own):,} snippets were drawn from all of them.")
        work = Work(
            first.shelf,
            title,
            next((part.author for part in parts if part.author), ""),
            next((part.year for part in parts if part.year is not None), None),
            tuple(part.id for part in parts),
            tuple(title for part in parts for title in editions.get((part.shelf, part.id), ())),
            sum(part.n_words for part in parts),
            len(own),
        )
        if not own and first.shelf in REFERENCE:
            notes.append(_too_short(work, cutting))
            continue
        snippets += [
            replace(s, label=LABEL_OF[work.shelf], group=f"{work.shelf.value} {len(works) + 1}: {title}") for s in own
        ]
        work_of += [len(works)] * len(own)
        works.append(work)
    return Shelves(
        tuple(works), tuple(snippets), np.array(work_of, dtype=np.int64), cutting, tuple(dict.fromkeys(notes))
    )


def refuse_unusable(shelves: Shelves, with_reference: bool = True) -> None:
    """Raises `AuditError` where there is nothing to audit, or nothing to compare it with."""
    if not shelves.on(Shelf.AUDITED):
        raise AuditError("There is no book to audit.", "Add at least one book to the audited shelf.")
    if not any(shelves.works[place].n_snippets for place in shelves.on(Shelf.AUDITED)):
        raise AuditError(
            f"No audited book has {shelves.cutting.words:,} words, the length of a snippet.",
            "Choose fewer words a snippet, or bring longer books.",
        )
    if not with_reference:
        return
    for shelf in REFERENCE:
        n = len(shelves.on(shelf))
        if n < FEWEST_WORKS:
            raise AuditError(
                f"The shelf of {shelf.value} has {'one work' if n == 1 else 'no work'} that can be read, so nothing "
                "can be said about chance." + ("" if not shelves.notes else f" {shelves.notes[0]}"),
                f"Bring at least {FEWEST_WORKS} works of known origin on each shelf; 50 are a good start.",
            )


def _without_copies(
    taken: list[_Taken], same: list[SharedWork]
) -> tuple[list[_Taken], dict[tuple[Shelf, str], list[str]], list[str]]:
    """Documents less copies of others; titles of the other editions of each that stays; and what to tell."""
    notes: list[str] = []
    editions: dict[tuple[Shelf, str], list[str]] = {}
    kept = []
    for cluster in _clusters(len(taken), same):
        own = [taken[place] for place in cluster]
        shelves = {one.shelf for one in own}
        title = own[-1].title
        if Shelf.AUDITED in shelves and len(shelves) > 1:
            there = " and ".join(shelf.value for shelf in REFERENCE if shelf in shelves)
            notes.append(
                f"“{title}” is on the audited shelf and, as {_titles(own, REFERENCE)}, among the {there}: the text is "
                "the same. It was left out of the reference shelf, or it would be compared with itself."
            )
            own = [one for one in own if one.shelf is Shelf.AUDITED]
        elif len(shelves) > 1:
            notes.append(
                f"{_titles(own, REFERENCE)} {'stands' if len(own) == 1 else 'stand'} among the known members and the "
                "known non-members with the same text, and nobody can say which is right: left out of both."
            )
            continue
        first, *others = sorted(own, key=lambda one: (-one.n_words, one.id))
        copies = [one for one in others if one.id != first.id]
        if copies:
            notes.append(
                f"{_titles([first, *copies], tuple(Shelf))} are editions of one work on the shelf “{first.shelf.value}”"
                ": counted as one, and the longest was read."
            )
        elif others:
            notes.append(f"“{first.title}” was brought {len(own):,} times, and counted once.")
        editions[first.shelf, first.id] = [one.title for one in copies]
        kept.append(first)
    kept.sort(key=lambda one: (list(Shelf).index(one.shelf), one.group, one.id))
    return kept, editions, notes


def _clusters(n: int, same: list[SharedWork]) -> list[list[int]]:
    """Places 0..n-1 in clusters of those that pairs connect, each in order."""
    clusters: dict[int, list[int]] = {}
    for place, first in enumerate(first_of_cluster(n, ((pair.first, pair.second) for pair in same))):
        clusters.setdefault(first, []).append(place)
    return list(clusters.values())


def _by_work(kept: list[_Taken]) -> list[list[_Taken]]:
    """Documents of one group on one shelf together."""
    works: dict[tuple[Shelf, str], list[_Taken]] = {}
    for one in kept:
        works.setdefault((one.shelf, one.group), []).append(one)
    return list(works.values())


def _drawn(snippets: list[Snippet], cutting: Cutting) -> tuple[list[Snippet], int]:
    """At most as many snippets as the sample is to have, and how many were left."""
    if cutting.method != "sample" or len(snippets) <= cutting.count:
        return snippets, 0
    order = sorted(
        range(len(snippets)), key=lambda place: sha256(f"{cutting.seed}:{snippets[place].id}".encode()).digest()
    )
    drawn = sorted(order[: cutting.count])
    return [snippets[place] for place in drawn], len(snippets) - len(drawn)


def _too_short(work: Work, cutting: Cutting) -> str:
    return (
        f"“{work.title}” has {work.n_words:,} words, fewer than one snippet of {cutting.words:,}: it was left out of "
        f"the {work.shelf.value}."
    )


def _titles(taken: list[_Taken], shelves: tuple[Shelf, ...]) -> str:
    titles = list(dict.fromkeys(f"“{one.title}”" for one in taken if one.shelf in shelves))
    return titles[0] if len(titles) == 1 else ", ".join(titles[:-1]) + f" and {titles[-1]}"
