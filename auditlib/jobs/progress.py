"""How far a run is and how long it still takes: from what it did lately, by a clock that nobody sets back."""

from __future__ import annotations

from collections import deque

RECENT_SECONDS = 30.0
FEWEST_SECONDS = 1.0  # before that a rate is chance


class RateMeter:
    """Units a second over the last half minute. Times are of a monotonic clock; pauses count, as they take time too."""

    def __init__(self, began: float) -> None:
        self._samples: deque[tuple[float, int]] = deque([(began, 0)])

    def add(self, units: int, at: float) -> None:
        """So many more units were done by `at`."""
        self._samples.append((at, self._samples[-1][1] + units))
        while len(self._samples) > 2 and self._samples[1][0] <= at - RECENT_SECONDS:
            self._samples.popleft()

    @property
    def per_second(self) -> float | None:
        """None before there is anything to go by."""
        (began, before), (ended, after) = self._samples[0], self._samples[-1]
        if ended - began < FEWEST_SECONDS or after == before:
            return None
        return (after - before) / (ended - began)
