"""Contamination rate: the share of a book's snippets called members, and what the detector's errors leave of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from auditlib.core import AuditError
from auditlib.evidence.arrays import FloatArray, Groups, group_codes
from auditlib.evidence.grouped import DRAWS, group_draws, share_interval
from auditlib.evidence.intervals import Interval


@dataclass(frozen=True)
class CorrectedRate:
    """The raw rate, and the rate corrected for the detector's TPR and FPR.

    corrected  None where the detector does not tell members from non-members well enough
    reason     one sentence: what the correction did, or why there is none
    """

    raw: Interval
    corrected: Interval | None
    reason: str


def corrected_rate(
    audited: ArrayLike,
    members: ArrayLike,
    non_members: ArrayLike,
    audited_groups: Groups = None,
    member_groups: Groups = None,
    non_member_groups: Groups = None,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> CorrectedRate:
    """Rogan and Gladen's (1978) estimate, (raw - FPR)/(TPR - FPR), clipped to [0, 1].

    Each array says of snippets whether they were called members: those of the audited book (a,), and those of known
    members (m,) and known non-members (n,), the latter two called by a threshold chosen without them. The snippets
    of one audited book are drawn one by one, since the question is about this book; calibration is drawn by groups.
    """
    flags = [np.asarray(side, dtype=np.bool_) for side in (audited, members, non_members)]
    for name, side in zip(("audited text", "members", "non-members"), flags, strict=True):
        if len(side) == 0:
            raise AuditError(
                f"The {name} has no snippets." if side is flags[0] else f"There are no {name}.",
                "Add some, then run again.",
            )
    codes = [
        group_codes(g, len(f)) for g, f in zip((audited_groups, member_groups, non_member_groups), flags, strict=True)
    ]
    if codes[0].max() == 0:
        codes[0] = np.arange(len(flags[0]))
    raw = share_interval(flags[0], codes[0], level=level, draws=draws, seed=seed)
    tpr, fpr = float(flags[1].mean()), float(flags[2].mean())
    rng = np.random.default_rng(seed)
    raw_draws, tpr_draws, fpr_draws = (_rate_draws(f, c, draws, rng) for f, c in zip(flags, codes, strict=True))
    tails = [(1 - level) / 2, (1 + level) / 2]
    gap_low, gap_high = np.quantile(tpr_draws - fpr_draws, tails)
    if gap_low <= 0:
        reason = (
            f"There is no corrected rate: the share called members is {tpr:.0%} of known members and {fpr:.0%} of "
            f"known non-members, and the difference ({gap_low:.2f} to {gap_high:.2f}) could be nothing."
        )
        return CorrectedRate(raw, None, reason)
    estimate = float(np.clip((raw.estimate - fpr) / (tpr - fpr), 0, 1))
    gap_draws = np.maximum(tpr_draws - fpr_draws, 1e-9)
    low, high = np.quantile(np.clip((raw_draws - fpr_draws) / gap_draws, 0, 1), tails)
    corrected = Interval(estimate, min(float(low), estimate), max(float(high), estimate), level, "grouped bootstrap")
    reason = (
        f"Corrected for a detector that calls {tpr:.0%} of known members and {fpr:.0%} of known non-members members."
    )
    return CorrectedRate(raw, corrected, reason)


def _rate_draws(flags: np.ndarray, codes: np.ndarray, draws: int, rng: np.random.Generator) -> FloatArray:
    n_groups = int(codes.max()) + 1
    hits, sizes = np.bincount(codes, weights=flags), np.bincount(codes)
    counts = group_draws(n_groups, draws, rng)
    return np.asarray((counts @ hits) / (counts @ sizes))
