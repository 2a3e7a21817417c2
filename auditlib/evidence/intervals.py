"""What an uncertain number is, and the intervals that need nothing but counts."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isinf

import numpy as np
from scipy import special, stats


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval: low <= estimate <= high.

    `level` is the share of audits in which such an interval covers the truth, 0.95 for 95%. `method` names how
    it was made.
    """

    estimate: float
    low: float
    high: float
    level: float
    method: str


@dataclass(frozen=True)
class Difference:
    """A paired difference, first less second, with its interval and a two-sided p-value for "no difference"."""

    estimate: float
    low: float
    high: float
    p: float
    level: float
    method: str

    @property
    def standard_error(self) -> float:
        """Half the interval's width over the normal quantile of its level; never too small where t was used."""
        return (self.high - self.low) / (2 * normal_quantile(self.level))


def normal_quantile(level: float) -> float:
    """How many standard errors a two-sided interval of `level` reaches: 1.96 at 0.95."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    return float(special.ndtri(0.5 + level / 2))


def t_quantile(level: float, freedom: float) -> float:
    """The same by Student's t with `freedom` degrees of freedom; infinite ones are the normal."""
    return normal_quantile(level) if isinf(freedom) else float(stats.t.ppf(0.5 + level / 2, freedom))


def clopper_pearson(successes: float, trials: float, level: float = 0.95) -> Interval:
    """Exact binomial interval of a share (Clopper and Pearson 1934); covers at least `level` always.

    Trials must be independent: for snippets of a few books it is too narrow, see `share_interval`. Fractions of
    successes and trials (an effective sample size) are taken by the beta quantiles as they are.
    """
    if not 0 <= successes <= trials or trials <= 0:
        raise ValueError(f"{successes} successes in {trials} trials make no share")
    tail = (1 - level) / 2
    low = float(special.betaincinv(successes, trials - successes + 1, tail)) if successes > 0 else 0.0
    high = float(special.betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0
    return Interval(successes / trials, low, high, level, "Clopper-Pearson")


def logit_interval(estimate: float, standard_error: float, level: float, method: str, freedom: float = inf) -> Interval:
    """Interval of a share strictly between 0 and 1, symmetric on the logit scale, so that it stays inside (0, 1).

    `standard_error` is that of the share; the delta method takes it to the logit scale.
    """
    reach = t_quantile(level, freedom) * standard_error / (estimate * (1 - estimate))
    middle = special.logit(estimate)
    low, high = special.expit(np.array([middle - reach, middle + reach]))
    return Interval(estimate, float(low), float(high), level, method)
