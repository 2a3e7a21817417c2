"""The verdict on a calibration or on one text: three words, and every reason with its number."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from auditlib.evidence.intervals import Difference, Interval
from auditlib.evidence.lengths import LengthCheck

LIMITS = "A detection score is statistical evidence about a model; it does not show copying."
SMALLEST_AUC = 0.7
ENOUGH_POWER = 0.8


class Word(StrEnum):
    """The three words there are."""

    SUPPORTED = "supported"
    NOT_SUPPORTED = "not supported"
    INCONCLUSIVE = "inconclusive"


class Reason(NamedTuple):
    """One condition, whether it holds, and a sentence that says so with its number."""

    holds: bool
    sentence: str


@dataclass(frozen=True)
class Verdict:
    """A word, why, and how far it reaches.

    p          after correction; None where there is none
    intervals  by name, those that the reasons speak of
    limits     the sentence that goes with every verdict
    """

    word: Word
    reasons: tuple[Reason, ...]
    p: float | None
    intervals: dict[str, Interval | Difference]
    limits: str = LIMITS


@dataclass(frozen=True)
class Findings:
    """All that a verdict on a calibration rests on. None is "was not done", and keeps the verdict inconclusive.

    auc                the score's AUC
    p                  one-sided, for AUC > 0.5; p_corrected the same, corrected for all that was tried
    blind_auc          the blind baseline's AUC on the same texts
    over_blind         AUC of the score less that of the blind baseline
    adds_to_blind_p    p of "the score adds nothing to the words", 1 where it adds against membership
    power              chance to see `smallest_auc`, with sets like these
    same_model         whether model and calibration are those of the texts that are judged
    shared_texts       texts that stand in both sets
    scores_vary        False where every text has the same score
    placebo_auc        the same score's AUC under a model that cannot have seen either set; None where there is no such
    over_placebo       AUC of the score less that one
    """

    auc: Interval
    p: float
    p_corrected: float
    blind_auc: Interval | None
    over_blind: Difference | None
    adds_to_blind_p: float | None
    lengths: LengthCheck | None
    power: float
    same_model: bool
    shared_texts: int = 0
    scores_vary: bool = True
    placebo_auc: Interval | None = None
    over_placebo: Difference | None = None


def calibration_verdict(findings: Findings, alpha: float = 0.05, smallest_auc: float = SMALLEST_AUC) -> Verdict:
    """Do these sets support that the score tells this model's members from non-members?

    `supported` where every reason holds. `not supported` where sets like these would have shown an AUC of
    `smallest_auc` (power 0.8 or more) and the AUC's interval ends below it, for the right model and with no text in
    both sets. `inconclusive` otherwise.
    """
    reasons: tuple[Reason, ...] = (
        *_reasons_of_score(findings, alpha),
        *_reasons_of_words(findings, alpha),
        *_reasons_of_placebo(findings),
        *_reasons_of_texts(findings),
    )
    if all(reason.holds for reason in reasons):
        word = Word.SUPPORTED
    elif _seen_to_be_absent(findings, smallest_auc):
        word = Word.NOT_SUPPORTED
        reasons += (
            Reason(
                True,
                f"Sets like these would show an AUC of {smallest_auc:.2f} in {findings.power:.0%} of audits, and the "
                f"AUC found is below it (interval up to {findings.auc.high:.2f}).",
            ),
        )
    else:
        word = Word.INCONCLUSIVE
        if findings.power < ENOUGH_POWER:
            reasons += (
                Reason(
                    False,
                    f"Sets like these would show an AUC of {smallest_auc:.2f} in only {findings.power:.0%} of audits: "
                    "more texts are needed.",
                ),
            )
    named = {
        "AUC": findings.auc,
        "AUC of the words alone": findings.blind_auc,
        "Difference": findings.over_blind,
        "AUC under the placebo model": findings.placebo_auc,
        "Difference to the placebo model": findings.over_placebo,
    }
    intervals = {name: interval for name, interval in named.items() if interval is not None}
    return Verdict(word, reasons, findings.p_corrected, intervals)


def text_verdict(
    calibration_word: str,
    p: float,
    alpha: float,
    in_length_range: bool,
    same_model: bool,
    n_compared: int,
    power: float | None = None,
) -> Verdict:
    """Does one text's corrected conformal p support that it was in the training data?

    `power` is the share of known members that would reach alpha (the TPR at that FPR). Only where it is 0.8 or more
    can a high p mean `not supported`; without it a text that looks like the non-members is `inconclusive`.
    """
    reachable = 1 / (n_compared + 1) <= alpha
    conditions = (
        Reason(
            calibration_word == Word.SUPPORTED,
            f"The calibration this text is judged by is {calibration_word}.",
        ),
        Reason(
            same_model,
            "The text was read by the model that was calibrated."
            if same_model
            else "The text was read by another model than the one that was calibrated.",
        ),
        Reason(
            in_length_range,
            "The text is of a length that the calibration covers."
            if in_length_range
            else "The text is shorter or longer than every non-member of the calibration.",
        ),
        Reason(
            reachable,
            f"It was compared with {n_compared} non-members, "
            + ("enough" if reachable else "too few")
            + f" to reach {alpha:g}: the smallest p possible is {1 / (n_compared + 1):.3g}.",
        ),
    )
    small = Reason(
        p <= alpha,
        f"After correction p is {p:.3g}, "
        + (f"at most the {alpha:g} that was set." if p <= alpha else f"above the {alpha:g} that was set."),
    )
    reasons: tuple[Reason, ...] = (*conditions, small)
    if all(reason.holds for reason in reasons):
        return Verdict(Word.SUPPORTED, reasons, p, {})
    if all(reason.holds for reason in conditions) and power is not None:
        enough = power >= ENOUGH_POWER
        reasons += (Reason(enough, f"Of known members {power:.0%} would have come out below {alpha:g}."),)
        if enough:
            return Verdict(Word.NOT_SUPPORTED, reasons, p, {})
    return Verdict(Word.INCONCLUSIVE, reasons, p, {})


def _reasons_of_score(findings: Findings, alpha: float) -> tuple[Reason, ...]:
    auc = findings.auc
    above = auc.low > 0.5
    small = findings.p_corrected <= alpha
    reasons: tuple[Reason, ...] = (
        Reason(
            above,
            f"The score's AUC is {auc.estimate:.2f}, and its {auc.level:.0%} interval ({auc.low:.2f} to "
            f"{auc.high:.2f}) " + ("lies above 0.50." if above else "does not lie above 0.50, which is chance."),
        ),
        Reason(
            small,
            f"After correction p is {findings.p_corrected:.3g}, "
            + ("at most" if small else "above")
            + f" the {alpha:g} that was set.",
        ),
    )
    if findings.scores_vary:
        return reasons
    return (*reasons, Reason(False, "Every text has the same score, so the score cannot tell anything."))


def _reasons_of_words(findings: Findings, alpha: float) -> tuple[Reason, ...]:
    blind, over, adds = findings.blind_auc, findings.over_blind, findings.adds_to_blind_p
    if blind is None or over is None or adds is None:
        return (Reason(False, "It was not tried how well the words alone tell the sets apart."),)
    above = over.low > 0
    half = blind.estimate - 0.5 <= (findings.auc.estimate - 0.5) / 2
    return (
        Reason(
            above,
            f"The words alone, without the model, have an AUC of {blind.estimate:.2f}; the score's is "
            f"{abs(over.estimate):.2f} {'higher' if over.estimate >= 0 else 'lower'} (interval {over.low:+.2f} to "
            f"{over.high:+.2f}): " + ("it beats them." if above else "it is not shown to beat them."),
        ),
        Reason(
            half,
            f"The words alone account for {'at most' if half else 'more than'} half of the separation: they come "
            f"{_rounded(blind.estimate - 0.5)} from chance, the score {_rounded(findings.auc.estimate - 0.5)}.",
        ),
        Reason(
            adds <= alpha,
            f"With the words known, the score {'adds' if adds <= alpha else 'is not shown to add'} to telling the "
            f"sets apart (p {adds:.3g}).",
        ),
    )


def _reasons_of_placebo(findings: Findings) -> tuple[Reason, ...]:
    placebo, over = findings.placebo_auc, findings.over_placebo
    if placebo is None or over is None:
        return ()
    above = over.low > 0
    return (
        Reason(
            above,
            f"Under the placebo model, which cannot have seen either set, the score's AUC is {placebo.estimate:.2f} "
            f"({placebo.low:.2f} to {placebo.high:.2f}); under the audited one it is {abs(over.estimate):.2f} "
            f"{'higher' if over.estimate >= 0 else 'lower'} (interval {over.low:+.2f} to {over.high:+.2f}): "
            + ("the model makes the difference." if above else "it is not shown that the model makes the difference."),
        ),
    )


def _reasons_of_texts(findings: Findings) -> tuple[Reason, ...]:
    lengths, shared = findings.lengths, findings.shared_texts
    compared = (
        Reason(False, "The lengths of both sets were not compared.")
        if lengths is None
        else Reason(lengths.comparable, lengths.reason)
    )
    return (
        compared,
        Reason(
            findings.same_model,
            "The model and the calibration are those of the texts that are judged."
            if findings.same_model
            else "The model or the calibration is not that of the texts that are judged.",
        ),
        Reason(shared == 0, f"{shared or 'No'} text{' stands' if shared in (0, 1) else 's stand'} in both sets."),
    )


def _seen_to_be_absent(findings: Findings, smallest_auc: float) -> bool:
    return (
        findings.power >= ENOUGH_POWER
        and findings.auc.high < smallest_auc
        and findings.same_model
        and findings.shared_texts == 0
        and findings.scores_vary
    )


def _rounded(value: float) -> str:
    """Two digits with a sign, and never "-0.00"."""
    return f"{round(value, 2) + 0.0:+.2f}"
