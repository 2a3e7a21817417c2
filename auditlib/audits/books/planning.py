"""Before a model spends hours: what these shelves can show, what will spoil it, and how long it takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auditlib.audits.books.judging import BookSettings, checked_settings
from auditlib.audits.books.known import refuse_other_settings
from auditlib.audits.books.shelves import REFERENCE, Shelf, Shelves
from auditlib.audits.saved_calibration import Calibration
from auditlib.core import AuditError
from auditlib.evidence import auc_interval, compare_lengths, plan, smallest_p
from auditlib.scoring import SCORES

TOKENS_A_WORD = 1.4  # English prose; others take more
YEARS_APART = 0.7  # an AUC of the years beyond this, or below its mirror image, is told
FEWEST_DATED = 5  # works with a year on each shelf, to say whether the years differ


@dataclass(frozen=True)
class BookPlan:
    """What to expect of an audit, before it runs.

    warnings     what will keep verdicts inconclusive or make them doubtful, a sentence or two each
    facts        the rest that is good to know, likewise
    can_support  whether the shelves allow any book to be `supported`
    n_tokens     about how many the model reads
    seconds      about how long that takes; None where its speed is not known
    """

    warnings: tuple[str, ...]
    facts: tuple[str, ...]
    can_support: bool
    n_tokens: int
    seconds: float | None


def plan_books(
    shelves: Shelves,
    settings: BookSettings,
    calibration: Calibration | None = None,
    tokens_per_second: float | None = None,
) -> BookPlan:
    """The plan of an audit of these shelves, or of the audited one with a calibration in place of the others.

    Raises `AuditError` for settings that make no sense, and for a calibration that does not fit.
    """
    checked_settings(settings)
    n_audited = len([work for work in shelves.on(Shelf.AUDITED) if shelves.works[work].n_snippets])
    warnings, facts = [], []
    if calibration is not None:
        refuse_other_settings(calibration, shelves.cutting, settings.score, settings.k)
        n_works = calibration.non_member_groups
        fewest_snippets = int(len(calibration.non_members) * 0.8)
    else:
        warnings += [*_of_years(shelves), *_of_lengths(shelves)]
        works = shelves.on(Shelf.NON_MEMBERS)
        n_works = len(works)
        fewest_snippets = int(sum(shelves.works[work].n_snippets for work in works) * 0.8)
        facts += _of_power(shelves, settings, n_audited)
    lowest, after = smallest_p(n_works, n_audited, settings.correction)
    can_support = after <= settings.alpha
    warnings += _of_shelf(n_works, n_audited, lowest, after, settings)
    if settings.rule != "accuracy" and fewest_snippets * settings.rule < 1:
        warnings.append(
            f"A false-positive rate of {settings.rule:g} cannot be resolved: about {fewest_snippets:,} snippets of "
            f"known non-members choose the threshold, and {int(np.ceil(1 / settings.rule)):,} are needed. "
            "There will be no rates."
        )
    warnings += _of_short_books(shelves)
    n_tokens = _tokens(shelves, settings)
    seconds = n_tokens / tokens_per_second if tokens_per_second else None
    facts.append(f"The model reads about {n_tokens:,} tokens{'' if seconds is None else f', in {_time(seconds)}'}.")
    return BookPlan((*shelves.notes, *warnings), tuple(facts), can_support, n_tokens, seconds)


def _of_years(shelves: Shelves) -> list[str]:
    dated = [
        (work.shelf is Shelf.MEMBERS, work.year)
        for work in (shelves.works[place] for place in shelves.on(*REFERENCE))
        if work.year is not None
    ]
    n_members = sum(is_member for is_member, _ in dated)
    without = len(shelves.on(*REFERENCE)) - len(dated)
    if min(n_members, len(dated) - n_members) < FEWEST_DATED:
        return [
            f"The years of {without:,} of the known works are not given, so it was not checked whether years alone "
            "separate the two shelves. EPUBs and a table of books can say them."
        ]
    found = auc_interval(
        np.array([is_member for is_member, _ in dated]), np.array([float(year) for _, year in dated if year])
    )
    if 1 - YEARS_APART <= found.estimate <= YEARS_APART:
        return []
    later = "later" if found.estimate > 0.5 else "earlier"
    median = [
        int(np.median([year for is_member, year in dated if year and is_member is side])) for side in (True, False)
    ]
    return [
        f"Years alone separate the known shelves: members are {later} (middle years {median[0]} and {median[1]}, AUC "
        f"{max(found.estimate, 1 - found.estimate):.2f}). A score may then tell old prose from new and not seen from "
        "unseen: bring shelves of the same years."
    ]


def _of_lengths(shelves: Shelves) -> list[str]:
    places = np.flatnonzero(np.isin(shelves.work_of, shelves.on(*REFERENCE)))
    words = np.array([shelves.snippets[place].word_count for place in places])
    is_member = np.isin(shelves.work_of[places], shelves.on(Shelf.MEMBERS))
    try:
        check = compare_lengths(words, is_member, shelves.work_of[places])
    except AuditError:
        return []  # `refuse_unusable` says what is wrong
    return [] if check.comparable else [f"{check.reason} Cut all works into snippets of one length."]


def _of_power(shelves: Shelves, settings: BookSettings, n_audited: int) -> list[str]:
    works = [shelves.on(shelf) for shelf in REFERENCE]
    snippets = [sum(shelves.works[place].n_snippets for place in own) for own in works]
    try:
        return list(
            plan(snippets[0], snippets[1], len(works[0]), len(works[1]), settings.alpha, max(1, n_audited)).sentences[
                :3
            ]
        )
    except AuditError:
        return []


def _of_shelf(n_works: int, n_audited: int, lowest: float, after: float, settings: BookSettings) -> list[str]:
    said = f"With {n_works:,} known non-member works p cannot be below {lowest:.3g}"
    if after > settings.alpha:
        factor = after / lowest
        needed = int(np.ceil(factor / settings.alpha - 1e-9)) - 1
        return [
            f"{said}, and no book can be “supported” at {settings.alpha:g}: {needed:,} known non-member works could "
            "do it. Every verdict will be inconclusive."
        ]
    together = int(np.ceil(after * n_audited / settings.alpha - 1e-9))
    if together <= 1:
        return []
    return [
        f"{said}. Corrected for {n_audited:,} audited books, at least {together:,} of them must all be above every "
        f"known non-member; for one book by itself {int(np.ceil(n_audited * after / lowest / settings.alpha)) - 1:,} "
        "known non-member works would be needed."
    ]


def _of_short_books(shelves: Shelves) -> list[str]:
    warnings = []
    audited = [shelves.works[place] for place in shelves.on(Shelf.AUDITED)]
    empty = [f"“{work.title}”" for work in audited if work.n_snippets == 0]
    if empty:
        words = shelves.cutting.words
        warnings.append(
            f"{', '.join(empty[:5])}{f' and {len(empty) - 5:,} more' if len(empty) > 5 else ''}: shorter than one "
            "snippet"
            + ("" if shelves.cutting.method == "whole" else f" of {words:,} words")
            + ", so nothing of it is read and its verdict will be inconclusive."
        )
    return warnings


def _tokens(shelves: Shelves, settings: BookSettings) -> int:
    twice = SCORES[settings.score].reads_lowercased
    words = 0
    for snippet, work in zip(shelves.snippets, shelves.work_of.tolist(), strict=True):
        words += snippet.word_count * (2 if twice or shelves.works[work].shelf in REFERENCE else 1)
    return int(words * TOKENS_A_WORD)


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(1, round(seconds)):,} seconds"
    return f"about {seconds / 60:,.0f} minutes" if seconds < 5400 else f"about {seconds / 3600:,.1f} hours"
