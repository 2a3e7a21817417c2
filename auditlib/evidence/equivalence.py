"""Whether two scores are as good as equal: absence of a difference, shown and not merely not refuted."""

from __future__ import annotations

from dataclasses import dataclass

from scipy import special

from auditlib.evidence.intervals import Difference, Interval, normal_quantile


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided tests of "the difference is at least the margin": p is the larger of the two."""

    p: float
    equivalent: bool
    interval: Interval  # of level 1 - 2 alpha; equivalent exactly where it lies within the margin
    margin: float


def equivalence(difference: Difference, margin: float, alpha: float = 0.05) -> Equivalence:
    """Is the true difference (of two AUCs, say) smaller than `margin` either way (Schuirmann 1987)?

    `margin` is set by the auditor before looking: how large a difference would still not matter. Normal tests with
    the standard error that the difference's interval has.
    """
    if margin <= 0:
        raise ValueError(f"margin must be above 0, not {margin}")
    error = max(difference.standard_error, 1e-12)
    p = float(special.ndtr((abs(difference.estimate) - margin) / error))
    reach = normal_quantile(1 - 2 * alpha) * error
    interval = Interval(
        difference.estimate,
        difference.estimate - reach,
        difference.estimate + reach,
        1 - 2 * alpha,
        "two one-sided tests",
    )
    return Equivalence(p, p <= alpha, interval, margin)
