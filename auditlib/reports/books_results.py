"""The results of a book audit's report: the books, the known works they were compared with, and single books opened."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from auditlib.audits.books import BookResult, Shelf, extraction_map, profile
from auditlib.audits.books.sensitivity import Variant
from auditlib.evidence import ExtractionSummary, Word
from auditlib.reports.blocks import Block, Bullets, Column, Figure, Heading, Paragraph, Table
from auditlib.reports.book_figures import (
    extraction_figure,
    profile_figure,
    rate_histogram,
    rates_by_book,
    score_by_shelf,
    sensitivity_figure,
)
from auditlib.reports.books_facts import BooksFacts
from auditlib.reports.figures import auc_by_method, roc_figure
from auditlib.reports.plain_words import interval_text, n_of, number_text, p_text, shortened
from auditlib.scoring import SCORES

TOP = 20  # rows of the paper's Table 2
MOST_OPENED = 4
MOST_REASONED = 20
SUFFIX_TOKENS = 50  # of an extraction window
AXES = {"score": "score", "k": "k", "words": "words", "rule": "rule"}


def results(facts: BooksFacts) -> tuple[Block, ...]:
    """Section 4."""
    return (
        Heading("Results"),
        *_books(facts),
        *_known(facts),
        *_extraction(facts),
        *_sensitivity(facts),
        *_opened(facts),
        *_reasons(facts),
    )


def _books(facts: BooksFacts) -> tuple[Block, ...]:
    judged = facts.found.judged
    blocks: list[Block] = [Heading("The audited books", 2)]
    top = facts.ordered[:TOP]
    left = len(judged.books) - len(top)
    blocks += [
        Table(
            (
                Column("Book"),
                Column("Snippets", numeric=True),
                Column("Raw rate"),
                Column("Corrected rate"),
                Column("p"),
                Column("p for the shelf"),
                Column("Verdict"),
            ),
            tuple(_row(facts, book) for book in top),
            f"The {len(top)} books with the smallest p." if left else "All audited books, the smallest p first.",
            f"{left:,} more are in books.csv of the evidence package." if left else "",
        )
    ]
    if judged.no_threshold:
        blocks += [Paragraph(f"There are no rates. {judged.no_threshold}")]
        return tuple(blocks)
    rates = [book.rate for book in judged.books if book.rate is not None]
    raw = [rate.raw.estimate for rate in rates]
    corrected = [rate.corrected.estimate for rate in rates if rate.corrected is not None]
    reasons = list(dict.fromkeys(rate.reason for rate in rates if rate.corrected is None))
    if rates:
        blocks += [
            Figure(
                rates_by_book(
                    [facts.work_of(book).title for book in top],
                    [None if book.rate is None else book.rate.raw for book in top],
                    [None if book.rate is None else book.rate.corrected for book in top],
                ),
                "Contamination rates with their 95% intervals.",
                "; ".join(
                    f"{shortened(facts.work_of(book).title, 60)}: raw {interval_text(book.rate.raw, '.0%')}"
                    for book in top
                    if book.rate is not None
                ),
            )
        ]
    if len(raw) > 1:
        blocks += [
            Figure(
                rate_histogram(raw, corrected),
                "How many books have which rate.",
                f"Raw rates from {min(raw):.0%} to {max(raw):.0%}, half of them up to {np.median(raw):.0%}."
                + (f" Corrected: half up to {np.median(corrected):.0%}." if corrected else ""),
            )
        ]
    if reasons:
        blocks += [Bullets(tuple(reasons))]
    return tuple(blocks)


def _row(facts: BooksFacts, book: BookResult) -> tuple[str | int | None, ...]:
    rate = book.rate
    return (
        shortened(facts.work_of(book).title, 80),
        book.n_snippets,
        None if rate is None else interval_text(rate.raw, ".0%"),
        None if rate is None or rate.corrected is None else interval_text(rate.corrected, ".0%"),
        None if book.p is None else p_text(book.p),
        None if book.p_corrected is None else p_text(book.p_corrected),
        book.verdict.word.value,
    )


def _known(facts: BooksFacts) -> tuple[Block, ...]:
    found, judged = facts.found, facts.found.judged
    known = found.known
    members, others = known.n_works
    blocks: list[Block] = [
        Heading("The known works", 2),
        Paragraph(
            f"{n_of(members, 'known member work')} and {n_of(others, 'known non-member work')}. The verdict on whether "
            f"the score tells them apart: {known.verdict.word.value}."
        ),
        Bullets(tuple(reason.sentence for reason in known.verdict.reasons)),
    ]
    if judged.errors is not None:
        blocks += [
            Paragraph(
                f"Snippets at or above {number_text(judged.threshold or 0.0)} are called members. Works judged by a "
                f"threshold that was chosen without them: {judged.errors.tpr:.0%} of the members' snippets are called "
                f"so, and {judged.errors.fpr:.0%} of the non-members'. Of the known member works "
                f"{judged.power:.0%} would have reached p {found.settings.alpha:g} as audited books."
            )
        ]
    scores = {"known members": known.scores[known.is_member], "known non-members": known.scores[~known.is_member]}
    audited = facts.read.placed.snippets_on(Shelf.AUDITED)
    scores["audited"] = facts.read.numbers.scores(found.settings.score, found.settings.k, places=audited)
    blocks += [
        Figure(
            score_by_shelf(scores, f"{facts.score_label} ({SCORES[found.settings.score].unit})", judged.threshold),
            f"{facts.score_label} of the snippets of each shelf.",
            "; ".join(f"{name}: middle value {number_text(float(np.median(own)))}" for name, own in scores.items()),
        )
    ]
    if found.methods and facts.read.placed.blind is not None:
        blind = facts.read.placed.blind.blind.auc
        aucs = {SCORES[name].label: method.findings.auc for name, method in found.methods.items()}
        blocks += [
            Figure(
                auc_by_method(aucs, blind, facts.score_label),
                "How well each score separates the known works, and how well their words alone do.",
                "; ".join(f"{name}: AUC {interval_text(auc)}" for name, auc in aucs.items())
                + f"; the words alone: {interval_text(blind)}",
            ),
            Figure(
                roc_figure({SCORES[name].label: method.roc for name, method in found.methods.items()}),
                "Share of known members and of known non-members at or above every threshold.",
                "The curves of the scores above; the further above the diagonal, the better.",
            ),
        ]
    return tuple(blocks)


def _extraction(facts: BooksFacts) -> tuple[Block, ...]:
    by_work, by_shelf = facts.found.extractions.by_work, facts.found.extractions.by_shelf
    rows = [
        (shortened(facts.work_of(book).title, 80), by_work[book.work])
        for book in facts.ordered[:TOP]
        if by_work[book.work].n_windows
    ]
    rows += [
        (f"all {name}", summary)
        for name, summary in by_shelf.items()
        if name != Shelf.AUDITED.value and summary.n_windows
    ]
    heading = Heading("Passages word for word", 2)
    if not rows:
        return (heading, Paragraph("The snippets are too short: a passage is 50 tokens after 50 others."))
    maps = {
        facts.work_of(book).title: extraction_map(facts.read, book.work)
        for book in facts.ordered[:MOST_OPENED]
        if by_work[book.work].n_windows
    }
    others = facts.read.placed.snippets_on(Shelf.NON_MEMBERS)
    windows = [facts.read.numbers.windows_of(int(place)) for place in others]
    known = np.concatenate(windows).astype(np.float64) if windows else None
    return (
        heading,
        Paragraph(
            "How likely is it that the model, given 50 tokens of a book, goes on with the book's next 50 tokens "
            "exactly? This is computed from the same probabilities; nothing was generated. A book that the model has "
            "not seen has hardly any such passage."
        ),
        Table(
            (
                Column("Book or shelf"),
                Column("Passages", numeric=True),
                *(Column(f"chance ≥ {threshold:g}") for threshold in rows[0][1].thresholds),
                Column("Longest run", "passages in a row, chance ≥ 0.01", numeric=True),
                Column("Middle passage", "chance of a token"),
            ),
            tuple(_extraction_row(name, summary) for name, summary in rows),
            "Share of the passages that the model would continue word for word with at least so much chance; and what "
            "chance it gives to a token of the middle passage, as a geometric mean.",
        ),
        *(
            [
                Figure(
                    extraction_figure(maps, known),
                    "The chance along the books with the smallest p. Dotted: 0.001, 0.01 and 0.5.",
                    "; ".join(
                        f"{shortened(title, 60)}: middle chance 10^{float(np.median(own.log_p)) / np.log(10):.0f}"
                        for title, own in maps.items()
                    ),
                )
            ]
            if maps
            else []
        ),
    )


def _extraction_row(name: str, summary: ExtractionSummary) -> tuple[str | int | None, ...]:
    # The passage's chance is the product of its 50 tokens': their geometric mean can be read by people.
    middle = None if summary.median_log_p is None else f"{np.exp(summary.median_log_p / SUFFIX_TOKENS):.1%}"
    return (name, summary.n_windows, *(f"{share:.1%}" for share in summary.shares), summary.longest_runs[1], middle)


def _sensitivity(facts: BooksFacts) -> tuple[Block, ...]:
    books = {book.work: place for place, book in enumerate(facts.found.judged.books)}
    top = facts.ordered[:TOP]
    order = [books[book.work] for book in top]
    titles = [facts.work_of(book).title for book in top]
    shown = [_reordered(variant, order) for variant in facts.found.variants if variant.axis != "rule"]
    missing = [f"{AXES[v.axis]} {v.value}: {v.missing}" for v in facts.found.variants if v.missing and not v.words]
    if not shown:
        return ()
    counts = "; ".join(
        f"{AXES[variant.axis]} {variant.value}: {sum(word is Word.SUPPORTED for word in variant.words)}"
        for variant in facts.found.variants
        if variant.axis != "rule"
    )
    return (
        Heading("How much depends on the settings", 2),
        Paragraph(
            "The verdicts under other scores, other k and shorter snippets (the first words of those that were read), "
            "one thing changed at a time. The settings of this audit are marked. They were not chosen by this chart: "
            "whoever picks the column that they like best can no longer rely on its p."
        ),
        Figure(
            sensitivity_figure(shown, titles, AXES),
            "Verdicts under other settings. Full circle: supported; cross: not supported; empty circle: inconclusive.",
            f"Books supported: {counts}.",
        ),
        *([Bullets(tuple(missing))] if missing else []),
    )


def _reordered(variant: Variant, order: list[int]) -> Variant:
    """Of these books, in this order."""
    if not variant.words:
        return variant
    return replace(
        variant,
        words=tuple(variant.words[place] for place in order),
        p_corrected=tuple(variant.p_corrected[place] for place in order),
    )


def _opened(facts: BooksFacts) -> tuple[Block, ...]:
    blocks: list[Block] = []
    settings = facts.found.settings
    for book in facts.ordered[:MOST_OPENED]:
        if book.n_snippets < 2:
            continue
        along = profile(facts.read, book.work, settings.score, settings.k)
        title = shortened(facts.work_of(book).title, 80)
        blocks += [
            Heading(f"“{title}”", 2),
            Figure(
                profile_figure(along, facts.score_label, facts.found.judged.threshold),
                f"{facts.score_label} along the book.",
                f"From {number_text(float(along.scores.min()))} to {number_text(float(along.scores.max()))}; highest "
                f"from word {along.first_word[along.most[0]] + 1:,}, lowest from word "
                f"{along.first_word[np.argmin(along.scores)] + 1:,}.",
            ),
        ]
    return tuple(blocks)


def _reasons(facts: BooksFacts) -> tuple[Block, ...]:
    blocks: list[Block] = [Heading("Every verdict and its reasons", 2)]
    for book in facts.ordered[:MOST_REASONED]:
        blocks += [
            Paragraph(f"“{shortened(facts.work_of(book).title, 80)}”: {book.verdict.word.value}."),
            Bullets(
                tuple(
                    f"{'Holds' if reason.holds else 'Does not hold'}: {reason.sentence}"
                    for reason in book.verdict.reasons
                )
            ),
        ]
    if len(facts.ordered) > MOST_REASONED:
        blocks += [
            Paragraph(f"{len(facts.ordered) - MOST_REASONED:,} more are in reasons.csv of the evidence package.")
        ]
    return tuple(blocks)
