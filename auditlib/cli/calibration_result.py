"""A finished calibration as a person reads it in a shell, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from auditlib.audits.calibration import FPRS, Calibrated, KSweep, MethodResult, length_classes
from auditlib.audits.sets import ReadSets
from auditlib.cli.common import result_console
from auditlib.cli.json_output import to_json
from auditlib.core import AuditError, Label, ModelIdentity, library_versions
from auditlib.documents.sets import count_sets
from auditlib.evidence import Difference, Interval, Reason, TprAtFpr, Word
from auditlib.scoring import SCORES

MOST_NOTES = 8
HEX_SHOWN = 16
ANSWERS = {
    Word.SUPPORTED: "By {score}, the members are more like the texts that {model} was trained on than the non-members.",
    Word.NOT_SUPPORTED: "No evidence in this test that {score} on {model} tells the members from the non-members.",
    Word.INCONCLUSIVE: "The test could not tell whether {score} on {model} tells the members from the non-members.",
}


@dataclass(frozen=True)
class Shown:
    """What is shown of a calibration: `score` is the one whose verdict comes first.

    sweep     over k of `swept`, the score itself or Min-K% where it has no k; or why there is none
    settings  how the texts were prepared
    """

    score: str
    read: ReadSets
    found: Calibrated
    swept: str
    sweep: KSweep | AuditError
    notes: tuple[str, ...]
    settings: dict[str, Any]

    @property
    def method(self) -> MethodResult:
        """The chosen score's result."""
        return self.found.methods[self.score]


def as_json(shown: Shown) -> str:
    """Everything that `print_result` shows, and the numbers behind it."""
    found, read = shown.found, shown.read
    return to_json(
        {
            "score": shown.score,
            "verdict": shown.method.verdict,
            "methods": {name: _method(method, found) for name, method in found.methods.items()},
            "unavailable": found.unavailable,
            "words_alone": {
                "auc": found.words.blind.auc,
                "features": found.words.blind.n_features,
                "strongest": found.words.blind.strongest,
            },
            "lengths": found.words.lengths,
            "length_classes": length_classes(read, shown.method.scores, found.seed),
            "k_sweep_of": shown.swept,
            "k_sweep": None if isinstance(shown.sweep, AuditError) else shown.sweep,
            "k_sweep_missing": str(shown.sweep) if isinstance(shown.sweep, AuditError) else None,
            "notes": shown.notes,
            "sets": {
                f"{label.value}s": count_sets(read.sets.snippets)[label].__dict__
                | {"sha256": read.sets.digest_of(label), "tokens": int(read.n_tokens[_own(read, label)].sum())}
                for label in (Label.MEMBER, Label.NON_MEMBER)
            },
            "model": read.identity,
            "settings": {"k": found.k, "alpha": found.alpha, "rule": found.rule, "seed": found.seed} | shown.settings,
            "versions": library_versions(),
        }
    )


def print_result(shown: Shown) -> None:
    """The answer, its reasons, the table behind it, and what it rests on."""
    out = result_console()
    verdict, found, read = shown.method.verdict, shown.found, shown.read
    answer = ANSWERS[verdict.word].format(score=SCORES[shown.score].label, model=read.identity.name)
    out.print(f"[bold]{verdict.word.value.capitalize()}.[/] {escape(answer)}", soft_wrap=True)
    print_reasons(out, verdict.reasons)
    out.print(escape(verdict.limits), style="italic", soft_wrap=True)
    out.print(_table(found))
    lines = [
        *(f"{SCORES[name].label} is left out: {reason}" for name, reason in found.unavailable.items()),
        *dict.fromkeys(_missing(found)),
        *shown.notes[:MOST_NOTES],
        *_more_notes(len(shown.notes) - MOST_NOTES),
        *_lengths(shown),
        _sweep_line(shown),
        *_texts(read),
        f"Model: {identity_line(read.identity)}.",
    ]
    for line in lines:
        out.print(escape(line), soft_wrap=True, highlight=False)


def print_reasons(out: Console, reasons: Sequence[Reason]) -> None:
    """One line each, ticked or crossed."""
    for reason in reasons:
        mark = "[green]✓[/]" if reason.holds else "[red]✗[/]"
        out.print(f"  {mark} {escape(reason.sentence)}", soft_wrap=True, highlight=False)


def identity_line(identity: ModelIdentity) -> str:
    """Which model exactly, short enough to read."""
    adapter = "no adapter" if identity.adapter is None else f"adapter SHA-256 {identity.adapter[:HEX_SHOWN]}…"
    return f"{identity.name}, {identity.dtype}, weights SHA-256 {identity.weights_sha256[:HEX_SHOWN]}…, {adapter}"


def within(number: Interval | Difference | None, signed: bool = False) -> str:
    """An estimate over its interval; a dash where there is none."""
    if number is None:
        return "–"
    sign = "+" if signed else ""
    return f"{number.estimate:{sign}.2f}\n{number.low:{sign}.2f} to {number.high:{sign}.2f}"


def _table(found: Calibrated) -> Table:
    level = next(iter(found.methods.values())).findings.auc.level
    table = Table(
        title=f"k = {found.k:g}%, threshold by {_rule(found)}; under each number its {level:.0%} interval, under TPR "
        "the realised FPR",
        title_justify="left",
        show_lines=True,
    )
    for heading in ("score", "AUC", *(f"TPR at {fpr:.0%} FPR" for fpr in FPRS), "accuracy", "threshold"):
        table.add_column(heading, justify="left" if heading == "score" else "right", overflow="fold")
    for heading in ("AUC of the words alone", "difference", "verdict"):
        table.add_column(heading, justify="left" if heading == "verdict" else "right", overflow="fold")
    for name, method in found.methods.items():
        rates = [method.tpr_at[fpr] for fpr in FPRS]
        table.add_row(
            SCORES[name].label,
            within(method.findings.auc),
            *(_rate(rate) for rate in rates),
            within(method.threshold.accuracy if method.threshold else None),
            f"{method.threshold.threshold:.4g}" if method.threshold else "–",
            within(method.findings.blind_auc),
            within(method.findings.over_blind, signed=True),
            method.verdict.word.value,
        )
    return table


def _rate(rate: TprAtFpr | None) -> str:
    return "–" if rate is None else f"{within(rate.tpr)}\nFPR {within(rate.fpr)}"


def _rule(found: Calibrated) -> str:
    return "best accuracy" if found.rule == "accuracy" else f"a false-positive rate of {found.rule:g}"


def _missing(found: Calibrated) -> list[str]:
    """Why numbers are dashes."""
    reasons = [
        f"No TPR at {fpr:.0%}: {why}" for method in found.methods.values() for fpr, why in method.unresolved.items()
    ]
    return reasons + [
        f"No threshold: {method.no_threshold}" for method in found.methods.values() if method.no_threshold
    ]


def _more_notes(left_out: int) -> list[str]:
    return [f"… and {left_out:,} more notes; --json lists all."] if left_out > 0 else []


def _lengths(shown: Shown) -> list[str]:
    lengths, method = shown.found.words.lengths, shown.method
    lines = [
        f"Lengths in words: {lengths.reason}",
        f"{SCORES[shown.score].label} and the number of tokens go together with a rank correlation of "
        f"{method.length.rho:+.2f} (p {method.length.p:.2g}).",
    ]
    for each in length_classes(shown.read, method.scores, shown.found.seed):
        span = f"{each.low:,}" if each.low == each.high else f"{each.low:,} to {each.high:,}"
        lines.append(
            f"Among texts of {span} words ({each.n_members} members, {each.n_non_members} non-members) the AUC is "
            f"{_inline(each.auc)}."
        )
    return lines


def _sweep_line(shown: Shown) -> str:
    sweep = shown.sweep
    if isinstance(sweep, AuditError):
        return f"No sweep over k: {sweep}"
    by_k = " · ".join(f"{k}% {interval.estimate:.2f}" for k, interval in zip(sweep.ks, sweep.auc_by_k, strict=True))
    return (
        f"AUC of {SCORES[shown.swept].label} by k: {by_k}. The k that separates best in one half of the texts "
        f"({sweep.chosen_k}%) has {_inline(sweep.chosen.held_out)} in the other."
    )


def _texts(read: ReadSets) -> list[str]:
    counts = count_sets(read.sets.snippets)
    lines = []
    for label in (Label.MEMBER, Label.NON_MEMBER):
        count = counts[label]
        lines.append(
            f"{label.value.capitalize()}s: {count.snippets:,} texts from {count.groups:,} works, {count.words:,} words,"
            f" SHA-256 {read.sets.digest_of(label)[:HEX_SHOWN]}…."
        )
    return lines


def _inline(interval: Interval) -> str:
    return f"{interval.estimate:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def _own(read: ReadSets, label: Label) -> Any:
    return read.sets.is_member == (label is Label.MEMBER)


def _method(method: MethodResult, found: Calibrated) -> dict[str, Any]:
    """One row of the table, with the numbers behind it; curves and single texts are for --table."""
    rate = method.threshold
    return {
        "label": SCORES[method.name].label,
        "verdict": method.verdict,
        "auc": method.findings.auc,
        "p": method.findings.p,
        "p_corrected": method.findings.p_corrected,
        "tpr_at_fpr": method.tpr_at,
        "unresolved": method.unresolved,
        "accuracy": rate.accuracy if rate else None,
        "threshold": rate.threshold if rate else None,
        "tpr": rate.tpr if rate else None,
        "fpr": rate.fpr if rate else None,
        "no_threshold": method.no_threshold,
        "words_alone": found.words.blind.auc,
        "difference": method.findings.over_blind,
        "adds_to_words_p": method.findings.adds_to_blind_p,
        "power": method.findings.power,
        "length": method.length,
    }
