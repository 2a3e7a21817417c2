"""All that a report on a calibration says, in one value: the report and its package are pure functions of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from auditlib import __version__
from auditlib.audits.calibration import Calibrated, KSweep, LengthClass, MethodResult, NullRuns
from auditlib.audits.sets import ReadSets
from auditlib.core import Label, ModelIdentity, library_versions
from auditlib.documents.cutting import Cutting
from auditlib.reports.blocks import Quotation
from auditlib.reports.package import InputText
from auditlib.scoring import SCORES


@dataclass(frozen=True)
class SetFacts:
    """One of the two sets. `sha256` is over its texts, whatever their order."""

    label: Label
    texts: int
    groups: int
    words: int
    tokens: int
    sha256: str


@dataclass(frozen=True)
class WorkFacts:
    """One work (group) of a set. `sha256` is that of its document; of several, over their sorted hashes."""

    title: str
    label: Label
    texts: int
    words: int
    sha256: str


@dataclass(frozen=True)
class Material:
    """What was examined, without a letter of it: `inputs` in the order of the scores."""

    sets: tuple[SetFacts, SetFacts]
    works: tuple[WorkFacts, ...]
    inputs: tuple[InputText, ...]

    @property
    def is_member(self) -> NDArray[np.bool_]:
        """(n,)"""
        return np.array([one.label == Label.MEMBER for one in self.inputs], dtype=np.bool_)

    @property
    def n_words(self) -> NDArray[np.int64]:
        """(n,)"""
        return np.array([one.n_words for one in self.inputs], dtype=np.int64)


@dataclass(frozen=True)
class Preparation:
    """How texts became what the model read.

    texts        "documents" of a workspace, "files" that were brought for this run, or the program's "demo"
    steps        names of the cleaning steps; several sets of them where documents were cleaned differently
    drop_shared  whether texts that share passages with others were left out
    """

    texts: str
    cutting: Cutting
    steps: tuple[tuple[str, ...], ...]
    drop_shared: bool = True


@dataclass(frozen=True)
class CalibrationFacts:
    """A finished calibration and what it was made of.

    chosen       the score that the summary is about
    is_member, n_words   (n,) of the texts, in the order of the scores in `found`
    sweep        of `chosen`, where it has a k and that was looked at
    by           who ran it; empty where nobody said
    command      what reruns it from a shell
    quotations   what the person ticked to be quoted
    show_words   whether single words of the texts that tell the sets apart may be named
    preparation  None where it is not known
    run          id of the run that it was; empty where it was none
    """

    name: str
    model: ModelIdentity
    sets: tuple[SetFacts, SetFacts]
    works: tuple[WorkFacts, ...]
    notes: tuple[str, ...]
    is_member: NDArray[np.bool_]
    n_words: NDArray[np.int64]
    found: Calibrated
    chosen: str
    made: datetime
    by: str
    command: str
    sweep: KSweep | None = None
    nulls: NullRuns | None = None
    length_classes: tuple[LengthClass, ...] = ()
    quotations: tuple[Quotation, ...] = ()
    show_words: bool = False
    preparation: Preparation | None = None
    run: str = ""
    version: str = __version__
    versions: Mapping[str, str] = field(default_factory=library_versions)

    @property
    def result(self) -> MethodResult:
        """What was found for the chosen score."""
        return self.found.methods[self.chosen]

    @property
    def score_label(self) -> str:
        """The chosen score as people call it."""
        return SCORES[self.chosen].label


def facts_of(
    read: ReadSets,
    found: Calibrated,
    chosen: str,
    *,
    name: str,
    made: datetime,
    by: str = "",
    command: str = "",
    sweep: KSweep | None = None,
    nulls: NullRuns | None = None,
    length_classes: tuple[LengthClass, ...] = (),
    quotations: tuple[Quotation, ...] = (),
    show_words: bool = False,
    preparation: Preparation | None = None,
) -> CalibrationFacts:
    """The facts of a calibration that was just computed from `read`."""
    if chosen not in found.methods:
        raise ValueError(f"{chosen} is not among the scores of this calibration")
    material = material_of(read)
    return CalibrationFacts(
        name=name,
        model=read.identity,
        sets=material.sets,
        works=material.works,
        notes=read.sets.notes,
        is_member=material.is_member,
        n_words=material.n_words,
        found=found,
        chosen=chosen,
        made=made,
        by=by,
        command=command,
        sweep=sweep,
        nulls=nulls,
        length_classes=length_classes,
        quotations=quotations,
        show_words=show_words,
        preparation=preparation,
    )


def material_of(read: ReadSets) -> Material:
    """What was examined."""
    inputs = tuple(
        InputText(
            sha256=sha256(snippet.text.encode("utf-8", "replace")).hexdigest(),
            title=snippet.group,
            label=snippet.label.value,
            n_words=snippet.word_count,
            document=snippet.document_id,
            first_word=snippet.first_word,
        )
        for snippet in read.sets.snippets
    )
    return Material((_set_facts(read, Label.MEMBER), _set_facts(read, Label.NON_MEMBER)), _works(read), inputs)


def _set_facts(read: ReadSets, label: Label) -> SetFacts:
    own = np.array([snippet.label is label for snippet in read.sets.snippets])
    groups = {snippet.group for snippet in read.sets.snippets if snippet.label is label}
    return SetFacts(
        label,
        int(own.sum()),
        len(groups),
        int(read.sets.words[own].sum()),
        int(read.n_tokens[own].sum()),
        read.sets.digest_of(label),
    )


def _works(read: ReadSets) -> tuple[WorkFacts, ...]:
    by_group: dict[str, list[int]] = {}
    for place, snippet in enumerate(read.sets.snippets):
        by_group.setdefault(snippet.group, []).append(place)
    works = []
    for title, places in by_group.items():
        documents = sorted({read.sets.snippets[place].document_id for place in places})
        digest = documents[0] if len(documents) == 1 else sha256("\n".join(documents).encode()).hexdigest()
        words = int(read.sets.words[places].sum())
        works.append(WorkFacts(title, read.sets.snippets[places[0]].label, len(places), words, digest))
    return tuple(works)
