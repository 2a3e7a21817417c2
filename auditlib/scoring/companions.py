"""What some scores need besides the text under the model: other models' readings, variants of the text, word counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from auditlib.core import ModelIdentity, Progress, TargetModel, TokenStats, text_names
from auditlib.scoring.base import Neighbours, Reading
from auditlib.scoring.frequencies import FrequencyTable
from auditlib.scoring.loss import negative_log_likelihood
from auditlib.scoring.reading import is_scorable


def model_note(part: str, identity: ModelIdentity) -> str:
    """What a result says of another model that it rests on."""
    return f"The {part} model is {identity.name} ({identity.source})."


class MakesNeighbours(Protocol):
    """Makes variants of a text; the same text has the same variants every time."""

    @property
    def made_by(self) -> str:
        """What makes them, for people."""
        ...

    def of(self, text: str) -> list[str]:
        """Variants of `text` with some words replaced; none where it has no word that can be."""
        ...


@dataclass(frozen=True)
class Companions:
    """What is to be read besides; each that is None leaves the scores that need it unavailable.

    reference          a model that has not been trained on the texts
    neighbours         makes variants, which the target model itself reads
    after_non_members, after_members   the target model with a prefix of such texts (`LocalModel.after`). The texts of
                       a prefix must not be among those that are scored: see `drawn_prefix`
    frequencies        of a corpus, counted with the target model's tokenizer
    reads_neighbours   reads the variants; the target model itself where None
    """

    reference: TargetModel | None = None
    neighbours: MakesNeighbours | None = None
    after_non_members: TargetModel | None = None
    after_members: TargetModel | None = None
    frequencies: FrequencyTable | None = None
    reads_neighbours: TargetModel | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a result must say of them, a sentence each."""
        said = []
        if self.reference is not None:
            said.append(model_note("reference", self.reference.identity))
        if self.neighbours is not None:
            said.append(f"Words of the variants were replaced by {self.neighbours.made_by}.")
        if self.frequencies is not None:
            said.append(f"Words were counted in “{self.frequencies.corpus}” ({self.frequencies.total:,} tokens).")
        return tuple(said)


@dataclass(frozen=True)
class Beside:
    """What was read besides one text, in the words of `Reading`; None where that could not be had."""

    reference: float | None = None
    neighbours: Neighbours | None = None
    after_non_members: NDArray[np.float32] | None = None
    after_members: NDArray[np.float32] | None = None
    frequencies: FrequencyTable | None = None

    def joined_to(self, reading: Reading) -> Reading:
        """The reading with all of this."""
        return replace(
            reading,
            reference=self.reference,
            neighbours=self.neighbours,
            after_non_members=self.after_non_members,
            after_members=self.after_members,
            frequencies=_usable(self.frequencies, reading),
        )


def read_beside(
    model: TargetModel,
    texts: Sequence[str],
    companions: Companions,
    names: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> list[Beside]:
    """What `companions` adds to each text, in order. `progress` begins anew with each of them.

    A text of which no variants can be made, or that the reference model cannot score, goes without.
    """
    names = names or text_names(len(texts))
    found = [Beside(frequencies=companions.frequencies) for _ in texts]
    for i, stats in _read(companions.reference, texts, names, progress):
        found[i] = replace(found[i], reference=negative_log_likelihood(stats.logprob))
    for i, stats in _read(companions.after_non_members, texts, names, progress):
        found[i] = replace(found[i], after_non_members=stats.logprob)
    for i, stats in _read(companions.after_members, texts, names, progress):
        found[i] = replace(found[i], after_members=stats.logprob)
    if companions.neighbours is not None:
        reader = companions.reads_neighbours or model
        for i, neighbours in _neighbours(reader, texts, names, companions.neighbours, progress).items():
            found[i] = replace(found[i], neighbours=neighbours)
    return found


def with_companions(
    model: TargetModel,
    readings: Sequence[Reading],
    companions: Companions,
    names: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> list[Reading]:
    """The readings, in their order, each with what `companions` adds; see `read_beside`."""
    beside = read_beside(model, [reading.text for reading in readings], companions, names, progress)
    return [own.joined_to(reading) for own, reading in zip(beside, readings, strict=True)]


def _read(
    model: TargetModel | None, texts: Sequence[str], names: Sequence[str], progress: Progress | None
) -> Iterator[tuple[int, TokenStats]]:
    if model is None:
        return
    wanted = [i for i, text in enumerate(texts) if is_scorable(model, text)]
    for place, stats in model.token_stats(
        [texts[i] for i in wanted], progress=progress, names=[names[i] for i in wanted]
    ):
        yield wanted[place], stats


def _neighbours(
    model: TargetModel, texts: Sequence[str], names: Sequence[str], maker: MakesNeighbours, progress: Progress | None
) -> dict[int, Neighbours]:
    made = [(i, variant) for i, text in enumerate(texts) for variant in maker.of(text)]
    nll: dict[int, list[float]] = {}
    variants = [variant for _, variant in made]
    for place, stats in model.token_stats(
        variants, progress=progress, names=[f"A variant of {names[i]}" for i, _ in made]
    ):
        nll.setdefault(made[place][0], []).append(negative_log_likelihood(stats.logprob))
    # Sorted, as answers come in any order and a mean of floats depends on it in the last bits.
    return {i: Neighbours(tuple(sorted(values)), maker.made_by) for i, values in nll.items()}


def _usable(table: FrequencyTable | None, reading: Reading) -> FrequencyTable | None:
    """A server may not tell which tokens it reads; then there is nothing to count by."""
    ids = reading.stats.token_ids
    return table if table is not None and ids.min() >= 0 and ids.max() < len(table.counts) else None
