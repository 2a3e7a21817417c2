"""The works of known origin that books are compared with: a reference shelf, or a saved calibration in its place."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from auditlib.audits.books.numbers import WHOLE
from auditlib.audits.books.reading import ReadBooks
from auditlib.audits.books.shelves import REFERENCE, Shelf
from auditlib.audits.calibration import K_SCORES
from auditlib.audits.saved_calibration import Calibration, refuse_other_model
from auditlib.core import AuditError
from auditlib.documents.cutting import Cutting
from auditlib.evidence import (
    LIMITS,
    Findings,
    OutOfFold,
    Reason,
    Roc,
    Verdict,
    Word,
    adds_to_blind,
    auc_over_blind,
    calibration_verdict,
    examine,
    out_of_fold_accuracy,
    roc,
)
from auditlib.evidence.thresholds import Rule
from auditlib.scoring import SCORES


@dataclass(frozen=True)
class Known:
    """Snippets (n,) of known origin under one score, and what they say of it.

    works     a number for each snippet's work
    findings  None where a saved calibration took the place of a shelf
    source    names the calibration; empty for a shelf
    """

    is_member: NDArray[np.bool_]
    scores: NDArray[np.float64]
    works: NDArray[np.int64]
    n_tokens: NDArray[np.int64]
    verdict: Verdict
    findings: Findings | None
    source: str = ""

    @property
    def n_works(self) -> tuple[int, int]:
        """Member and non-member works."""
        return len(np.unique(self.works[self.is_member])), len(np.unique(self.works[~self.is_member]))


@dataclass(frozen=True)
class Method:
    """One score on the reference shelf, for the table and the ROC of all methods.

    threshold  out-of-fold results of the rule that was asked for; None with the reason in `no_threshold`
    """

    name: str
    findings: Findings
    verdict: Verdict
    roc: Roc
    threshold: OutOfFold | None
    no_threshold: str


def known_shelf(
    read: ReadBooks, score: str, k: float, alpha: float, n_tried: int = 1, seed: int = 0, portion: int = WHOLE
) -> Known:
    """The reference shelf under one score. Raises `AuditError` where it cannot be had.

    `n_tried` scores were looked at; p is corrected for that.
    """
    if read.placed.blind is None:
        raise AuditError("There is no reference shelf.", "Bring one, or judge by a saved calibration.")
    places = read.placed.snippets_on(*REFERENCE)
    scores = read.numbers.scores(score, k, portion, places)
    works = read.placed.work_of[places]
    members = read.placed.on(Shelf.MEMBERS)
    is_member = np.isin(works, members)
    findings = examine(
        is_member,
        scores,
        works,
        blind_scores=None,
        lengths=None,
        same_model=True,
        n_tried=n_tried,
        placebo_scores=_placebo_scores(read, score, k, portion, places),
        seed=seed,
    )
    seen = np.searchsorted(places, read.placed.blind.places)
    seen_by_words = (is_member[seen], scores[seen], read.placed.blind.blind.scores, works[seen])
    adds = adds_to_blind(*seen_by_words)
    findings = replace(
        findings,
        blind_auc=read.placed.blind.blind.auc,
        over_blind=auc_over_blind(*seen_by_words, seed=seed),
        adds_to_blind_p=adds.p if adds.direction > 0 else 1.0,
        lengths=read.placed.blind.lengths,
    )
    n_tokens = read.numbers.n_tokens[places]
    return Known(is_member, scores, works, n_tokens, calibration_verdict(findings, alpha), findings)


def _placebo_scores(
    read: ReadBooks, score: str, k: float, portion: int, places: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """The same score under the placebo model; None where there is none, or it cannot give it."""
    if read.placebo is None:
        return None
    try:
        return read.placebo.scores(score, k, portion, places)
    except AuditError:
        return None


def known_calibration(calibration: Calibration, read: ReadBooks, score: str, k: float) -> Known:
    """A saved calibration in place of a shelf. Raises `AuditError` where it is of another model, score, k or length."""
    refuse_other_model(calibration, read.placed.identity)
    refuse_other_settings(calibration, read.placed.cutting, score, k)
    if calibration.member_works is None or calibration.non_member_works is None:
        raise AuditError(
            f"The calibration “{calibration.name}” does not say which of its texts belong to one work.",
            "Calibrate again with this version, or bring the reference shelf itself.",
        )
    members = np.array(calibration.member_works, dtype=np.int64)
    others = np.array(calibration.non_member_works, dtype=np.int64) + int(members.max()) + 1
    word = Word(calibration.verdict)
    said = (
        f"The saved calibration “{calibration.name}” has an AUC of {calibration.auc.estimate:.2f} "
        f"({calibration.auc.low:.2f} to {calibration.auc.high:.2f}), the words alone "
        f"{calibration.blind_auc.estimate:.2f}."
    )
    return Known(
        np.arange(len(members) + len(others)) < len(members),
        np.array([*calibration.members, *calibration.non_members]),
        np.concatenate([members, others]),
        np.array([*calibration.member_tokens, *calibration.non_member_tokens], dtype=np.int64),
        Verdict(word, (Reason(word is Word.SUPPORTED, said),), None, {"AUC": calibration.auc}, LIMITS),
        None,
        calibration.name,
    )


def refuse_other_settings(calibration: Calibration, cutting: Cutting, score: str, k: float) -> None:
    """Raises `AuditError` where books cut and scored like this cannot be compared with the calibration's texts."""
    own = SCORES[calibration.score].label
    if calibration.score != score or (score in K_SCORES and calibration.k != k):
        raise AuditError(
            f"The calibration “{calibration.name}” is of {own} at k = {calibration.k:g}%, and the audit asks for "
            f"{SCORES[score].label} at {k:g}%.",
            "Choose the calibration's score and k, or another calibration.",
        )
    if calibration.snippet_words is not None and (
        cutting.method == "whole" or calibration.snippet_words != cutting.words
    ):
        asked = "whole texts" if cutting.method == "whole" else f"snippets of {cutting.words:,}"
        raise AuditError(
            f"The calibration “{calibration.name}” is of texts of {calibration.snippet_words:,} words, and the audit "
            f"asks for {asked}.",
            f"Choose {calibration.snippet_words:,} words a snippet, or another calibration.",
        )


def method_of(known: Known, name: str, rule: Rule, seed: int = 0) -> Method:
    """One score on the reference shelf, as a row of the table of methods."""
    if known.findings is None:
        raise ValueError("a saved calibration is of one score")
    try:
        threshold, why = out_of_fold_accuracy(known.is_member, known.scores, known.works, rule, seed=seed), ""
    except AuditError as error:
        threshold, why = None, f"{error.wrong} {error.remedy}"
    return Method(name, known.findings, known.verdict, corners(roc(known.is_member, known.scores)), threshold, why)


def corners(curve: Roc) -> Roc:
    """The same curve by its corners alone: of 10,000 thresholds some thousand bend it."""
    steps = np.stack([np.sign(np.diff(curve.fpr)), np.sign(np.diff(curve.tpr))])
    straight = np.all(steps[:, 1:] == steps[:, :-1], axis=0) & np.any(steps[:, 1:] == 0, axis=0)
    kept = np.concatenate([[True], ~straight, [True]]) if len(curve.fpr) > 1 else np.ones(1, dtype=np.bool_)
    return Roc(curve.fpr[kept], curve.tpr[kept], curve.thresholds[kept])
