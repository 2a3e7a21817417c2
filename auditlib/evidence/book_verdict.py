"""The verdict on one book of a shelf: the same three words, and every reason with its number."""

from __future__ import annotations

from dataclasses import dataclass

from auditlib.evidence.intervals import Difference, Interval
from auditlib.evidence.verdict import ENOUGH_POWER, Reason, Verdict, Word

FEWEST_SNIPPETS = 2
CORRECTIONS = {"bh": "Benjamini-Hochberg", "by": "Benjamini-Yekutieli"}


@dataclass(frozen=True)
class BookFindings:
    """All that a verdict on one book rests on.

    reference         verdict on the reference shelf or saved calibration
    p, p_corrected    of the book's mean among `n_works` known non-member works; None where it has none
    n_books           books that p was corrected for, by `correction` ("bh" or "by")
    smallest          what `smallest_p` says of this shelf, after correction
    n_snippets        of the book
    n_tokens          of its middle snippet, in scored tokens; None for a book without snippets
    token_range       of the shortest and the longest snippet of known non-members
    power             share of known member works that would have reached alpha
    intervals         by name, those that go with the verdict
    """

    reference: Verdict
    p: float | None
    p_corrected: float | None
    n_works: int
    n_books: int
    correction: str
    smallest: float
    n_snippets: int
    n_tokens: float | None
    token_range: tuple[float, float]
    same_model: bool
    power: float
    intervals: dict[str, Interval | Difference]


def book_verdict(findings: BookFindings, alpha: float = 0.05) -> Verdict:
    """Does the book's p support that it was in the training data?

    `supported` where every reason holds. `not supported` where all but the p hold, p was above alpha before any
    correction, and 80% of known member works would have come out below it. `inconclusive` otherwise.
    """
    conditions = (
        _of_reference(findings),
        Reason(
            findings.same_model,
            "The book was read by the model that the reference shelf was read by."
            if findings.same_model
            else "The book was read by another model than the reference shelf.",
        ),
        _of_snippets(findings),
        *_of_lengths(findings),
        _of_shelf(findings, alpha),
    )
    p, corrected = findings.p, findings.p_corrected
    if p is None or corrected is None:
        return Verdict(Word.INCONCLUSIVE, conditions, None, findings.intervals)
    method = CORRECTIONS[findings.correction]
    small = corrected <= alpha
    reasons: tuple[Reason, ...] = (
        *conditions,
        Reason(
            small,
            f"Its mean score has p {p:.3g} among the known non-member works; corrected for "
            f"{findings.n_books:,} {'book' if findings.n_books == 1 else 'books'} ({method}) that is {corrected:.3g}, "
            f"{'at most' if small else 'above'} the {alpha:g} that was set.",
        ),
    )
    if all(reason.holds for reason in reasons):
        return Verdict(Word.SUPPORTED, reasons, corrected, findings.intervals)
    if all(reason.holds for reason in conditions) and p > alpha:
        enough = findings.power >= ENOUGH_POWER
        reasons += (
            Reason(
                enough,
                f"Of the known member works {findings.power:.0%} would have come out at most {alpha:g}"
                + ("." if enough else f", fewer than the {ENOUGH_POWER:.0%} that would let a high p speak."),
            ),
        )
        if enough:
            return Verdict(Word.NOT_SUPPORTED, reasons, corrected, findings.intervals)
    return Verdict(Word.INCONCLUSIVE, reasons, corrected, findings.intervals)


def _of_reference(findings: BookFindings) -> Reason:
    verdict = findings.reference
    if verdict.word is Word.SUPPORTED:
        return Reason(True, "The reference shelf supports that this score tells this model's members from others.")
    failed = [reason.sentence for reason in verdict.reasons if not reason.holds]
    return Reason(
        False,
        f"The verdict on the reference shelf is “{verdict.word.value}”" + (f": {failed[0]}" if failed else "."),
    )


def _of_snippets(findings: BookFindings) -> Reason:
    n = findings.n_snippets
    if n == 0:
        return Reason(False, "The book is shorter than one snippet, so nothing of it was read.")
    return Reason(
        n >= FEWEST_SNIPPETS,
        f"The book gave {n:,} snippet{'' if n == 1 else 's'}"
        + ("." if n >= FEWEST_SNIPPETS else ": too few to say how much they scatter."),
    )


def _of_lengths(findings: BookFindings) -> tuple[Reason, ...]:
    if findings.n_tokens is None:
        return ()
    low, high = findings.token_range
    inside = low <= findings.n_tokens <= high
    return (
        Reason(
            inside,
            f"Its middle snippet has {findings.n_tokens:,.0f} tokens, {'within' if inside else 'outside'} the range of "
            f"the known non-members ({low:,.0f} to {high:,.0f}).",
        ),
    )


def _of_shelf(findings: BookFindings, alpha: float) -> Reason:
    reachable = findings.smallest <= alpha
    works = f"{findings.n_works:,} known non-member work{'' if findings.n_works == 1 else 's'}"
    return Reason(
        reachable,
        f"It is compared with {works}, {'enough' if reachable else 'too few'} to reach {alpha:g}: after correction p "
        f"can be {findings.smallest:.3g} at the least.",
    )
