"""What some scores need besides the text under the model: other models' readings, variants of the text, word counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from auditlib.core import AuditError, Progress, TargetModel
from auditlib.scoring.base import Neighbours, Reading
from auditlib.scoring.frequencies import FrequencyTable
from auditlib.scoring.loss import negative_log_likelihood


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
    """

    reference: TargetModel | None = None
    neighbours: MakesNeighbours | None = None
    after_non_members: TargetModel | None = None
    after_members: TargetModel | None = None
    frequencies: FrequencyTable | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a result must say of them, a sentence each."""
        said = []
        if self.reference is not None:
            said.append(f"The reference model is {self.reference.identity.name} ({self.reference.identity.source}).")
        if self.neighbours is not None:
            said.append(f"Words of the variants were replaced by {self.neighbours.made_by}.")
        if self.frequencies is not None:
            said.append(f"Words were counted in “{self.frequencies.corpus}” ({self.frequencies.total:,} tokens).")
        return tuple(said)


def with_companions(
    model: TargetModel,
    readings: Sequence[Reading],
    companions: Companions,
    names: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> list[Reading]:
    """The readings, in their order, each with what `companions` adds. `progress` begins anew with each of them.

    A text of which no variants can be made, or that the reference model cannot score, goes without.
    """
    found = [replace(reading, frequencies=_usable(companions.frequencies, reading)) for reading in readings]
    names = names or [f"Text {i + 1} of {len(readings)}" for i in range(len(readings))]
    texts = [reading.text for reading in readings]
    others: dict[str, TargetModel | None] = {
        "reference": companions.reference,
        "after_non_members": companions.after_non_members,
        "after_members": companions.after_members,
    }
    for field, other in others.items():
        if other is None:
            continue
        wanted = [i for i, text in enumerate(texts) if _is_scorable(other, text)]
        read = other.token_stats([texts[i] for i in wanted], progress=progress, names=[names[i] for i in wanted])
        for place, stats in read:
            found[wanted[place]] = _with(found[wanted[place]], field, stats)
    if companions.neighbours is not None:
        for i, neighbours in _neighbours(model, texts, names, companions.neighbours, progress).items():
            found[i] = replace(found[i], neighbours=neighbours)
    return found


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


def _is_scorable(model: TargetModel, text: str) -> bool:
    try:
        model.tokens_to_read(text)
    except AuditError:
        return False
    return True


def _with(reading: Reading, field: str, value: Any) -> Reading:
    return replace(reading, **{field: value})
