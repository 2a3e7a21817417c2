"""The statistics, as pure functions of arrays: no model, no files, nothing kept.

Everywhere `is_member` is bool (n,), `scores` float (n,) with higher = member, and `groups` (n,) says which texts
belong together (None: each is its own group).
"""

from auditlib.evidence.auc import auc, delong, paired_delong
from auditlib.evidence.blind import BlindBaseline, Telltale, blind_baseline, cross_validated_auc
from auditlib.evidence.book_verdict import BookFindings, book_verdict
from auditlib.evidence.contamination import (
    CorrectedRate,
    DetectorErrors,
    corrected_rate,
    detector_errors,
    rate_given_errors,
)
from auditlib.evidence.equivalence import Equivalence, equivalence
from auditlib.evidence.examination import examine
from auditlib.evidence.extraction import (
    ExtractionSummary,
    Windows,
    extraction_of_pieces,
    extraction_probability,
    extraction_summary,
    extraction_windows,
)
from auditlib.evidence.grouped import auc_difference, auc_interval, auc_p, share_interval
from auditlib.evidence.intervals import Difference, Interval, clopper_pearson
from auditlib.evidence.lengths import LengthCheck, Spearman, compare_lengths, length_dependence
from auditlib.evidence.means import mean_difference, mean_of_groups, permutation_p, rank_agreement
from auditlib.evidence.over_blind import LikelihoodRatio, adds_to_blind, auc_over_blind
from auditlib.evidence.p_values import (
    ConformalP,
    benjamini_hochberg,
    benjamini_yekutieli,
    conformal_p,
    conformal_ps,
    holm,
    set_p,
)
from auditlib.evidence.planner import Plan, plan, power_to_see
from auditlib.evidence.roc import Roc, best_accuracy_threshold, roc, threshold_at_fpr
from auditlib.evidence.sanity import a_a_run, label_reversal
from auditlib.evidence.shelf import Correction, ShelfPs, power_of_works, shelf_ps, smallest_p
from auditlib.evidence.splits import split_in_halves
from auditlib.evidence.thresholds import (
    Calls,
    OutOfFold,
    SettingChoice,
    TprAtFpr,
    called_out_of_fold,
    choose_setting,
    out_of_fold_accuracy,
    tpr_at_fpr,
)
from auditlib.evidence.verdict import LIMITS, Findings, Reason, Verdict, Word, calibration_verdict, text_verdict

__all__ = [
    "LIMITS",
    "BlindBaseline",
    "BookFindings",
    "Calls",
    "ConformalP",
    "CorrectedRate",
    "Correction",
    "DetectorErrors",
    "Difference",
    "Equivalence",
    "ExtractionSummary",
    "Findings",
    "Interval",
    "LengthCheck",
    "LikelihoodRatio",
    "OutOfFold",
    "Plan",
    "Reason",
    "Roc",
    "SettingChoice",
    "ShelfPs",
    "Spearman",
    "Telltale",
    "TprAtFpr",
    "Verdict",
    "Windows",
    "Word",
    "a_a_run",
    "adds_to_blind",
    "auc",
    "auc_difference",
    "auc_interval",
    "auc_over_blind",
    "auc_p",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "best_accuracy_threshold",
    "blind_baseline",
    "book_verdict",
    "calibration_verdict",
    "called_out_of_fold",
    "choose_setting",
    "clopper_pearson",
    "compare_lengths",
    "conformal_p",
    "conformal_ps",
    "corrected_rate",
    "cross_validated_auc",
    "delong",
    "detector_errors",
    "equivalence",
    "examine",
    "extraction_of_pieces",
    "extraction_probability",
    "extraction_summary",
    "extraction_windows",
    "holm",
    "label_reversal",
    "length_dependence",
    "mean_difference",
    "mean_of_groups",
    "out_of_fold_accuracy",
    "paired_delong",
    "permutation_p",
    "plan",
    "power_of_works",
    "power_to_see",
    "rank_agreement",
    "rate_given_errors",
    "roc",
    "set_p",
    "share_interval",
    "shelf_ps",
    "smallest_p",
    "split_in_halves",
    "text_verdict",
    "threshold_at_fpr",
    "tpr_at_fpr",
]
