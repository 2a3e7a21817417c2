"""The shelves once a model has read them: everything that a book audit is computed from, and no text of theirs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from auditlib.audits.books.numbers import SnippetNumbers, read_placebo, read_shelves
from auditlib.audits.books.shelves import REFERENCE, Shelf, Shelves, Work
from auditlib.core import Capability, ModelIdentity, Progress, TargetModel
from auditlib.documents.cutting import Cutting
from auditlib.evidence import BlindBaseline, LengthCheck, blind_baseline, compare_lengths
from auditlib.scoring import Companions
from auditlib.scoring.companions import model_note

MOST_BLIND_TEXTS = 1_000


@dataclass(frozen=True)
class BlindWords:
    """What the reference snippets tell by themselves, with no model: the same whatever the score, k or rule.

    places   snippets that the classifier saw, out of all of the shelves': a thousand, as many of each work as can be;
             more take minutes and tell little more about works of which so many pieces were seen
    lengths  of all reference snippets
    """

    places: NDArray[np.int64]
    blind: BlindBaseline
    lengths: LengthCheck


@dataclass(frozen=True)
class PlacedWorks:
    """Works and where their snippets (n,) stand: what results keep of the shelves.

    work_of     place in `works`
    part        place in the work's `documents`
    first_word, word_count   of that document
    blind       None where a saved calibration takes the place of the reference shelf
    """

    works: tuple[Work, ...]
    work_of: NDArray[np.int64]
    part: NDArray[np.int64]
    first_word: NDArray[np.int64]
    word_count: NDArray[np.int64]
    cutting: Cutting
    notes: tuple[str, ...]
    shelves_sha256: str
    identity: ModelIdentity
    capabilities: tuple[Capability, ...]
    blind: BlindWords | None

    def on(self, *shelves: Shelf) -> list[int]:
        """Places of the works on these shelves."""
        return [place for place, work in enumerate(self.works) if work.shelf in shelves]

    def snippets_on(self, *shelves: Shelf) -> NDArray[np.int64]:
        """Places of the snippets of the works on these shelves, in order."""
        return np.flatnonzero(np.isin(self.work_of, self.on(*shelves)))

    def snippets_of(self, work: int) -> NDArray[np.int64]:
        """Places of one work's snippets, in order."""
        low, high = np.searchsorted(self.work_of, [work, work + 1])
        return np.arange(low, high)


@dataclass(frozen=True)
class ReadBooks:
    """Works as a model read them: everything that a book audit is computed from.

    placebo  the reference shelves' numbers under a model that cannot have seen them
    """

    placed: PlacedWorks
    numbers: SnippetNumbers
    placebo: SnippetNumbers | None = None

    def judged_beside(self, blind: BlindWords) -> ReadBooks:
        """The same with what the words alone tell."""
        return replace(self, placed=replace(self.placed, blind=blind))


def examine_words(shelves: Shelves, seed: int = 0) -> BlindWords:
    """The blind baseline and the lengths of the known shelves. Raises `AuditError` where there are too few works."""
    all_places = np.flatnonzero(np.isin(shelves.work_of, shelves.on(*REFERENCE)))
    works = shelves.work_of[all_places]
    is_member = np.array([shelves.works[work].shelf is Shelf.MEMBERS for work in works], dtype=np.bool_)
    words = np.array([shelves.snippets[place].word_count for place in all_places], dtype=np.int64)
    chosen = np.flatnonzero(_turns(works) < max(1, MOST_BLIND_TEXTS // max(1, len(np.unique(works)))))
    texts = [shelves.snippets[place].text for place in all_places[chosen]]
    return BlindWords(
        all_places[chosen],
        blind_baseline(texts, is_member[chosen], works[chosen], seed=seed),
        compare_lengths(words, is_member, works, seed),
    )


def read_books(
    model: TargetModel,
    shelves: Shelves,
    blind: BlindWords | None,
    score: str = "min_k",
    k: float = 20.0,
    progress: Progress | None = None,
    companions: Companions | None = None,
    placebo: TargetModel | None = None,
) -> ReadBooks:
    """Every snippet through the model. Raises `AuditError`, naming the work, where one cannot be scored."""
    said = list(companions.notes) if companions is not None else []
    numbers = read_shelves(model, shelves, score, k, progress, companions)
    beside = read_placebo(placebo, shelves, k, progress) if placebo is not None else None
    if placebo is not None:
        said.append(model_note("placebo", placebo.identity))
    shelves = replace(shelves, notes=(*shelves.notes, *said))
    return replace(with_numbers(shelves, blind, model.identity, model.capabilities, numbers), placebo=beside)


def with_numbers(
    shelves: Shelves,
    blind: BlindWords | None,
    identity: ModelIdentity,
    capabilities: frozenset[Capability],
    numbers: SnippetNumbers,
) -> ReadBooks:
    """Shelves and their numbers together, the texts gone."""
    parts = {
        (place, document): part
        for place, work in enumerate(shelves.works)
        for part, document in enumerate(work.documents)
    }
    placed = PlacedWorks(
        shelves.works,
        shelves.work_of,
        np.array(
            [parts[int(w), s.document_id] for w, s in zip(shelves.work_of, shelves.snippets, strict=True)],
            dtype=np.int64,
        ),
        np.array([snippet.first_word for snippet in shelves.snippets], dtype=np.int64),
        np.array([snippet.word_count for snippet in shelves.snippets], dtype=np.int64),
        shelves.cutting,
        shelves.notes,
        shelves.digest,
        identity,
        tuple(sorted(capabilities)),
        blind,
    )
    return ReadBooks(placed, numbers)


def _turns(works: NDArray[np.int64]) -> NDArray[np.int64]:
    """At which turn each snippet of a work is taken: evenly spread, whatever stops the taking."""
    turns = np.empty(len(works), dtype=np.int64)
    for work in np.unique(works):
        own = np.flatnonzero(works == work)
        # The golden ratio's multiples fall between those before them, so that any first few are spread.
        turns[own[np.argsort((np.arange(len(own)) * 0.6180339887498949) % 1, kind="stable")]] = np.arange(len(own))
    return turns
