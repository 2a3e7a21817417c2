"""Did it really forget: one of three words, and every reason with its number."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from auditlib.audits.unlearning.chunks import Role
from auditlib.audits.unlearning.completions import CompletionTest
from auditlib.audits.unlearning.forgetting import Forgetting, Separation
from auditlib.audits.unlearning.screening import Screening
from auditlib.evidence import Interval, Reason

LIMITS = (
    "These tests look for what is left of works in a model's scores and texts; finding nothing does not show that "
    "nothing is left, and finding something does not show how it came there."
)
MEASURE = "cosine"


class ForgottenWord(StrEnum):
    """The three words there are."""

    FORGOTTEN = "forgotten"
    NOT_FORGOTTEN = "not forgotten"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class UnlearningVerdict:
    """A word, why, and how far it reaches. `over_forgetting` stands beside the word, whatever that is."""

    word: ForgottenWord
    reasons: tuple[Reason, ...]
    over_forgetting: tuple[str, ...]
    limits: str = LIMITS


def unlearning_verdict(screening: Screening, forgotten: Forgetting, test: CompletionTest) -> UnlearningVerdict:
    """`forgotten` where every reason holds. `not forgotten` where the two models give the same numbers, or where the
    original knew the works and the unlearned model still does: by its AUC, most of its chunks, or its completions.
    """
    reasons = (
        _known(forgotten.forgotten),
        _fell(forgotten.forgotten),
        _like_never_trained(forgotten.forgotten, forgotten.margin),
        _screened(screening),
        _completed(test),
        *_kept(forgotten),
        _undamaged(forgotten),
    )
    if not forgotten.same_tokens:
        reasons += (
            Reason(
                False,
                "The two models cut texts into different tokens, so the ratios of their scores compare unlike with "
                "unlike; the AUCs, each within one model, do not depend on that.",
            ),
        )
    if forgotten.same_numbers:
        same = Reason(False, "Both models give every chunk of these works the same score: nothing was unlearned.")
        return UnlearningVerdict(ForgottenWord.NOT_FORGOTTEN, (same, *reasons), forgotten.over_forgetting)
    if all(reason.holds for reason in reasons):
        word = ForgottenWord.FORGOTTEN
    elif reasons[0].holds and (
        _still_known(forgotten.forgotten) or _still_suspicious(screening, forgotten) or _still_written(test)
    ):
        word = ForgottenWord.NOT_FORGOTTEN
    else:
        word = ForgottenWord.INCONCLUSIVE
    return UnlearningVerdict(word, reasons, forgotten.over_forgetting)


def _known(own: Separation) -> Reason:
    if own.original is None:
        return Reason(False, f"Whether the original model knew the works was not tested. {own.missing}")
    holds = own.original.low > 0.5
    return Reason(
        holds,
        f"Under the original model the works stand out from works never seen (AUC {_text(own.original)})."
        if holds
        else "The original model is not shown to have known the works to be forgotten (AUC "
        f"{_text(own.original)}), so there may have been nothing to forget.",
    )


def _fell(own: Separation) -> Reason:
    if own.fall is None or own.unlearned is None:
        return Reason(False, "Whether unlearning changed that was not tested.")
    holds = own.fall.low > 0
    return Reason(
        holds,
        f"Under the unlearned model the AUC is {_text(own.unlearned)}, lower by {own.fall.estimate:.2f} "
        f"({own.fall.low:+.2f} to {own.fall.high:+.2f})."
        if holds
        else f"The AUC is not shown to have fallen: under the unlearned model it is {_text(own.unlearned)}.",
    )


def _like_never_trained(own: Separation, margin: float) -> Reason:
    test = own.like_reference or own.like_chance
    if test is None:
        return Reason(False, "The unlearned model was not compared with one that never saw the works.")
    what = "that of the model that never saw the works" if own.like_reference is not None else "0.50, which is chance"
    note = "" if own.like_reference is not None else " (no never-trained model was given)"
    return Reason(
        test.equivalent,
        f"The AUC under the unlearned model is within {margin:g} of {what}{note}: by {_range(test.interval)}."
        if test.equivalent
        else f"The AUC under the unlearned model is not shown to be within {margin:g} of {what}{note}: the difference "
        f"may be {_range(test.interval)}.",
    )


def _screened(screening: Screening) -> Reason:
    count = screening.count(Role.FORGET)
    if count is None:
        return Reason(False, "No chunk of the works to be forgotten was screened.")
    holds = count.share.high < 0.5
    return Reason(
        holds,
        f"{count.n_suspicious:,} of {count.n_chunks:,} chunks of the works to be forgotten read to both models about "
        f"alike (ratio of scores within {1 / screening.factor:.2f} to {screening.factor:.2f}): "
        f"{count.share.estimate:.0%}, interval {count.share.low:.0%} to {count.share.high:.0%}"
        + (", fewer than half." if holds else "; not shown to be fewer than half."),
    )


def _completed(test: CompletionTest) -> Reason:
    if test.missing:
        return Reason(False, f"Completions were not tested. {test.missing}")
    found = _against_held_out(test)
    if found is None or found[0] is None:
        why = found[1] if found is not None else "There are no works never seen to compare with."
        return Reason(False, f"Completions of the forgotten works could not be compared with those of others. {why}")
    low, high = found[0]
    return Reason(
        low <= 0,
        "Completions of the works to be forgotten come no nearer to the true continuation than those of works never "
        f"seen (difference of cosines {low:+.2f} to {high:+.2f})."
        if low <= 0
        else "Completions of the works to be forgotten still come nearer to the true continuation than those of works "
        f"never seen (difference of cosines {low:+.2f} to {high:+.2f}).",
    )


def _kept(forgotten: Forgetting) -> tuple[Reason, ...]:
    own = forgotten.kept
    if own is None:
        return ()
    if own.unchanged is None:
        return (Reason(False, f"Whether the works to be kept have changed was not tested. {own.missing}"),)
    holds = own.unchanged.equivalent
    return (
        Reason(
            holds,
            f"The works to be kept stand out as before, within {forgotten.margin:g} (their AUC differs by "
            f"{_range(own.unchanged.interval)})."
            if holds
            else f"The works to be kept are not shown to stand out as before, within {forgotten.margin:g} (their AUC "
            f"may differ by {_range(own.unchanged.interval)}).",
        ),
    )


def _undamaged(forgotten: Forgetting) -> Reason:
    if forgotten.over_forgetting:
        return Reason(False, f"Too much was forgotten. {forgotten.over_forgetting[0]}")
    return Reason(True, "No sign that too much was forgotten.")


def _still_known(own: Separation) -> bool:
    """Whether the unlearned model still tells the works apart: better than a never-trained one, or than chance."""
    if own.over_reference is not None:
        return own.over_reference.low > 0 and own.like_reference is not None and not own.like_reference.equivalent
    return (
        own.unlearned is not None and own.unlearned.low > 0.5 and not (own.like_chance and own.like_chance.equivalent)
    )


def _still_suspicious(screening: Screening, forgotten: Forgetting) -> bool:
    count = screening.count(Role.FORGET)
    return count is not None and count.share.low > 0.5 and forgotten.same_tokens


def _still_written(test: CompletionTest) -> bool:
    found = _against_held_out(test)
    return found is not None and found[0] is not None and found[0][0] > 0


def _against_held_out(test: CompletionTest) -> tuple[tuple[float, float] | None, str] | None:
    one = test.comparison(MEASURE, Role.FORGET.value, Role.HELD_OUT.value) or test.comparison(
        "rouge_l", Role.FORGET.value, Role.HELD_OUT.value
    )
    if one is None:
        return None
    return (None if one.difference is None else (one.difference.low, one.difference.high)), one.missing


def _text(interval: Interval) -> str:
    return f"{interval.estimate:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def _range(interval: Interval) -> str:
    return f"{interval.low:+.2f} to {interval.high:+.2f}"
