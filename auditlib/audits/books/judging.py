"""Each audited book against the known works: raw and corrected rate, p, p for the whole shelf, verdict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from auditlib.audits.books.known import Known
from auditlib.audits.books.numbers import WHOLE
from auditlib.audits.books.reading import ReadBooks
from auditlib.audits.books.shelves import Shelf
from auditlib.audits.calibration import ALPHA, checked_alpha, checked_rule
from auditlib.core import AuditError
from auditlib.evidence import (
    BookFindings,
    CorrectedRate,
    Correction,
    DetectorErrors,
    Difference,
    Interval,
    Verdict,
    book_verdict,
    called_out_of_fold,
    detector_errors,
    power_of_works,
    rate_given_errors,
    shelf_ps,
    smallest_p,
)
from auditlib.evidence.book_verdict import FEWEST_SNIPPETS
from auditlib.evidence.thresholds import Rule
from auditlib.scoring import DEFAULT_K, SCORES, checked_k


@dataclass(frozen=True)
class BookSettings:
    """How books are judged, once they are read.

    rule        how the threshold of the rates is chosen: "accuracy", or a false-positive rate
    correction  of p for the shelf: "bh" (Benjamini-Hochberg) or "by" (Benjamini-Yekutieli)
    seed        of every random choice but that of the snippets
    """

    score: str = "min_k"
    k: float = DEFAULT_K
    rule: Rule = "accuracy"
    alpha: float = ALPHA
    correction: Correction = "bh"
    seed: int = 0


@dataclass(frozen=True)
class BookResult:
    """One audited book.

    work      its place among the works
    mean      of its snippets' scores; None for a book without snippets
    rate      None with the reason in `no_rate`
    """

    work: int
    n_snippets: int
    mean: float | None
    p: float | None
    p_corrected: float | None
    rate: CorrectedRate | None
    no_rate: str
    verdict: Verdict


@dataclass(frozen=True)
class Judged:
    """The audited shelf under one score, k and rule.

    threshold   of all known works; books' snippets at or above it are called members. None with the reason in
                `no_threshold`
    errors      of thresholds chosen without the work that they call
    n_works     known non-member works, which is what p counts
    smallest    the smallest p there can be after correction
    power       share of the known member works that would have reached alpha, uncorrected
    books       in the order of the works
    """

    settings: BookSettings
    threshold: float | None
    errors: DetectorErrors | None
    no_threshold: str
    n_works: int
    smallest: float
    power: float
    books: tuple[BookResult, ...]


def checked_settings(settings: BookSettings) -> BookSettings:
    """`settings`, or `AuditError` where they make no sense."""
    if settings.score not in SCORES:
        raise AuditError(f"There is no score {settings.score[:40]!r}.", f"Choose one of {', '.join(SCORES)}.")
    checked_k(settings.k)
    checked_alpha(settings.alpha)
    checked_rule(settings.rule)
    if settings.correction not in ("bh", "by"):
        raise AuditError(
            f"There is no correction {str(settings.correction)[:40]!r}.",
            "Choose bh (Benjamini-Hochberg) or by (Benjamini-Yekutieli).",
        )
    return settings


def judge(read: ReadBooks, known: Known, settings: BookSettings, portion: int = WHOLE) -> Judged:
    """All audited books. Asks the model nothing; what it takes goes with the number of snippets.

    With a `portion` (a place in PORTIONS) scores are of so much of each snippet, and `known` must be likewise.
    """
    checked_settings(settings)
    places = [read.placed.snippets_of(work) for work in read.placed.on(Shelf.AUDITED)]
    audited = np.concatenate(places) if places else np.zeros(0, dtype=np.int64)
    scores = read.numbers.scores(settings.score, settings.k, portion, audited)
    ends = np.cumsum([len(own) for own in places])
    by_book = np.split(scores, ends[:-1]) if places else []
    others = ~known.is_member
    non_members, non_member_works = known.scores[others], known.works[others]
    found = shelf_ps(by_book, non_members, non_member_works, settings.correction, settings.seed)
    power = power_of_works(
        known.scores[known.is_member],
        known.works[known.is_member],
        non_members,
        non_member_works,
        settings.alpha,
        settings.seed,
    )
    threshold, errors, no_threshold = _detector(known, settings)
    n_books = int(np.count_nonzero(~np.isnan(found.p)))
    smallest = smallest_p(found.n_works, n_books, settings.correction)[1]
    token_range = (float(known.n_tokens[others].min()), float(known.n_tokens[others].max()))
    books = []
    for place, (work, own, values) in enumerate(zip(read.placed.on(Shelf.AUDITED), places, by_book, strict=True)):
        rate, no_rate = _rate(values, threshold, errors, no_threshold, settings.seed)
        findings = BookFindings(
            reference=known.verdict,
            p=_number(found.p[place]),
            p_corrected=_number(found.corrected[place]),
            n_works=found.n_works,
            n_books=n_books,
            correction=settings.correction,
            smallest=smallest,
            n_snippets=len(own),
            n_tokens=float(np.median(read.numbers.n_tokens[own])) if len(own) else None,
            token_range=token_range,
            same_model=True,
            power=power,
            intervals={} if rate is None else _intervals(rate),
        )
        verdict = book_verdict(findings, settings.alpha)
        books.append(
            BookResult(
                work,
                len(own),
                _number(found.means[place]),
                findings.p,
                findings.p_corrected,
                rate,
                no_rate,
                verdict,
            )
        )
    return Judged(settings, threshold, errors, no_threshold, found.n_works, smallest, power, tuple(books))


def _detector(known: Known, settings: BookSettings) -> tuple[float | None, DetectorErrors | None, str]:
    """The threshold and its errors, or why there are none."""
    try:
        calls = called_out_of_fold(known.is_member, known.scores, known.works, settings.rule, seed=settings.seed)
        errors = detector_errors(
            calls.called[known.is_member],
            calls.called[~known.is_member],
            known.works[known.is_member],
            known.works[~known.is_member],
            seed=settings.seed,
        )
    except AuditError as error:
        return None, None, f"{error.wrong} {error.remedy}"
    return calls.threshold, errors, ""


def _rate(
    scores: NDArray[np.float64], threshold: float | None, errors: DetectorErrors | None, why: str, seed: int
) -> tuple[CorrectedRate | None, str]:
    if threshold is None or errors is None:
        return None, why
    if len(scores) < FEWEST_SNIPPETS:
        return None, f"A rate needs at least {FEWEST_SNIPPETS} snippets of the book."
    return rate_given_errors(scores >= threshold, errors, seed=seed), ""


def _intervals(rate: CorrectedRate) -> dict[str, Interval | Difference]:
    named = {"Raw rate": rate.raw, "Corrected rate": rate.corrected}
    return {name: interval for name, interval in named.items() if interval is not None}


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
