"""The book audit from readings to all that page, report and shell show (Shi et al. 2024, section 5)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from auditlib.audits.books.judging import BookSettings, Judged, checked_settings, judge
from auditlib.audits.books.known import Known, Method, known_calibration, known_shelf, method_of
from auditlib.audits.books.passages import Extractions, extractions
from auditlib.audits.books.reading import ReadBooks
from auditlib.audits.books.sensitivity import Variant, sensitivity
from auditlib.audits.books.shelves import REFERENCE
from auditlib.audits.calibration import K_SCORES
from auditlib.audits.saved_calibration import Calibration
from auditlib.core import AuditError
from auditlib.scoring import SCORES


@dataclass(frozen=True)
class BookAudit:
    """All that an audit of books found, without the texts and without their numbers.

    known        the reference under the chosen score
    methods      every score on the reference shelf, by name; empty with a saved calibration
    unavailable  why the others are not there
    variants     how verdicts change with the settings
    """

    settings: BookSettings
    known: Known
    judged: Judged
    methods: dict[str, Method]
    unavailable: dict[str, str]
    extractions: Extractions
    variants: tuple[Variant, ...]


def audit_books(read: ReadBooks, settings: BookSettings, calibration: Calibration | None = None) -> BookAudit:
    """Everything, from readings. Raises `AuditError` where the score cannot be had, or the calibration not be used."""
    checked_settings(settings)
    if calibration is not None:
        known = known_calibration(calibration, read, settings.score, settings.k)
        found = judge(read, known, settings)
        return BookAudit(settings, known, found, {}, {}, extractions(read), sensitivity(read, known, settings))
    places = read.placed.snippets_on(*REFERENCE)
    unavailable = {name: why for name in SCORES if (why := read.numbers.unavailable_because(name, places))}
    usable = [name for name in SCORES if name not in unavailable]
    if settings.score in unavailable:
        raise AuditError(
            f"{SCORES[settings.score].label} cannot be had for these texts. {unavailable[settings.score]}",
            "Choose another score.",
        )
    knowns = {name: known_shelf(read, name, settings.k, settings.alpha, len(usable), settings.seed) for name in usable}
    return BookAudit(
        settings,
        knowns[settings.score],
        judge(read, knowns[settings.score], settings),
        {name: method_of(known, name, settings.rule, settings.seed) for name, known in knowns.items()},
        unavailable,
        extractions(read),
        sensitivity(read, knowns[settings.score], settings, len(usable)),
    )


def judged_with(
    read: ReadBooks, audit: BookAudit, settings: BookSettings, calibration: Calibration | None = None
) -> BookAudit:
    """The same audit under other settings, without its sensitivity: what a page shows while a person moves a slider."""
    checked_settings(settings)
    before = audit.settings
    if calibration is not None:
        known = known_calibration(calibration, read, settings.score, settings.k)
        return replace(audit, settings=settings, known=known, judged=judge(read, known, settings))
    n_tried = max(1, len(audit.methods))
    anew = (settings.alpha, settings.seed, settings.rule) != (before.alpha, before.seed, before.rule)
    methods, known = dict(audit.methods), audit.known
    for name in methods:
        if anew or name == settings.score or (name in K_SCORES and settings.k != before.k):
            own = known_shelf(read, name, settings.k, settings.alpha, n_tried, settings.seed)
            methods[name] = method_of(own, name, settings.rule, settings.seed)
            if name == settings.score:
                known = own
    return replace(audit, settings=settings, known=known, judged=judge(read, known, settings), methods=methods)
