"""Whole works that say the same, told by what is in them: a book in two editions, or one book on two shelves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from auditlib.documents.sets import common_runs, run_hashes, word_hashes

# Two editions of a book share most runs of 8 words; a scan with an error in every tenth word still shares 43%. Two
# books that quote each other share a few in a hundred.
SAME_WORK = 0.25
ALL_RUNS_UP_TO = 5_000
ONE_IN = 16
FEWEST_RUNS = 3


@dataclass(frozen=True)
class Sketch:
    """What is kept of a work to compare it: hashes of its runs of 8 words.

    coarse  those that are multiples of 16, whichever the work, so that works of 100,000 words have 6,000
    fine    all of them; None for a long work
    """

    coarse: NDArray[np.uint64]
    fine: NDArray[np.uint64] | None


@dataclass(frozen=True)
class SharedWork:
    """Two works, by their places, and the share of the shorter one's runs of 8 words that the other has too."""

    first: int
    second: int
    share: float


def sketch(text: str, vocabulary: dict[str, int] | None = None) -> Sketch:
    """The sketch of a text; texts that are given one `vocabulary` share the work on their words."""
    runs = np.unique(run_hashes(word_hashes(text, {} if vocabulary is None else vocabulary)))
    return Sketch(runs[runs % np.uint64(ONE_IN) == 0], runs if len(runs) <= ALL_RUNS_UP_TO else None)


def shared_works(sketches: Sequence[Sketch], least: float = SAME_WORK) -> list[SharedWork]:
    """Pairs of works of which the shorter stands in the other to a share of at least `least`.

    Short works are compared by all of their runs, any with a long one by one in sixteen.
    """
    found: dict[tuple[int, int], float] = {}
    short = [place for place, one in enumerate(sketches) if one.fine is not None]
    is_short = set(short)
    # A short text has few runs in sixteen; below three a share of them says nothing.
    coarse = [one.coarse if len(one.coarse) >= FEWEST_RUNS else one.coarse[:0] for one in sketches]
    for (first, second), n in common_runs(coarse).items():
        if not {first, second} <= is_short:
            found[first, second] = n / min(len(coarse[first]), len(coarse[second]))
    fine = [sketches[place].fine for place in short]
    for (i, j), n in common_runs([one for one in fine if one is not None]).items():
        shorter = min(len(one) for one in (fine[i], fine[j]) if one is not None)
        found[short[i], short[j]] = n / shorter
    return [SharedWork(a, b, share) for (a, b), share in sorted(found.items()) if share >= least]
