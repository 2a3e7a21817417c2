"""Which texts stand in a prefix: drawn once by a seed, and then left out of everything that is measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from auditlib.core import AuditError

SEPARATOR = "\n\n"
FEWEST_LEFT = 2


def drawn_prefix(
    texts: Sequence[str],
    candidates: NDArray[np.bool_],
    n_shots: int,
    seed: int,
    groups: NDArray[np.int64] | None = None,
) -> tuple[str, NDArray[np.bool_]]:
    """A prefix of `n_shots` of the candidate texts (n,), and which texts (n,) must not be scored because of it.

    With `groups` everything of a drawn text's group is left out too: another page of the same book is no other book.
    Raises `AuditError` where too few candidates would be left.
    """
    if n_shots < 1:
        raise AuditError("A prefix needs at least one text.", "Choose 1 or more; the paper uses up to 12.")
    of = np.arange(len(texts)) if groups is None else groups
    names = np.unique(of[candidates])
    generator = np.random.default_rng(seed)
    drawn: list[int] = []
    left_out = np.zeros(len(texts), dtype=np.bool_)
    for name in generator.permutation(names)[:n_shots]:
        drawn.append(int(generator.choice(np.flatnonzero(candidates & (of == name)))))
        left_out |= of == name
    if len(drawn) < n_shots or np.count_nonzero(candidates & ~left_out) < FEWEST_LEFT:
        raise AuditError(
            f"A prefix of {n_shots} texts of as many works would leave too few to measure with.",
            "Take fewer texts for the prefix, or bring more.",
        )
    return SEPARATOR.join(texts[i] for i in drawn) + SEPARATOR, left_out
