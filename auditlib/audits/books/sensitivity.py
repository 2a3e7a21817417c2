"""How the verdicts change with k, length of snippet, threshold rule and score, from numbers that are there already."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from auditlib.audits.books.judging import BookSettings, Judged, judge
from auditlib.audits.books.known import Known, known_shelf
from auditlib.audits.books.numbers import PORTIONS, WHOLE
from auditlib.audits.books.reading import ReadBooks
from auditlib.audits.books.shelves import Shelf
from auditlib.audits.calibration import FPRS, K_SCORES
from auditlib.core import AuditError
from auditlib.evidence import Word
from auditlib.evidence.thresholds import Rule
from auditlib.scoring import SCORES

RULES: tuple[Rule, ...] = ("accuracy", *FPRS)


@dataclass(frozen=True)
class Variant:
    """The shelf under settings that differ in one thing from those that were chosen.

    axis         "score", "k", "words" (of a snippet) or "rule"; only rates depend on the rule, not verdicts
    is_chosen    whether these are the chosen settings themselves
    words        the verdict on each audited book
    p_corrected, raw, corrected   likewise; None where there is none
    missing      why there is nothing, where there is nothing
    """

    axis: str
    value: str
    is_chosen: bool
    reference: Word | None
    words: tuple[Word, ...]
    p_corrected: tuple[float | None, ...]
    raw: tuple[float | None, ...]
    corrected: tuple[float | None, ...]
    missing: str = ""


def sensitivity(read: ReadBooks, known: Known, settings: BookSettings, n_tried: int = 1) -> tuple[Variant, ...]:
    """One setting changed at a time. By a saved calibration only the rule can be.

    Shorter snippets are the first quarter and half of those that were read: of their words the model had read the same
    before, so that the numbers are those that such snippets would have. Verdicts of several settings are for looking:
    choosing the settings by them would spoil p.
    """
    return tuple(_variants(read, known, settings, n_tried))


def _variants(read: ReadBooks, known: Known, settings: BookSettings, n_tried: int) -> Iterator[Variant]:
    if known.findings is not None:
        usable = read.numbers.usable(read.placed.snippets_on(*Shelf))
        for name in SCORES:
            if name in usable:
                yield _variant(
                    read, None, replace(settings, score=name), "score", SCORES[name].label, settings, n_tried
                )
        if settings.score in K_SCORES:
            for k in read.numbers.ks:
                yield _variant(read, None, replace(settings, k=k), "k", f"{k:g}%", settings, n_tried)
        if read.placed.cutting.method != "whole":
            for portion, share in enumerate(PORTIONS):
                words = max(1, math.ceil(share * read.placed.cutting.words))
                yield _variant(read, None, settings, "words", f"{words:,}", settings, n_tried, portion)
    for rule in dict.fromkeys((*RULES, settings.rule)):
        said = "best accuracy" if rule == "accuracy" else f"FPR {rule:g}"
        yield _variant(read, known, replace(settings, rule=rule), "rule", said, settings, n_tried)


def _variant(
    read: ReadBooks,
    known: Known | None,
    changed: BookSettings,
    axis: str,
    value: str,
    settings: BookSettings,
    n_tried: int,
    portion: int = WHOLE,
) -> Variant:
    is_chosen = changed == settings and portion == WHOLE
    try:
        if known is None:
            known = known_shelf(read, changed.score, changed.k, changed.alpha, n_tried, changed.seed, portion)
        found = judge(read, known, changed, portion)
    except AuditError as error:
        return Variant(axis, value, is_chosen, None, (), (), (), (), f"{error.wrong} {error.remedy}")
    return Variant(
        axis,
        value,
        is_chosen,
        known.verdict.word,
        tuple(book.verdict.word for book in found.books),
        tuple(book.p_corrected for book in found.books),
        *_rates(found),
        found.no_threshold,
    )


def _rates(found: Judged) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
    rates = [book.rate for book in found.books]
    return (
        tuple(None if rate is None else rate.raw.estimate for rate in rates),
        tuple(None if rate is None or rate.corrected is None else rate.corrected.estimate for rate in rates),
    )
