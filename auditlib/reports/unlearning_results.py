"""The results of an unlearning audit's report: screening, completions, the closest of them, questions, forgetting."""

from __future__ import annotations

from auditlib.audits.unlearning.completions import MEASURES, Comparison
from auditlib.audits.unlearning.forgetting import Separation
from auditlib.audits.unlearning.gallery import GalleryItem, Quoted
from auditlib.reports.blocks import Block, Bullets, Cell, Column, Figure, Heading, Paragraph, Quotation, Table, quoted
from auditlib.reports.plain_words import interval_text, n_of, p_text, shortened
from auditlib.reports.unlearning_facts import ROLE_WORDS, UnlearningFacts
from auditlib.reports.unlearning_figures import ratio_figure, similarity_figure

MOST_CORRECT = 20


def results(facts: UnlearningFacts) -> tuple[Block, ...]:
    """The whole section."""
    return (
        Heading("Results"),
        *_screening(facts),
        *_completions(facts),
        *_gallery(facts),
        *_questions(facts),
        *_forgetting(facts),
    )


def _screening(facts: UnlearningFacts) -> tuple[Block, ...]:
    screening = facts.result.screening
    rows = tuple(
        (
            ROLE_WORDS[count.role],
            count.n_chunks,
            count.n_suspicious,
            f"{count.share.estimate:.0%} ({count.share.low:.0%} to {count.share.high:.0%})",
            count.n_by_perplexity,
        )
        for count in screening.counts
    )
    return (
        Heading("Screening", 2),
        Figure(
            ratio_figure(screening),
            "The score of each chunk under the unlearned model over that under the original. The band is the window of "
            "suspicion; ratios above it mean that the unlearned model finds a chunk stranger.",
            " ".join(f"{role}: {k:,} of {n:,} chunks within the window." for role, n, k, *_ in rows),
        ),
        Table(
            (
                Column("Works"),
                Column("Chunks", numeric=True),
                Column("Suspicious", numeric=True),
                Column("Share", "95% interval", numeric=True),
                Column("By perplexity alone", numeric=True),
            ),
            rows,
            "Chunks that both models read about alike.",
            "By perplexity alone: chunks whose ratio of perplexities lies in the same window.",
        ),
    )


def _completions(facts: UnlearningFacts) -> tuple[Block, ...]:
    test = facts.result.completions
    heading = Heading("Completions", 2)
    if test.missing:
        return (heading, Paragraph(f"There are none. {test.missing}"))
    measures = [name for name in MEASURES if any(one.measure(name) is not None for one in test.completions)]
    tokens, seconds = facts.speed
    panel = test.panel
    judged: list[Block] = []
    if panel.model:
        missing = "; ".join(f"{n:,}: {why}" for why, n in sorted(panel.n_unrated.items()))
        agreed = panel.agreement
        judged = [
            Paragraph(
                f"The judge {shortened(panel.model)} rated {n_of(panel.n_rated, 'completion')}."
                + (f" Without a rating: {missing}." if missing else "")
                + (f" {panel.said}" if panel.said else "")
            ),
            Paragraph(
                f"Ratings and embeddings put completions into the same order to a degree of "
                f"{interval_text(agreed.spearman)} (Spearman, {agreed.n:,} completions)."
                if agreed.spearman
                else f"Agreement of ratings and embeddings: {agreed.missing}"
            ),
        ]
    else:
        judged = [Paragraph(panel.said, quiet=True)]
    return (
        heading,
        *(
            Figure(
                similarity_figure(test, facts.result.screening, name),
                f"{MEASURES[name][0].upper()}{MEASURES[name][1:]} between completion and true continuation"
                + (f", by {test.embedding}." if name == "cosine" else "."),
                _means(test.comparisons, name),
            )
            for name in measures
            if name in ("cosine", "judge")
        ),
        Table(
            (
                Column("Measure"),
                Column("First"),
                Column("Second"),
                Column("Chunks", numeric=True),
                Column("Means", numeric=True),
                Column("Difference", "95% interval", numeric=True),
                Column("p", "permutation", numeric=True),
            ),
            tuple(_comparison_row(one) for one in test.comparisons),
            "Completions of two sets of chunks, each chunk counted once by the mean of its samples.",
            " ".join(sorted({one.missing for one in test.comparisons if one.missing})),
        ),
        *judged,
        *([Bullets(test.notes)] if test.notes else []),
        *(
            [Paragraph(f"{tokens:,} tokens were drawn, {tokens / seconds:,.0f} a second.", quiet=True)]
            if seconds
            else []
        ),
    )


def _gallery(facts: UnlearningFacts) -> tuple[Block, ...]:
    if not facts.gallery.items:
        return ()
    blocks: list[Block] = [Heading("The closest completions", 2)]
    for item in facts.gallery.items:
        source = f"{shortened(item.work, 80)} ({item.role.value}), chunk from word {item.first_word + 1:,}"
        blocks += [
            _quotation(item.truth, f"{source}: how it goes on"),
            _quotation(item.written, f"what the unlearned model wrote, sample {item.sample + 1}: {_likeness(item)}"),
        ]
    return tuple(blocks)


def _questions(facts: UnlearningFacts) -> tuple[Block, ...]:
    test = facts.result.questions
    if test is None:
        return ()
    blocks: list[Block] = [Heading("Questions", 2)]
    if not test.lines:
        return (*blocks, Paragraph(f"No answers were drawn. {test.missing}"))
    n_others = len(test.lines) - test.n_selected
    found = (
        f"The difference is {interval_text(test.difference, '+.2f')}, p {p_text(test.p)}."
        if test.difference is not None and test.p is not None
        else test.missing
    )
    blocks += [
        Paragraph(
            f"Of {n_of(len(test.lines), 'question')}, {test.n_selected:,} read about alike to both models. Their "
            f"answers hold {test.mean_selected:.0%} of the right answers' words on average (ROUGE-L recall), those of "
            f"the {n_others:,} others {test.mean_unselected:.0%}. {found}"
            if test.n_selected and n_others
            else f"Of {n_of(len(test.lines), 'question')}, {test.n_selected:,} read about alike to both models. {found}"
        ),
        *([Bullets(test.notes)] if test.notes else []),
        Table(
            (
                Column("Question"),
                Column("Right answer"),
                Column("Answer of the unlearned model"),
                Column("Right", f"of {test.samples:,}", numeric=True),
                Column("Where it stands"),
            ),
            tuple(
                (
                    quoted(line.question, "").text,
                    quoted(line.answer, "").text,
                    quoted(line.best, "").text,
                    line.n_correct,
                    f"{shortened(line.place.work, 60)}, word {line.place.first_word + 1:,}: “{line.place.quotation}”"
                    if line.place
                    else "in none of the works, word for word",
                )
                for line in test.correct[:MOST_CORRECT]
            ),
            f"Questions that the unlearned model answered with every word of the right answer: {len(test.correct):,}.",
        ),
    ]
    return tuple(blocks)


def _forgetting(facts: UnlearningFacts) -> tuple[Block, ...]:
    found = facts.result.forgetting
    separations = [found.forgotten, *([found.kept] if found.kept else [])]
    return (
        Heading("Forgetting", 2),
        Table(
            (
                Column("Against works never seen"),
                Column("Original", "AUC", numeric=True),
                Column("Unlearned", "AUC", numeric=True),
                Column("Fall", "95% interval", numeric=True),
                Column("Never trained", "AUC", numeric=True),
                Column("Over it", "95% interval", numeric=True),
                Column("Within the margin"),
            ),
            tuple(_separation_row(own) for own in separations),
            "How well the score tells works from works that no model saw.",
            " ".join(own.missing for own in separations if own.missing),
        ),
        Table(
            (
                Column("Works"),
                Column("Original", "nats a token", numeric=True, form=".2f"),
                Column("Unlearned", "nats a token", numeric=True, form=".2f"),
                Column("Rise", "95% interval", numeric=True),
            ),
            tuple(
                (
                    ROLE_WORDS[rise.role],
                    rise.original,
                    rise.unlearned,
                    interval_text(rise.rise, "+.2f") if rise.rise else None,
                )
                for rise in found.rises
            ),
            "How badly the models foresee the works.",
        ),
    )


def _separation_row(own: Separation) -> tuple[Cell, ...]:
    test = own.like_reference or own.like_chance
    if own.role.name == "KEEP":
        test = own.unchanged
    return (
        ROLE_WORDS[own.role],
        interval_text(own.original) if own.original else None,
        interval_text(own.unlearned) if own.unlearned else None,
        interval_text(own.fall, "+.2f") if own.fall else None,
        interval_text(own.reference) if own.reference else None,
        interval_text(own.over_reference, "+.2f") if own.over_reference else None,
        None if test is None else ("yes" if test.equivalent else "not shown"),
    )


def _comparison_row(one: Comparison) -> tuple[Cell, ...]:
    return (
        MEASURES[one.measure],
        one.first,
        one.second,
        f"{one.n_first:,} and {one.n_second:,}",
        one.means_text,
        interval_text(one.difference, "+.2f") if one.difference else None,
        p_text(one.p) if one.p is not None else None,
    )


def _means(found: tuple[Comparison, ...], measure: str) -> str:
    own = [one for one in found if one.measure == measure]
    return " ".join(f"{one.first} and {one.second}: {one.means_text}." for one in own)


def _quotation(text: Quoted, source: str) -> Quotation:
    before = f"{text.before} " if text.before else ""
    after = f" {text.after}" if text.after else ""
    start = len(before)
    return Quotation(f"{before}{text.run}{after}"[:300], source, (start, min(300, start + len(text.run))))


def _likeness(item: GalleryItem) -> str:
    cosine = "" if item.cosine is None else f"cosine {item.cosine:.2f}, "
    rated = "" if item.judge is None else f", rated {item.judge}: {shortened(item.judge_reason)}"
    return f"{cosine}ROUGE-L {item.rouge_l:.2f}, {n_of(item.run_words, 'word')} in a row{rated}"
