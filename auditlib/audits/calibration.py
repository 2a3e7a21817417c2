"""Calibration: how well each score tells known members from known non-members, how sure that is, and whether the
model has anything to do with it.

Everything here is computed from texts that a model has read already (`ReadSets`): another k, method, threshold rule or
alpha asks the model nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from auditlib.audits.sets import LabelledSets, ReadSets
from auditlib.core import AuditError
from auditlib.evidence import (
    BlindBaseline,
    Findings,
    Interval,
    LengthCheck,
    OutOfFold,
    Roc,
    SettingChoice,
    Spearman,
    TprAtFpr,
    Verdict,
    Word,
    a_a_run,
    auc_interval,
    blind_baseline,
    calibration_verdict,
    choose_setting,
    compare_lengths,
    examine,
    label_reversal,
    length_dependence,
    out_of_fold_accuracy,
    roc,
    tpr_at_fpr,
)
from auditlib.evidence.thresholds import Rule
from auditlib.scoring import DEFAULT_K, SCORES, checked_k
from auditlib.scoring.min_k import bottom_means
from auditlib.scoring.min_k_plus_plus import standardized_logprob

ALPHA = 0.05
FPRS = (0.05, 0.01)
KS = tuple(range(5, 65, 5))
K_SCORES = ("min_k", "min_k_plus_plus")
FEWEST_IN_LENGTH_CLASS = 5
MOST_LENGTH_CLASSES = 6


@dataclass(frozen=True)
class Words:
    """What the texts tell by themselves, with no model: the same whatever the score, k or alpha."""

    blind: BlindBaseline
    lengths: LengthCheck


@dataclass(frozen=True)
class MethodResult:
    """One score on both sets.

    tpr_at       by the FPR asked for; None where these sets cannot resolve it, with the reason in `unresolved`
    threshold    out-of-fold results and the threshold of the rule that was asked for (best accuracy, or an FPR);
                 None where these sets cannot give it, with the reason in `no_threshold`
    length       Spearman correlation of score and token count over all texts
    """

    name: str
    scores: NDArray[np.float64]
    findings: Findings
    verdict: Verdict
    roc: Roc
    threshold: OutOfFold | None
    no_threshold: str
    tpr_at: dict[float, TprAtFpr | None]
    unresolved: dict[float, str]
    length: Spearman


@dataclass(frozen=True)
class LengthClass:
    """AUC among texts of about one length, `low` to `high` words."""

    low: int
    high: int
    n_members: int
    n_non_members: int
    auc: Interval


@dataclass(frozen=True)
class Calibrated:
    """All that a calibration shows. `methods` by score name; `unavailable` says why the others are not there."""

    k: float
    alpha: float
    rule: Rule
    seed: int
    words: Words
    methods: dict[str, MethodResult]
    unavailable: dict[str, str]


def examine_words(sets: LabelledSets, seed: int = 0) -> Words:
    """The blind baseline and the lengths of both sets. Raises `AuditError` where there are too few texts."""
    return Words(
        blind_baseline(sets.texts, sets.is_member, sets.groups, seed=seed),
        compare_lengths(sets.words, sets.is_member, sets.groups, seed),
    )


def calibrate(
    read: ReadSets,
    words: Words,
    k: float = DEFAULT_K,
    alpha: float = ALPHA,
    rule: Rule = "accuracy",
    names: Sequence[str] | None = None,
    seed: int = 0,
    n_tried: int | None = None,
) -> Calibrated:
    """Every score (or those named) on both sets. p is corrected for as many scores as are looked at, or `n_tried`.

    `rule` is "accuracy" (the paper's book audit) or a false-positive rate. Raises `AuditError` where no score can be
    had.
    """
    checked_alpha(alpha)
    asked = list(names or SCORES)
    checked_rule(rule)
    unavailable = {name: reason for name in asked if (reason := read.unavailable_because(name))}
    usable = [name for name in asked if name not in unavailable]
    if not usable:
        raise AuditError("None of the scores can be had for these texts.", next(iter(unavailable.values())))
    methods = {
        name: _method(read, words, name, read.scores(name, checked_k(k)), n_tried or len(usable), alpha, rule, seed, k)
        for name in usable
    }
    return Calibrated(k, alpha, rule, seed, words, methods, unavailable)


def at_k(read: ReadSets, found: Calibrated, k: float) -> Calibrated:
    """The same at another k: only the scores that depend on k are computed anew."""
    n_tried = len(found.methods)
    methods = {
        name: _method(
            read, found.words, name, read.scores(name, checked_k(k)), n_tried, found.alpha, found.rule, found.seed, k
        )
        if name in K_SCORES
        else method
        for name, method in found.methods.items()
    }
    return replace(found, k=k, methods=methods)


def judged_at(found: Calibrated, alpha: float) -> Calibrated:
    """The same findings judged at another alpha."""
    methods = {
        name: replace(method, verdict=calibration_verdict(method.findings, checked_alpha(alpha)))
        for name, method in found.methods.items()
    }
    return replace(found, alpha=alpha, methods=methods)


def checked_rule(rule: str | float) -> Rule:
    """`rule`, or `AuditError` where it chooses no threshold."""
    if rule == "accuracy":
        return "accuracy"
    if isinstance(rule, float) and 0 < rule < 1:
        return rule
    raise AuditError(
        f"A threshold is chosen by “accuracy” or a false-positive rate between 0 and 1, not by “{str(rule)[:40]}”.",
        "The usual rates are 0.05 and 0.01.",
    )


@dataclass(frozen=True)
class KSweep:
    """AUC over k for one score of the Min-K family, and the k chosen in one half of the texts as it does in the other.

    auc_by_k   on all texts, each with its interval: for looking, not for quoting the best
    """

    ks: tuple[int, ...]
    auc_by_k: tuple[Interval, ...]
    chosen: SettingChoice

    @property
    def chosen_k(self) -> int:
        """The k that separates best in the calibration half."""
        return self.ks[self.chosen.index]


def k_sweep(read: ReadSets, name: str, seed: int = 0, ks: tuple[int, ...] = KS) -> KSweep:
    """How the AUC of `name` ("min_k" or "min_k_plus_plus") depends on k."""
    if name not in K_SCORES:
        raise ValueError(f"{name} has no k")
    if reason := read.unavailable_because(name):
        raise AuditError(f"{SCORES[name].label} cannot be had for these texts. {reason}", "Choose another score.")
    values = [r.stats.logprob if name == "min_k" else standardized_logprob(r.stats) for r in read.readings]
    by_k = np.array([bottom_means(v, ks) for v in values]).T  # (ks, n)
    sets = read.sets
    intervals = tuple(auc_interval(sets.is_member, scores, sets.groups, seed=seed) for scores in by_k)
    return KSweep(ks, intervals, choose_setting(sets.is_member, by_k, sets.groups, seed))


def length_classes(read: ReadSets, scores: NDArray[np.float64], seed: int = 0) -> list[LengthClass]:
    """AUC by length, where lengths differ: by each length where there are few of them, else by thirds.

    Classes with fewer than 5 texts of a set, or whose texts of a set are all of one group, are left out; nothing is
    given where all texts are of about one length.
    """
    sets = read.sets
    sizes = sets.words
    distinct = np.unique(sizes)
    if len(distinct) <= MOST_LENGTH_CLASSES:
        bounds = [(int(size), int(size)) for size in distinct]
    else:
        low, third, two_thirds, high = (int(q) for q in np.quantile(sizes, [0, 1 / 3, 2 / 3, 1]))
        bounds = [(low, third), (third + 1, two_thirds), (two_thirds + 1, high)]
    if len(bounds) < 2 or np.quantile(sizes, 0.95) < 1.5 * np.quantile(sizes, 0.05):
        return []
    classes = []
    for low, high in bounds:
        own = (sizes >= low) & (sizes <= high)
        n_members = int(np.count_nonzero(own & sets.is_member))
        n_non_members = int(np.count_nonzero(own)) - n_members
        if min(n_members, n_non_members) < FEWEST_IN_LENGTH_CLASS:
            continue
        groups = None if sets.groups is None else sets.groups[own]
        labels = sets.is_member[own]
        if groups is not None and min(len(np.unique(groups[side])) for side in (labels, ~labels)) < 2:
            continue  # pieces of one work say nothing about chance
        interval = auc_interval(labels, scores[own], groups, seed=seed)
        classes.append(LengthClass(low, high, n_members, n_non_members, interval))
    return classes


@dataclass(frozen=True)
class NullRuns:
    """Runs that must find nothing: with the labels the other way round, and non-members against non-members."""

    reversed_auc: Interval
    reversed_verdict: Word
    a_a: Interval | None
    a_a_missing: str


def null_runs(read: ReadSets, words: Words, method: MethodResult, alpha: float = ALPHA, seed: int = 0) -> NullRuns:
    """Label reversal and A/A run of one score. If either finds something, the audit is at fault and not the model."""
    sets = read.sets
    reversed_findings = examine(
        ~sets.is_member,
        method.scores,
        sets.groups,
        blind_scores=-words.blind.scores,
        lengths=sets.words,
        same_model=True,
        seed=seed,
    )
    others = ~sets.is_member
    try:
        a_a, missing = a_a_run(method.scores[others], None if sets.groups is None else sets.groups[others], seed), ""
    except AuditError as error:
        a_a, missing = None, f"{error.wrong} {error.remedy}"
    return NullRuns(
        label_reversal(sets.is_member, method.scores, sets.groups, seed=seed),
        calibration_verdict(reversed_findings, alpha).word,
        a_a,
        missing,
    )


def checked_alpha(alpha: float) -> float:
    """`alpha`, or `AuditError` where it is no share strictly between 0 and 1."""
    if not 0 < alpha < 1:
        raise AuditError(f"Alpha is a share between 0 and 1, not {alpha:g}.", "The usual choice is 0.05.")
    return alpha


def _method(
    read: ReadSets,
    words: Words,
    name: str,
    scores: NDArray[np.float64],
    n_tried: int,
    alpha: float,
    rule: Rule,
    seed: int,
    k: float,
) -> MethodResult:
    sets, placebo = read.sets, read.placebo
    findings = examine(
        sets.is_member,
        scores,
        sets.groups,
        blind_scores=words.blind.scores,
        lengths=sets.words,
        same_model=True,
        n_tried=n_tried,
        # A placebo reads no companions, and may give less than the audited model.
        placebo_scores=placebo.scores(name, k) if placebo and not placebo.unavailable_because(name) else None,
        seed=seed,
    )
    tpr_at: dict[float, TprAtFpr | None] = {}
    unresolved = {}
    for fpr in FPRS:
        try:
            tpr_at[fpr] = tpr_at_fpr(sets.is_member, scores, fpr, sets.groups, seed)
        except AuditError as error:
            tpr_at[fpr], unresolved[fpr] = None, f"{error.wrong} {error.remedy}"
    try:
        threshold, no_threshold = out_of_fold_accuracy(sets.is_member, scores, sets.groups, rule, seed=seed), ""
    except AuditError as error:
        threshold, no_threshold = None, f"{error.wrong} {error.remedy}"
    return MethodResult(
        name=name,
        scores=scores,
        findings=findings,
        verdict=calibration_verdict(findings, alpha),
        roc=roc(sets.is_member, scores),
        threshold=threshold,
        no_threshold=no_threshold,
        tpr_at=tpr_at,
        unresolved=unresolved,
        length=length_dependence(scores, read.n_tokens),
    )
