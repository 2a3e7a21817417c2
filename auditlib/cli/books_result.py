"""A finished book audit as a person reads it in a shell, and as JSON."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from auditlib.audits.books import BookAudit, BookPlan, BookResult, ReadBooks, Shelf, Work
from auditlib.cli.common import result_console
from auditlib.cli.json_output import to_json
from auditlib.core import library_versions
from auditlib.evidence import ExtractionSummary, Interval, Word
from auditlib.scoring import SCORES

MOST_BOOKS = 100
MOST_REASONS = 12
AXES = {"score": "score", "k": "k", "words": "words a snippet", "rule": "threshold rule"}


@dataclass(frozen=True)
class BooksShown:
    """What is shown of an audit; `not_read` are files that could not be read, and why."""

    read: ReadBooks
    found: BookAudit
    plan: BookPlan
    not_read: tuple[str, ...]


def books_json(shown: BooksShown) -> str:
    """Everything that `print_books` shows, and the numbers behind it."""
    read, found = shown.read, shown.found
    placed, judged = read.placed, found.judged
    return to_json(
        {
            "settings": found.settings,
            "cutting": placed.cutting,
            "reference": {
                "calibration": found.known.source or None,
                "verdict": found.known.verdict,
                "works": dict(zip(("members", "non_members"), found.known.n_works, strict=True)),
                "blind_auc": None if placed.blind is None else placed.blind.blind.auc,
                "methods": {
                    name: {"auc": m.findings.auc, "verdict": m.verdict.word, "threshold": m.threshold}
                    for name, m in found.methods.items()
                },
                "unavailable": found.unavailable,
            },
            "threshold": judged.threshold,
            "no_threshold": judged.no_threshold,
            "errors": judged.errors,
            "smallest_p": judged.smallest,
            "power": judged.power,
            "books": [
                {
                    "title": placed.works[book.work].title,
                    "author": placed.works[book.work].author,
                    "year": placed.works[book.work].year,
                    "documents": placed.works[book.work].documents,
                    "editions": placed.works[book.work].editions,
                    "n_words": placed.works[book.work].n_words,
                    "extraction": found.extractions.by_work[book.work],
                    **{name: getattr(book, name) for name in ("n_snippets", "mean", "p", "p_corrected")},
                    "rate": book.rate,
                    "no_rate": book.no_rate,
                    "verdict": book.verdict,
                }
                for book in judged.books
            ],
            "extraction": found.extractions.by_shelf,
            "sensitivity": found.variants,
            "plan": shown.plan,
            "not_read": shown.not_read,
            "model": placed.identity,
            "versions": library_versions(),
        }
    )


def print_books(shown: BooksShown) -> None:
    """The answer first, then each book, the reference shelf, and how far the answer depends on settings."""
    out = result_console()
    found, placed = shown.found, shown.read.placed
    books = found.judged.books
    _answer(out, shown)
    ordered = sorted(books, key=lambda book: (book.p if book.p is not None else 2.0, -(book.mean or -1e9), book.work))
    _books(out, shown, ordered)
    _reasons(out, shown, ordered)
    if found.methods:
        _methods(out, shown)
    else:
        out.print(escape(found.known.verdict.reasons[0].sentence), soft_wrap=True)
    _sensitivity(out, shown)
    for note in placed.notes:
        out.print(f"[yellow]Note:[/] {escape(note)}", soft_wrap=True)
    out.print(escape(books[0].verdict.limits), soft_wrap=True, style="dim")


def _answer(out: Console, shown: BooksShown) -> None:
    found, model = shown.found, shown.read.placed.identity.name
    supported = [book for book in found.judged.books if book.verdict.word is Word.SUPPORTED]
    counts = Counter(book.verdict.word for book in found.judged.books)
    score = SCORES[found.settings.score].label
    if supported:
        titles = ", ".join(f"“{_work(shown, book).title}”" for book in supported[:5])
        more = f" and {len(supported) - 5:,} more" if len(supported) > 5 else ""
        verb = "is" if len(supported) == 1 else "are"
        answer = (
            f"By {score}, {titles}{more} {verb} more like the texts that {model} was trained on than the known works "
            "that it has not seen."
        )
    else:
        answer = f"By {score} on {model}, no book is supported in this test."
    out.print(f"[bold]{escape(answer)}[/]", soft_wrap=True)
    out.print(", ".join(f"{counts[word]:,} {word.value}" for word in Word) + ".")


def _books(out: Console, shown: BooksShown, ordered: list[BookResult]) -> None:
    found = shown.found
    table = Table(title="Audited books", title_justify="left")
    table.add_column("book", overflow="fold")
    for name in (
        "snippets",
        "raw rate",
        "corrected rate",
        "p",
        "p for the shelf",
        "passages to be had",
        "a passage's token",
    ):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    for book in ordered[:MOST_BOOKS]:
        rate = book.rate
        extracted = found.extractions.by_work[book.work]
        table.add_row(
            escape(_named(_work(shown, book))),
            f"{book.n_snippets:,}",
            "–" if rate is None else _interval(rate.raw),
            "–" if rate is None or rate.corrected is None else _interval(rate.corrected),
            "–" if book.p is None else f"{book.p:.3g}",
            "–" if book.p_corrected is None else f"{book.p_corrected:.3g}",
            "–" if not extracted.n_windows else f"{extracted.shares[1]:.0%}",
            _token_chance(extracted),
            book.verdict.word.value,
        )
    out.print(table)
    if len(ordered) > MOST_BOOKS:
        out.print(f"… and {len(ordered) - MOST_BOOKS:,} more: --table and --json have all.")
    others = found.extractions.by_shelf.get(Shelf.NON_MEMBERS.value)
    if others is not None and others.n_windows:
        out.print(
            f"Passages had: 50 tokens that the model would go on with word for word with a chance of 1% or more; "
            f"{others.shares[1]:.1%} among the known non-members. A token of the middle passage has a chance of "
            f"{_token_chance(others)} there.",
            soft_wrap=True,
        )
    if found.judged.no_threshold:
        out.print(f"No rates: {escape(found.judged.no_threshold)}", soft_wrap=True)
    elif found.judged.errors is not None:
        errors = found.judged.errors
        out.print(
            f"Rates: snippets at or above {found.judged.threshold:.4g}, which calls {errors.tpr:.0%} of the known "
            f"members and {errors.fpr:.0%} of the known non-members.",
            soft_wrap=True,
        )


def _reasons(out: Console, shown: BooksShown, ordered: list[BookResult]) -> None:
    out.print("\n[bold]Why[/]")
    for book in ordered[:MOST_REASONS]:
        out.print(f"{escape(_work(shown, book).title)}: [bold]{book.verdict.word.value}[/]", soft_wrap=True)
        for reason in book.verdict.reasons:
            out.print(f"  {'[green]✓[/]' if reason.holds else '[red]✗[/]'} {escape(reason.sentence)}", soft_wrap=True)


def _methods(out: Console, shown: BooksShown) -> None:
    found, blind = shown.found, shown.read.placed.blind
    table = Table(title="Every score on the reference shelf", title_justify="left")
    for name in ("score", "AUC", "true positives", "false positives", "verdict"):
        table.add_column(name, justify="left" if name in ("score", "verdict") else "right")
    for name, method in found.methods.items():
        rates = method.threshold
        table.add_row(
            SCORES[name].label + (" (chosen)" if name == found.settings.score else ""),
            _interval(method.findings.auc, ".2f"),
            "–" if rates is None else _interval(rates.tpr),
            "–" if rates is None else _interval(rates.fpr),
            method.verdict.word.value,
        )
    if blind is not None:
        table.add_row("the words alone, no model", _interval(blind.blind.auc, ".2f"), "", "", "")
    out.print(table)
    for name, why in found.unavailable.items():
        out.print(f"{SCORES[name].label} was not used. {escape(why)}", soft_wrap=True)


def _sensitivity(out: Console, shown: BooksShown) -> None:
    for axis, said in AXES.items():
        own = [variant for variant in shown.found.variants if variant.axis == axis]
        if axis == "rule" or not own:
            continue  # verdicts do not depend on it
        counts = ", ".join(
            f"{v.value}: {'–' if v.missing and not v.words else sum(word is Word.SUPPORTED for word in v.words)}"
            for v in own
        )
        out.print(f"Books supported by {said}: {counts}", soft_wrap=True, highlight=False)


def _token_chance(summary: ExtractionSummary) -> str:
    """The geometric mean of the chances of a middle passage's 50 tokens."""
    return "–" if summary.median_log_p is None else f"{math.exp(summary.median_log_p / 50):.1%}"


def _work(shown: BooksShown, book: BookResult) -> Work:
    return shown.read.placed.works[book.work]


def _named(work: Work) -> str:
    about = ", ".join(part for part in (work.author, "" if work.year is None else str(work.year)) if part)
    return f"{work.title} ({about})" if about else work.title


def _interval(value: Interval, form: str = ".0%") -> str:
    return f"{value.estimate:{form}} ({value.low:{form}} to {value.high:{form}})"
