"""The report on a book audit, in the order in which a compliance reader looks for things; the first page stands "
"alone."""

from __future__ import annotations

from auditlib.audits.books import Shelf
from auditlib.evidence import Word
from auditlib.evidence.book_verdict import CORRECTIONS
from auditlib.reports.blocks import (
    Block,
    Bullets,
    Column,
    Heading,
    PageBreak,
    Paragraph,
    Parameters,
    Report,
    Table,
    VerdictBlock,
)
from auditlib.reports.books_facts import BooksFacts
from auditlib.reports.books_results import results
from auditlib.reports.closing import closing, limits
from auditlib.reports.plain_words import (
    GLOSSARY,
    WHAT_IT_CANNOT_SHOW,
    cutting_in_words,
    interval_text,
    n_of,
    p_text,
    shortened,
)
from auditlib.scoring import SCORES

MOST_NAMED = 8
MOST_WORKS = 60
SOURCES = {"documents": "documents of the workspace", "files": "files", "demo": "the program's own demonstration"}
ABOUT_BOOKS = (
    (
        "contamination rate",
        "Share of a book's snippets that are called members. Raw: as counted. Corrected: what is left of it once the "
        "errors on the known works are taken into account.",
    ),
    ("extraction", "Having a model continue a passage of a text word for word."),
    ("known member, known non-member", "A work of which the person who ran the audit says where it stands."),
    ("p for the shelf", "The p-value corrected for the number of books that were audited together."),
    ("snippet", "A piece of a book that is scored by itself."),
)
LIMITS_OF_BOOKS = (
    *(limit for limit in WHAT_IT_CANNOT_SHOW if "this run looked at" not in limit),
    "A p-value rests on the assumption that a book the model has not seen is like the known non-members: of the same "
    "kind, language and time. Where it is not, p says something else.",
    "A book may be known to a model from quotations, summaries, films or other editions, and not from itself.",
    "p is corrected for the books of this audit, and not for other audits made before it.",
)


def books_report(facts: BooksFacts) -> Report:
    """The whole report."""
    blocks = (
        *_summary(facts),
        PageBreak(),
        *_what(facts),
        *_how(facts),
        *results(facts),
        Heading("Quotations"),
        *(facts.quotations or (Paragraph("No passage of the examined books is quoted in this report."),)),
        *limits(LIMITS_OF_BOOKS),
        *_reproduction(facts),
        *closing(sorted((*GLOSSARY, *ABOUT_BOOKS))),
    )
    subtitle = f"Audit of {n_of(len(facts.found.judged.books), 'book')} on {shortened(facts.model.name)}"
    return Report(shortened(facts.name), subtitle, blocks, facts.made, facts.version)


def _summary(facts: BooksFacts) -> tuple[Block, ...]:
    judged, known = facts.found.judged, facts.found.known
    supported, absent, inconclusive = (
        facts.with_word(word) for word in (Word.SUPPORTED, Word.NOT_SUPPORTED, Word.INCONCLUSIVE)
    )
    # The shelf's verdict is that of its most telling book; where none is supported, one that could not be told counts.
    foremost = (supported or inconclusive or absent)[0]
    shown = supported[:MOST_NAMED] or facts.ordered[:MOST_NAMED]
    blocks: list[Block] = [
        Heading("Summary"),
        Paragraph(
            f"The question: was the model {shortened(facts.model.name)} trained on these "
            f"{n_of(len(judged.books), 'book')}? Each was compared, by the score {facts.score_label}, with works of "
            "which it is known that the model has not seen them."
        ),
        VerdictBlock(
            foremost.verdict.word.value,
            _answer(facts),
            foremost.verdict.reasons,
            foremost.verdict.p,
        ),
        Paragraph(
            f"The reasons above are those of “{shortened(facts.work_of(foremost).title)}”; every "
            "book's own are in section 4.",
            quiet=True,
        ),
        Table(
            (
                Column("Book"),
                Column("Verdict"),
                Column("p for the shelf"),
                Column("Corrected rate"),
            ),
            tuple(
                (
                    shortened(facts.work_of(book).title, 60),
                    book.verdict.word.value,
                    None if book.p_corrected is None else p_text(book.p_corrected),
                    None
                    if book.rate is None or book.rate.corrected is None
                    else interval_text(book.rate.corrected, ".0%"),
                )
                for book in shown
            ),
            "Books that are supported." if supported else "Books with the smallest p.",
            f"{len(judged.books) - len(shown):,} more books are in section 4."
            if len(shown) < len(judged.books)
            else "",
        ),
        Parameters(
            (
                (
                    "Verdicts",
                    f"{len(supported)} supported, {len(absent)} not supported, {len(inconclusive)} inconclusive",
                ),
                ("Model", shortened(facts.model.name)),
                ("Compared with", _compared_with(facts)),
                ("Reference", f"the score tells known members from others: {known.verdict.word.value}"),
                ("Date", f"{facts.made.day} {facts.made:%B %Y, %H:%M %Z}"),
                ("Run by", facts.by or "not recorded"),
            )
        ),
    ]
    return tuple(blocks)


def _answer(facts: BooksFacts) -> str:
    supported = facts.with_word(Word.SUPPORTED)
    if supported:
        titles = ", ".join(f"“{shortened(facts.work_of(book).title, 60)}”" for book in supported[:MOST_NAMED])
        more = f" and {len(supported) - MOST_NAMED:,} more" if len(supported) > MOST_NAMED else ""
        is_are = "is" if len(supported) == 1 else "are"
        return (
            f"In this test, {titles}{more} {is_are} more like the texts that the model was trained on than the known "
            f"works that it has not seen; chance and the number of books do not explain it."
        )
    if facts.with_word(Word.NOT_SUPPORTED) and not facts.with_word(Word.INCONCLUSIVE):
        return (
            "There is no evidence in this test that the model was trained on any of these books, and it could have "
            "shown it."
        )
    return (
        "The test could not tell for at least one of these books whether the model was trained on it, and supports "
        "none."
    )


def _compared_with(facts: BooksFacts) -> str:
    known, judged = facts.found.known, facts.found.judged
    n_members, n_others = known.n_works
    said = f"{n_of(n_others, 'known non-member work')} ({n_of(n_members, 'known member work')} beside them)"
    said += f"; the smallest p possible is {judged.smallest:.2g}"
    return f"the saved calibration “{shortened(known.source)}”: {said}" if known.source else said


def _what(facts: BooksFacts) -> tuple[Block, ...]:
    model, placed = facts.model, facts.read.placed
    works = placed.works[: 3 * MOST_WORKS]
    blocks: list[Block] = [
        Heading("What was examined"),
        Parameters(
            (
                ("Model", model.name),
                ("Found at", model.source),
                ("Revision", model.revision or "files on this machine"),
                ("Adapter", model.adapter or "none"),
                ("Number format", model.dtype),
                ("Read with", model.backend),
                ("SHA-256 of weights", model.weights_sha256),
                ("SHA-256 of configuration", model.config_sha256),
                ("SHA-256 of tokenizer", model.tokenizer_sha256),
            ),
            "The model",
        ),
        Heading("The books", 2),
        Table(
            (
                Column("Shelf"),
                Column("Works", numeric=True),
                Column("Words", numeric=True),
                Column("Snippets", numeric=True),
            ),
            tuple(
                (
                    shelf.value,
                    len(facts.works_on(shelf)),
                    sum(work.n_words for work in facts.works_on(shelf)),
                    sum(work.n_snippets for work in facts.works_on(shelf)),
                )
                for shelf in Shelf
                if facts.works_on(shelf)
            ),
            "The shelves.",
        ),
    ]
    if placed.notes:
        blocks += [Paragraph("Before the model read them:"), Bullets(placed.notes)]
    if placed.blind is not None:
        blocks += [Paragraph(placed.blind.lengths.reason)]
    blocks += [
        Table(
            (
                Column("Work"),
                Column("Author"),
                Column("Year"),
                Column("Shelf"),
                Column("Words", numeric=True),
                Column("Snippets", numeric=True),
                Column("Text", "SHA-256"),
            ),
            tuple(
                (
                    shortened(work.title, 80),
                    shortened(work.author, 60) or None,
                    None if work.year is None else str(work.year),
                    work.shelf.value,
                    work.n_words,
                    work.n_snippets,
                    work.documents[0] if len(work.documents) == 1 else f"{work.documents[0]} and more",
                )
                for work in works
            ),
            "Every work that was read.",
            f"{len(placed.works) - len(works):,} more are named in inputs.json of the evidence package."
            if len(works) < len(placed.works)
            else "",
        )
    ]
    return tuple(blocks)


def _how(facts: BooksFacts) -> tuple[Block, ...]:
    settings, known, placed = facts.found.settings, facts.found.known, facts.read.placed
    score = SCORES[settings.score]
    rule = "the best accuracy" if settings.rule == "accuracy" else f"a false-positive rate of {settings.rule:.3g}"
    words = (
        f"Could the shelves be told apart by their words alone? A classifier that sees words, letter sequences, "
        f"lengths and years of {n_of(len(placed.blind.places), 'snippet')}, and no model, reaches an AUC of "
        f"{interval_text(placed.blind.blind.auc)}. A score counts only for what it adds to that."
        if placed.blind is not None
        else f"The known works are those of the saved calibration “{shortened(known.source)}”."
    )
    return (
        Heading("How it was examined"),
        Paragraph(
            "A language model gives every token of a text a probability, given the tokens before it. A text that it "
            "was trained on tends to hold few tokens that surprise it. Snippets of each book were passed through the "
            "model, and each score is one number computed from these probabilities."
        ),
        Paragraph(f"{score.label}, the score that books are judged by: {score.meaning} {score.direction}"),
        Paragraph(
            "Snippets of one book are not independent of each other. So what is compared is the mean score of a whole "
            f"book with the means of {n_of(known.n_works[1], 'known non-member work')}: p is the share of these, this "
            "book counted in, that are at least as high. With many books some would have a small p by chance; p is "
            f"therefore corrected for the shelf ({CORRECTIONS[settings.correction]}), so that on average at most "
            f"{settings.alpha:.0%} of the books that are called supported would be false alarms."
        ),
        Paragraph(
            "The raw rate is the share of a book's snippets that reach a threshold, which is chosen on the known "
            "works. Some snippets reach it by chance and some seen ones do not; the corrected rate takes this into "
            "account (Rogan and Gladen 1978), and its interval also that few works are known and that works differ."
        ),
        Paragraph(words),
        Parameters(
            (
                ("Score", f"{score.label} ({score.unit})"),
                ("k", f"{settings.k:g}% of tokens"),
                ("Alpha", f"{settings.alpha:g}, after correction for {n_of(len(facts.found.judged.books), 'book')}"),
                ("Threshold chosen for", rule),
                ("Cut into", cutting_in_words(placed.cutting)),
                ("Texts from", SOURCES.get(facts.texts, facts.texts)),
                *(("Cleaned by", ", ".join(steps) or "nothing: read as they stand") for steps in facts.steps),
                ("Seed", str(settings.seed)),
            ),
            "Settings",
        ),
        *(
            [Bullets(tuple(f"{SCORES[n].label} was not used. {why}" for n, why in facts.found.unavailable.items()))]
            if facts.found.unavailable
            else []
        ),
    )


def _reproduction(facts: BooksFacts) -> tuple[Block, ...]:
    again = (("Repeat it", facts.command),) if facts.command else ()
    link = (("Open it again", f"books?run={facts.run}"),) if facts.run else ()
    return (
        Heading("Reproduction"),
        Paragraph(
            "The same books, model, settings and seed give the same numbers. The evidence package that goes with this "
            "report holds every book's results and every snippet's scores as tables, the settings, and fingerprints of "
            "all that was examined. Its file MANIFEST.sha256 names the SHA-256 of each file, this report among them."
        ),
        Parameters(
            (
                *again,
                *link,
                ("Check the package", "python -m auditlib verify PACKAGE.zip"),
                ("Seed", str(facts.found.settings.seed)),
            ),
            "Commands and seed",
            code=True,
        ),
        Parameters(tuple(facts.versions.items()), "Versions"),
    )
