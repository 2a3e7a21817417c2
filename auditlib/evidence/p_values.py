"""One text, one book: where its score lies among those of non-members; and what many questions at once cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from auditlib.core import AuditError
from auditlib.evidence.arrays import FloatArray, IntArray, checked_scores

SMALLEST_BIN = 20


@dataclass(frozen=True)
class ConformalP:
    """Where one text's score lies among those of non-members of about its length.

    p           chance of a score at least so high, if the text is exchangeable with these non-members
    n_compared  how many non-members those are; p is never below 1/(n_compared + 1)
    length_low, length_high   the shortest and the longest of them, in the unit that was given
    in_range    whether the text's own length lies between the shortest and the longest non-member of all
    note        one sentence: what it was compared with, and what is unusual about that
    """

    p: float
    n_compared: int
    length_low: float
    length_high: float
    in_range: bool
    note: str


def conformal_p(
    score: float,
    length: float,
    calibration_scores: ArrayLike,
    calibration_lengths: ArrayLike,
    smallest_bin: int = SMALLEST_BIN,
) -> ConformalP:
    """Conformal p-value of one text: (1 + #{non-members with score >= its own}) / (n0 + 1).

    See `conformal_ps`, which does the same for many texts.
    """
    return conformal_ps([score], [length], calibration_scores, calibration_lengths, smallest_bin)[0]


def conformal_ps(
    scores: ArrayLike,
    lengths: ArrayLike,
    calibration_scores: ArrayLike,
    calibration_lengths: ArrayLike,
    smallest_bin: int = SMALLEST_BIN,
) -> tuple[ConformalP, ...]:
    """Conformal p-values of texts with `scores` (m,) and `lengths` (m,) against non-members (n0,).

    The assumption: a text that was not in the training data is exchangeable with the calibration non-members of its
    length bin (Vovk et al. 2005). Bins are half an octave of length wide; the nearest are merged to a text's own
    until they hold `smallest_bin` non-members. Where there are fewer in all, all are used.
    """
    values, sizes = checked_scores(scores), checked_scores(lengths, "length")
    known, known_sizes = checked_scores(calibration_scores), checked_scores(calibration_lengths, "length")
    if len(known) == 0:
        raise AuditError("There are no non-members to compare with.", "Calibrate with at least 20 non-members.")
    if len(values) != len(sizes) or len(known) != len(known_sizes):
        raise ValueError("each score needs a length")
    bins, known_bins = _length_bin(sizes), _length_bin(known_sizes)
    results: dict[int, ConformalP] = {}
    for own in np.unique(bins):
        merged = _merged(int(own), known_bins, smallest_bin)
        compared = np.sort(known[merged])
        low, high = float(known_sizes[merged].min()), float(known_sizes[merged].max())
        for place in np.flatnonzero(bins == own):
            n_at_least = len(compared) - int(np.searchsorted(compared, values[place], "left"))
            in_range = bool(known_sizes.min() <= sizes[place] <= known_sizes.max())
            note = _note(len(compared), low, high, in_range, smallest_bin)
            p = (1 + n_at_least) / (len(compared) + 1)
            results[int(place)] = ConformalP(p, len(compared), low, high, in_range, note)
    return tuple(results[place] for place in range(len(values)))


def set_p(statistic: float, non_member_statistics: ArrayLike) -> float:
    """p-value of a book (its mean score, say) among non-member books (B0,): (1 + #{>= its own}) / (B0 + 1).

    Never below 1/(B0 + 1). Books must be of about the same number of snippets, as a mean of fewer varies more.
    """
    known = checked_scores(non_member_statistics)
    if len(known) == 0:
        raise AuditError("There are no non-member books to compare with.", "Calibrate with at least 20 of them.")
    checked_scores([statistic])
    return float((1 + np.count_nonzero(known >= statistic)) / (len(known) + 1))


def benjamini_hochberg(p: ArrayLike) -> FloatArray:
    """p-values (m,) adjusted so that those <= alpha hold at most a share alpha of false alarms on average.

    For independent or positively dependent p-values, as conformal ones of one calibration are (Benjamini and
    Hochberg 1995; Bates et al. 2023).
    """
    return np.asarray(stats.false_discovery_control(_checked_ps(p), method="bh"), dtype=np.float64)


def benjamini_yekutieli(p: ArrayLike) -> FloatArray:
    """The same for p-values (m,) that depend on each other in any way (Benjamini and Yekutieli 2001)."""
    return np.asarray(stats.false_discovery_control(_checked_ps(p), method="by"), dtype=np.float64)


def holm(p: ArrayLike) -> FloatArray:
    """p-values (m,) adjusted so that any false alarm among those <= alpha has a chance of at most alpha (Holm 1979)."""
    values = _checked_ps(p)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(stepped, 1)
    return adjusted


def _checked_ps(p: ArrayLike) -> FloatArray:
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1 or not np.all((values >= 0) & (values <= 1)):
        raise ValueError("p-values must be one row of numbers from 0 to 1")
    return values


def _length_bin(lengths: FloatArray) -> IntArray:
    if np.any(lengths <= 0):
        raise ValueError("lengths must be above 0")
    return np.asarray(np.floor(2 * np.log2(lengths)), dtype=np.int64)


def _merged(own: int, known_bins: IntArray, smallest_bin: int) -> np.ndarray:
    """Which non-members (n0,) are in the bin `own` or the nearest ones to it that together hold enough."""
    distance = np.abs(known_bins - own)
    for reach in np.unique(distance):
        merged = distance <= reach
        if np.count_nonzero(merged) >= smallest_bin:
            return np.asarray(merged)
    return np.ones(len(known_bins), dtype=np.bool_)


def _note(n_compared: int, low: float, high: float, in_range: bool, smallest_bin: int) -> str:
    note = f"Compared with {n_compared} non-members of length {low:,.0f} to {high:,.0f}."
    if n_compared < smallest_bin:
        note += f" These are all there are; {smallest_bin} or more would be better."
    if not in_range:
        note += " No non-member is as short or as long as this text."
    return note
