"""Before a run: what sets of this size can show at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, sqrt

from scipy import special

from auditlib.core import AuditError
from auditlib.evidence.intervals import logit_interval, normal_quantile

PLANNED_AUCS = (0.6, 0.7, 0.8, 0.9)
WITHIN_GROUP = 0.3
USUAL_POWER = 0.8
_LARGEST = 1_000_000


@dataclass(frozen=True)
class Plan:
    """What to expect of member and non-member sets of the given size, and of a list of works judged with them.

    smallest_fpr             lowest false-positive rate at which TPR can be told (half of the non-members fix it)
    auc_widths               width of the AUC's interval to expect, for each of PLANNED_AUCS
    power                    chance that an AUC of 0.7 gets an interval wholly above 0.5
    groups_for_power         groups in each set for a power of 0.8 to see an AUC of 0.7
    groups_for_width         groups in each set for an interval of AUC 0.7 no wider than 0.1
    smallest_p               smallest p of one audited work against the non-member groups
    works_at_smallest_p      how many of the audited works must all reach smallest_p so that Benjamini-Hochberg calls
                             them at alpha; None where not even all of them together can
    sentences                the same in words
    """

    smallest_fpr: float
    auc_widths: dict[float, float]
    power: float
    groups_for_power: int
    groups_for_width: int
    smallest_p: float
    works_at_smallest_p: int | None
    sentences: tuple[str, ...]


def power_to_see(auc: float, n_members: float, n_non_members: float, alpha: float = 0.05) -> float:
    """Chance that the (1 - alpha) interval of a true `auc` lies above 0.5, for independent texts.

    Normal approximation with Hanley and McNeil's (1982) standard errors; sizes may be effective ones.
    """
    at_null = sqrt((n_members + n_non_members + 1) / (12 * n_members * n_non_members))
    here = auc_standard_error(auc, n_members, n_non_members)
    return float(special.ndtr((auc - 0.5 - normal_quantile(1 - alpha) * at_null) / here))


def auc_standard_error(auc: float, n_members: float, n_non_members: float) -> float:
    """Standard error of an AUC, from its size alone (Hanley and McNeil 1982, equation 1)."""
    if not 0 < auc < 1 or n_members < 1 or n_non_members < 1:
        raise ValueError(f"no standard error of AUC {auc} with {n_members} and {n_non_members} texts")
    two_members = auc / (2 - auc)
    two_non_members = 2 * auc**2 / (1 + auc)
    variance = (
        auc * (1 - auc) + (n_members - 1) * (two_members - auc**2) + (n_non_members - 1) * (two_non_members - auc**2)
    )
    return sqrt(max(variance, 1e-12) / (n_members * n_non_members))


def plan(
    n_members: int,
    n_non_members: int,
    member_groups: int | None = None,
    non_member_groups: int | None = None,
    alpha: float = 0.05,
    n_audited: int = 1,
    within_group: float = WITHIN_GROUP,
) -> Plan:
    """What `n_members` and `n_non_members` texts in so many groups can show (None: each text is its own group).

    `within_group` is how alike the scores of one group are, as a correlation; m texts of a group are then worth
    m/(1 + (m - 1) within_group) independent ones. 0.3 is a guess for the snippets of a book, to be replaced by
    experience.
    """
    member_groups = n_members if member_groups is None else member_groups
    non_member_groups = n_non_members if non_member_groups is None else non_member_groups
    if not 2 <= member_groups <= n_members or not 2 <= non_member_groups <= n_non_members:
        raise AuditError(
            "Such sets cannot be: each needs at least 2 groups, and no more groups than texts.",
            "Correct the numbers of texts and of groups.",
        )
    worth = [
        groups * _worth(texts / groups, within_group)
        for texts, groups in ((n_members, member_groups), (n_non_members, non_member_groups))
    ]
    per_group = _worth((n_members + n_non_members) / (member_groups + non_member_groups), within_group)
    widths = {value: _width(value, worth[0], worth[1]) for value in PLANNED_AUCS}
    power = power_to_see(0.7, worth[0], worth[1], alpha)
    for_power = _fewest(lambda groups: power_to_see(0.7, groups * per_group, groups * per_group, alpha) >= USUAL_POWER)
    for_width = _fewest(lambda groups: _width(0.7, groups * per_group, groups * per_group) <= 0.1)
    smallest_fpr = 1 / max(1, floor(n_non_members / 2))
    smallest_p = 1 / (non_member_groups + 1)
    works = ceil(smallest_p * n_audited / alpha - 1e-9)
    works_needed = works if works <= n_audited else None
    sentences = (
        f"The smallest false-positive rate that can be told is {smallest_fpr:.2%}.",
        f"An AUC of 0.70 would come with an interval about {widths[0.7]:.2f} wide.",
        f"An AUC of 0.70 would be told from chance in {power:.0%} of such audits"
        + ("." if power >= USUAL_POWER else f"; for {USUAL_POWER:.0%}, each set needs {for_power} groups."),
        _shelf_sentence(smallest_p, works_needed, n_audited, non_member_groups, alpha),
    )
    return Plan(smallest_fpr, widths, power, for_power, for_width, smallest_p, works_needed, sentences)


def _shelf_sentence(smallest_p: float, needed: int | None, n_audited: int, groups: int, alpha: float) -> str:
    begin = f"With {groups} non-member groups the smallest p is {smallest_p:.3f}"
    if needed is None:
        wanted = ceil(1 / alpha - 1e-9) - 1
        return f"{begin}, so no audited work can reach {alpha:g}; {wanted} non-member groups could."
    if needed == 1:
        return f"{begin}, so each audited work can reach {alpha:g} by itself" + (
            "." if n_audited == 1 else f", corrected for all {n_audited}."
        )
    single = ceil(n_audited / alpha - 1e-9) - 1
    return (
        f"{begin}; corrected for {n_audited} audited works, at least {needed} of them must reach it together. "
        f"For one work by itself {single} non-member groups would be needed."
    )


def _worth(texts_per_group: float, within_group: float) -> float:
    """How many independent texts one group is worth."""
    return texts_per_group / (1 + (texts_per_group - 1) * within_group)


def _width(auc: float, n_members: float, n_non_members: float) -> float:
    interval = logit_interval(auc, auc_standard_error(auc, n_members, n_non_members), 0.95, "expected")
    return interval.high - interval.low


def _fewest(enough: Callable[[int], bool]) -> int:
    """The smallest number from 2 on that is `enough`, which larger ones are too."""
    low, high = 2, 2
    while not enough(high) and high < _LARGEST:
        low, high = high + 1, high * 2
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low
