"""Works of known origin that stand before all other texts, for the scores that need such a prefix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from auditlib.audits.books.shelves import Shelf, Shelves
from auditlib.audits.companions import Prefixes, beginning
from auditlib.scoring import drawn_prefix


def without_prefix_works(shelves: Shelves, shots: int, seed: int) -> tuple[Shelves, Prefixes | None]:
    """The shelves without the works that stand in a prefix, and the prefixes: `shots` works of either reference shelf.

    One snippet of each such work is read before all other texts, and the work itself is measured by no score. Raises
    `AuditError` where too few would be left.
    """
    if not shots:
        return shelves, None
    texts = [beginning(snippet.text) for snippet in shelves.snippets]
    prefix = {}
    left_out = np.zeros(len(texts), dtype=np.bool_)
    for shelf in (Shelf.NON_MEMBERS, Shelf.MEMBERS):
        candidates = np.isin(shelves.work_of, shelves.on(shelf))
        prefix[shelf], drawn = drawn_prefix(texts, candidates, shots, seed, shelves.work_of)
        left_out |= drawn
    gone = set(np.unique(shelves.work_of[left_out]).tolist())
    kept_works = [place for place in range(len(shelves.works)) if place not in gone]
    new_place = {old: new for new, old in enumerate(kept_works)}
    kept = np.flatnonzero(~left_out)
    titles = ", ".join(f"“{shelves.works[place].title}”" for place in sorted(gone))
    note = f"{titles} stand before all texts for ReCaLL and Con-ReCall, and are measured by no score."
    return replace(
        shelves,
        works=tuple(shelves.works[place] for place in kept_works),
        snippets=tuple(shelves.snippets[place] for place in kept),
        work_of=np.array([new_place[int(work)] for work in shelves.work_of[kept]], dtype=np.int64),
        notes=(*shelves.notes, note),
    ), Prefixes(prefix[Shelf.NON_MEMBERS], prefix[Shelf.MEMBERS])
