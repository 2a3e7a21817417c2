"""What belongs together because pairs of it do."""

from __future__ import annotations

from collections.abc import Iterable


def first_of_cluster(n: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """For each of the places 0..n-1 the earliest one that `pairs` connect it with, itself where there is none."""
    earlier = list(range(n))  # each points to an earlier one of its cluster, or to itself

    def first_of(place: int) -> int:
        while earlier[place] != place:
            earlier[place] = earlier[earlier[place]]
            place = earlier[place]
        return place

    for one, other in pairs:
        low, high = sorted((first_of(one), first_of(other)))
        earlier[high] = low
    return [first_of(place) for place in range(n)]
