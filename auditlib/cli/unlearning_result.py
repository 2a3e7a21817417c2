"""A finished unlearning audit as a person reads it in a shell."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from auditlib.audits.unlearning import CompletionTest, ForgottenWord, QuestionTest, UnlearningResult
from auditlib.audits.unlearning.completions import MEASURES
from auditlib.audits.unlearning.gallery import Gallery
from auditlib.cli.calibration_result import identity_line, print_reasons
from auditlib.cli.common import result_console

ANSWERS = {
    ForgottenWord.FORGOTTEN: "These tests find no trace of the works to be forgotten in {model}.",
    ForgottenWord.NOT_FORGOTTEN: "These tests find the works to be forgotten still in {model}, in whole or in part.",
    ForgottenWord.INCONCLUSIVE: "The tests could not tell whether {model} has forgotten the works.",
}
SHOWN = 3
MOST_CORRECT = 10


def print_unlearning(result: UnlearningResult, gallery: Gallery, speed: tuple[int, float]) -> None:
    """The answer, its reasons, the tables behind it, and what it rests on."""
    out, verdict = result_console(), result.verdict
    answer = ANSWERS[verdict.word].format(model=result.unlearned.name)
    out.print(f"[bold]{verdict.word.value.capitalize()}.[/] {escape(answer)}", soft_wrap=True)
    print_reasons(out, verdict.reasons)
    for sentence in verdict.over_forgetting:
        out.print(f"[bold]Over-forgetting:[/] {escape(sentence)}", soft_wrap=True, highlight=False)
    out.print(escape(verdict.limits), style="italic", soft_wrap=True)
    out.print(_chunks(result))
    _print_completions(out, result.completions, gallery)
    if result.questions is not None:
        _print_questions(out, result.questions)
    tokens, seconds = speed
    lines = [
        *result.notes,
        *result.completions.notes,
        result.completions.panel.said,
        f"{tokens:,} tokens drawn, {tokens / seconds:,.0f} a second." if seconds else "",
        f"Original: {identity_line(result.original)}.",
        f"Unlearned: {identity_line(result.unlearned)}.",
        f"Never trained: {identity_line(result.reference)}." if result.reference else "",
    ]
    for line in lines:
        if line:
            out.print(escape(line), soft_wrap=True, highlight=False)


def _chunks(result: UnlearningResult) -> Table:
    screening, rises = result.screening, {rise.role: rise for rise in result.forgetting.rises}
    separations = {own.role: own for own in (result.forgetting.forgotten, result.forgetting.kept) if own}
    table = Table(
        title=f"Suspicious: ratio of scores within {1 / screening.factor:.2f} to {screening.factor:.2f}",
        title_justify="left",
        show_lines=True,
    )
    for heading in ("works", "chunks", "suspicious", "by perplexity", "loss, nats", "AUC before", "AUC after"):
        table.add_column(heading, justify="left" if heading == "works" else "right")
    for count in screening.counts:
        own, rise = separations.get(count.role), rises[count.role]
        table.add_row(
            count.role.value,
            f"{count.n_chunks:,}",
            f"{count.n_suspicious:,} ({count.share.low:.0%} to {count.share.high:.0%})",
            f"{count.n_by_perplexity:,}",
            f"{rise.original:.2f} → {rise.unlearned:.2f}",
            *(
                f"{auc.estimate:.2f} ({auc.low:.2f} to {auc.high:.2f})" if auc else "–"
                for auc in ((own.original, own.unlearned) if own else (None, None))
            ),
        )
    return table


def _print_completions(out: Console, test: CompletionTest, gallery: Gallery) -> None:
    if test.missing:
        out.print(escape(f"No completions. {test.missing}"), soft_wrap=True, highlight=False)
        return
    table = Table(title=f"Completions, by {test.embedding or 'words alone'}", title_justify="left", show_lines=True)
    for heading in ("measure", "first", "second", "means", "difference", "p"):
        table.add_column(heading, justify="left" if heading in ("measure", "first", "second") else "right")
    for one in test.comparisons:
        found = one.difference
        table.add_row(
            MEASURES[one.measure],
            f"{one.first} ({one.n_first:,})",
            f"{one.second} ({one.n_second:,})",
            one.means_text,
            f"{found.estimate:+.2f} ({found.low:+.2f} to {found.high:+.2f})" if found else escape(one.missing),
            "–" if one.p is None else f"{one.p:.2g}",
        )
    out.print(table)
    for item in gallery.items[:SHOWN]:
        likeness = f"ROUGE-L {item.rouge_l:.2f}" + ("" if item.cosine is None else f", cosine {item.cosine:.2f}")
        out.print(
            f"[bold]{escape(item.work)}[/], from word {item.first_word + 1:,}: {likeness}, "
            f"{item.run_words} words in a row: “{escape(item.written.run)}”",
            soft_wrap=True,
            highlight=False,
        )


def _print_questions(out: Console, test: QuestionTest) -> None:
    found = test.difference
    out.print(
        f"Questions: {len(test.lines):,}, of which {test.n_selected:,} read alike to both models. "
        + (
            f"ROUGE-L recall {test.mean_selected:.2f} against {test.mean_unselected:.2f}, difference "
            f"{found.estimate:+.2f} ({found.low:+.2f} to {found.high:+.2f}), p {test.p:.2g}."
            if found is not None
            else escape(test.missing)
        ),
        soft_wrap=True,
        highlight=False,
    )
    for line in test.correct[:MOST_CORRECT]:
        where = f"{line.place.work}, word {line.place.first_word + 1:,}" if line.place else "in no work word for word"
        out.print(escape(f"  {line.question} — {line.best} ({where})"), soft_wrap=True, highlight=False)
    for note in test.notes:
        out.print(escape(note), soft_wrap=True, highlight=False)
