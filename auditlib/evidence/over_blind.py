"""Whether a score says more than the words already do: by how much, and by a likelihood-ratio test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from auditlib.evidence.arrays import BoolArray, FloatArray, Groups, checked, checked_scores, each_its_own
from auditlib.evidence.grouped import auc_difference, auc_interval
from auditlib.evidence.intervals import Difference, normal_quantile


@dataclass(frozen=True)
class LikelihoodRatio:
    """A test of one more term in a logistic regression.

    statistic  chi-squared with one degree of freedom (grouped: F with 1 and groups - 1) under "it adds nothing"
    p          two-sided
    direction  1.0 where a higher score speaks for membership, given the words; -1.0 where against; 0.0 where neither
    method     which of the two tests
    """

    statistic: float
    p: float
    direction: float
    method: str


def auc_over_blind(
    is_member: ArrayLike,
    scores: ArrayLike,
    blind_scores: ArrayLike,
    groups: Groups = None,
    level: float = 0.95,
    seed: int = 0,
) -> Difference:
    """AUC of the score (n,) less that of the blind baseline (n,), widened because the latter is cross-validated.

    The paired difference takes both scores as given. But each text helped to fit the classifier of the others, so
    the baseline's own variance counts twice (see `cross_validated_auc`): once more is added.
    """
    paired = auc_difference(is_member, scores, blind_scores, groups, level, seed=seed)
    once_more = auc_interval(is_member, blind_scores, groups, level, seed=seed)
    quantile = normal_quantile(level)
    error = float(np.hypot(paired.standard_error, (once_more.high - once_more.low) / (2 * quantile)))
    low, high = max(-1.0, paired.estimate - quantile * error), min(1.0, paired.estimate + quantile * error)
    p = float(2 * special.ndtr(-abs(paired.estimate) / error))
    return Difference(paired.estimate, low, high, p, level, f"{paired.method}, widened for cross-validation")


def adds_to_blind(
    is_member: ArrayLike, scores: ArrayLike, blind_scores: ArrayLike, groups: Groups = None
) -> LikelihoodRatio:
    """Does the score (n,) add to the blind baseline's score (n,) in a logistic regression of membership?

    Independent texts: the penalised likelihood-ratio test (Firth 1993; Heinze and Schemper 2002), which stays finite
    when the score separates the sets without error. Groups: the score test at the fit without the score, with errors
    by group (White 1982; Boos 1992), because snippets of one book would be counted as so many witnesses.
    """
    labels, values, codes = checked(is_member, scores, groups)
    blind = checked_scores(blind_scores, "blind score")
    if np.ptp(values) == 0:
        return LikelihoodRatio(0.0, 1.0, 0.0, "all scores are equal")
    design = np.stack([np.ones(len(values)), _standard(blind), _standard(values)], axis=1)
    if np.ptp(blind) == 0:
        design = design[:, [0, 2]]
    elif abs(float(design[:, 1] @ design[:, 2])) / len(values) > 1 - 1e-9:
        return LikelihoodRatio(0.0, 1.0, 0.0, "the score is the blind score")
    without = np.arange(design.shape[1] - 1)
    null, null_likelihood = _firth(design, labels, without)
    if each_its_own(codes):
        full, likelihood = _firth(design, labels, np.arange(design.shape[1]))
        statistic = max(0.0, 2 * (likelihood - null_likelihood))
        p = float(stats.chi2.sf(statistic, 1))
        return LikelihoodRatio(statistic, p, float(np.sign(full[-1])), "penalised likelihood ratio")
    chance = special.expit(design @ null)
    weight = chance * (1 - chance)
    others = design[:, without]
    explained = np.linalg.lstsq(others * np.sqrt(weight)[:, None], design[:, -1] * np.sqrt(weight), rcond=None)[0]
    left_over = design[:, -1] - others @ explained
    by_group = np.bincount(codes, weights=left_over * (labels - chance))
    total, variance = float(by_group.sum()), float((by_group**2).sum())
    if variance < 1e-20:
        return LikelihoodRatio(0.0, 1.0, 0.0, "score test by group")
    statistic = total**2 / variance
    p = float(stats.f.sf(statistic, 1, len(by_group) - 1))
    return LikelihoodRatio(statistic, p, float(np.sign(total)), "score test by group")


def _standard(values: FloatArray) -> FloatArray:
    """Mean 0 and spread 1; values that are all equal become 0."""
    return np.asarray((values - values.mean()) / max(float(values.std()), 1e-300))


def _firth(design: FloatArray, is_member: BoolArray, free: np.ndarray) -> tuple[FloatArray, float]:
    """Coefficients and penalised log-likelihood, l + log det(information)/2, with all but `free` held at 0.

    The penalty is that of the whole design in both fits, as the likelihood-ratio test wants it.
    """
    coefficients = np.zeros(design.shape[1])
    likelihood, gradient, information = _penalised(design, is_member, coefficients)
    for _ in range(100):
        step = np.linalg.solve(information[np.ix_(free, free)], gradient[free])
        step *= min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        size = 1.0
        while True:
            moved = coefficients.copy()
            moved[free] += size * step
            tried = _penalised(design, is_member, moved)
            if tried[0] >= likelihood or size < 1e-6:
                break
            size /= 2
        gained = tried[0] - likelihood
        if gained < 0:
            break
        coefficients, (likelihood, gradient, information) = moved, tried
        if np.abs(size * step).max() < 1e-7:
            break
    return coefficients, likelihood


def _penalised(
    design: FloatArray, is_member: BoolArray, coefficients: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Penalised log-likelihood, its gradient (Firth's modified score), and the information."""
    linear = design @ coefficients
    chance = special.expit(linear)
    weight = np.maximum(chance * (1 - chance), 1e-12)
    information = design.T @ (design * weight[:, None])
    log_determinant = float(np.linalg.slogdet(information)[1])
    likelihood = float(np.sum(np.where(is_member, special.log_expit(linear), special.log_expit(-linear))))
    hat = np.einsum("ij,jk,ik->i", design, np.linalg.inv(information), design) * weight
    gradient = design.T @ (is_member - chance + hat * (0.5 - chance))
    return likelihood + log_determinant / 2, gradient, information
