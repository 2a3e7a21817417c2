"""A packaged calibration repeated: its texts found again by their hashes, its numbers computed anew and compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from auditlib.audits.calibration import calibrate, examine_words
from auditlib.audits.sets import LabelledSets, ReadSets, labelled_sets
from auditlib.core import Document, Label, Snippet
from auditlib.documents.snippets import excerpts
from auditlib.reports.calibration_package import numbers_to_compare
from auditlib.reports.package import InputText, finite
from auditlib.reports.packaged_run import PackagedRun, text_sha256
from auditlib.scoring import SCORES

TOLERANCE = 1e-4  # as far as one text's numbers may differ between batches, devices and versions (EVIDENCE.md, 1)
SMALLEST_SCALE = 0.01


class Agreement(StrEnum):
    """How a number of a rerun stands to the packaged one."""

    EXACT = "exactly"
    CLOSE = "within 0.0001"
    NONE = "differs"


@dataclass(frozen=True)
class Comparison:
    """One number as the package has it and as it came out now; None where there is none."""

    name: str
    packaged: float | None
    now: float | None
    agreement: Agreement


class TextSearch:
    """Looks for the texts of a package among documents that are offered one lot after the other."""

    def __init__(self, inputs: Sequence[InputText]) -> None:
        """Texts that the package itself carries count as found."""
        self._inputs = inputs
        self._texts = {place: one.text for place, one in enumerate(inputs) if one.text is not None}

    @property
    def wanted(self) -> frozenset[str]:
        """Ids of the documents of which one would be of use: the missing texts' documents, or these texts alone."""
        return frozenset(id_ for one in self.missing for id_ in (one.document, one.sha256))

    @property
    def missing(self) -> list[InputText]:
        """What was not found yet."""
        return [one for place, one in enumerate(self._inputs) if place not in self._texts]

    def offer(self, documents: Iterable[Document]) -> None:
        """Takes out of `documents` what is among the missing texts, by the hash of each."""
        by_id = {document.id: document for document in documents}
        pieces_of: dict[str, list[int]] = {}
        for place, one in enumerate(self._inputs):
            if place in self._texts:
                continue
            if one.sha256 in by_id:  # the piece itself was brought, and not the work that it is from
                self._take(place, by_id[one.sha256].text)
            elif one.document in by_id:
                pieces_of.setdefault(one.document, []).append(place)
        for document, places in pieces_of.items():
            wanted = [(self._inputs[place].first_word, self._inputs[place].n_words) for place in places]
            for place, piece in zip(places, excerpts(by_id[document], wanted), strict=True):
                if piece is not None:
                    self._take(place, piece.text)

    def _take(self, place: int, text: str) -> None:
        if text_sha256(text) == self._inputs[place].sha256:
            self._texts[place] = text

    def sets(self) -> LabelledSets:
        """Both sets, once nothing is missing. Raises `AuditError` where they are none to calibrate on."""
        snippets = [
            Snippet(
                id=sha256(f"{one.document}:{one.first_word}:{one.n_words}".encode()).hexdigest(),
                document_id=one.document,
                group=one.title,
                text=self._texts[place],
                start=0,
                first_word=one.first_word,
                word_count=one.n_words,
                label=Label(one.label),
            )
            for place, one in enumerate(self._inputs)
        ]
        # What shares passages was left out before the package was made.
        return labelled_sets(snippets, drop_shared=False)


def repeated_numbers(read: ReadSets, packaged: PackagedRun) -> dict[str, float | None]:
    """The package's numbers, computed anew from texts that a model has just read.

    Raises `AuditError` where none of its scores can be had any more.
    """
    settings = packaged.settings
    words = examine_words(read.sets, settings.seed)
    found = calibrate(
        read,
        words,
        settings.k,
        settings.alpha,
        packaged.rule,
        names=[name for name in settings.scores if name not in not_repeated(settings.scores)],
        seed=settings.seed,
        n_tried=len(settings.scores),
    )
    return {name: finite(value) for name, value in numbers_to_compare(found).items()}


def not_repeated(scores: Iterable[str]) -> list[str]:
    """Those of the scores that need other models, prefixes or a corpus, which a package names and does not hold."""
    return [name for name in scores if name in SCORES and SCORES[name].needs_a_second_look]


def repeatable(numbers: dict[str, float | None]) -> dict[str, float | None]:
    """Those of a package's numbers that a rerun computes."""
    skipped = tuple(f"{name}." for name in not_repeated(SCORES))
    return {name: value for name, value in numbers.items() if not name.startswith(skipped)}


def compare(packaged: dict[str, float | None], now: dict[str, float | None]) -> list[Comparison]:
    """Every number of both, in the order of their names."""
    return [
        Comparison(name, packaged.get(name), now.get(name), _agreement(name, packaged, now))
        for name in sorted(packaged.keys() | now.keys())
    ]


def _agreement(name: str, packaged: dict[str, float | None], now: dict[str, float | None]) -> Agreement:
    if name not in packaged or name not in now:
        return Agreement.NONE
    one, other = packaged[name], now[name]
    if one == other:
        return Agreement.EXACT
    if one is None or other is None:
        return Agreement.NONE
    return Agreement.CLOSE if abs(one - other) <= TOLERANCE * _scale(name, packaged) else Agreement.NONE


def _scale(name: str, packaged: dict[str, float | None]) -> float:
    """Shares and p-values are compared as they are; a score whose values are far below 1 by its own measure."""
    score, _, what = name.rpartition(".")
    if what not in ("mean", "threshold"):
        return 1.0
    own = [packaged.get(f"{score}.{each}") for each in ("mean", "threshold")]
    return min(1.0, max([SMALLEST_SCALE, *(abs(value) for value in own if value is not None)]))
