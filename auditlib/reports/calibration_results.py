"""The results of a calibration's report: all scores side by side, one of them in detail, and what must find nothing."""

from __future__ import annotations

import numpy as np

from auditlib.audits.calibration import MethodResult
from auditlib.evidence import Interval, Roc, roc
from auditlib.reports.blocks import Block, Column, Figure, Heading, Paragraph, Parameters, Table
from auditlib.reports.calibration_facts import CalibrationFacts
from auditlib.reports.figures import auc_by_method, k_sweep_figure, roc_figure, roc_log_figure, score_histogram
from auditlib.reports.plain_words import interval_text, n_of, number_text, p_text
from auditlib.scoring import SCORES

WORDS_ALONE = "words alone"


def results(facts: CalibrationFacts) -> tuple[Block, ...]:
    """The whole section."""
    methods = facts.found.methods
    blind = facts.found.words.blind.auc
    aucs = {SCORES[name].label: method.findings.auc for name, method in methods.items()}
    return (
        Heading("Results"),
        Heading("All scores side by side", 2),
        Figure(
            auc_by_method(aucs, blind, facts.score_label),
            "How well each score separates the two sets; the score of the summary is filled.",
            "; ".join(f"{name}: {interval_text(auc)}" for name, auc in (aucs | {WORDS_ALONE: blind}).items()) + ".",
        ),
        Table(
            (
                Column("Score"),
                Column("AUC", "95% interval", numeric=True),
                Column("p", "corrected", numeric=True),
                Column("Over the words", "AUC, 95% interval", numeric=True),
                Column("Accuracy", "out of fold", numeric=True),
                Column("With length", "Spearman ρ", numeric=True, form=".2f"),
                Column("Verdict"),
            ),
            tuple(_method_row(name, method) for name, method in methods.items()),
            f"Every score on {n_of(len(facts.is_member), 'text')}.",
            "Over the words: the score's AUC less that of the words alone. Out of fold: by thresholds that were "
            "chosen without the texts they judge.",
        ),
        *_chosen(facts),
        *_checks(facts),
    )


def _chosen(facts: CalibrationFacts) -> tuple[Block, ...]:
    result, label, rate = facts.result, facts.score_label, facts.result.threshold
    curves = {label: result.roc, WORDS_ALONE: roc(facts.is_member, facts.found.words.blind.scores)}
    medians = [float(np.median(result.scores[side])) for side in (facts.is_member, ~facts.is_member)]
    calls: tuple[Block, ...] = (Paragraph(result.no_threshold),)
    if rate is not None:
        calls = (
            Paragraph(
                f"With the threshold {number_text(rate.threshold)}, {_percent(rate.accuracy)} of texts outside its "
                f"choice are called right; {_percent(rate.tpr)} of members and {_percent(rate.fpr)} of non-members are "
                "called members."
            ),
        )
    return (
        Heading(f"{label} in detail", 2),
        Figure(
            score_histogram(
                result.scores,
                facts.is_member,
                f"{label} ({SCORES[facts.chosen].unit})",
                rate.threshold if rate else None,
            ),
            f"{label} of members and of non-members. Where they overlap, one text's score says little.",
            f"Half of the members score {number_text(medians[0])} or more, half of the non-members "
            f"{number_text(medians[1])} or more.",
        ),
        *calls,
        Figure(
            roc_figure(curves),
            f"For every threshold: members found, against non-members called members. {label} and the words alone.",
            " ".join(_curve_in_words(name, curve, (0.05, 0.2)) for name, curve in curves.items()),
        ),
        Figure(
            roc_log_figure(curves),
            "The same on logarithmic axes, which show the low false-positive rates.",
            " ".join(_curve_in_words(name, curve, (0.01, 0.05)) for name, curve in curves.items()),
        ),
        Table(
            (
                Column("False-positive rate", "asked for"),
                Column("Realised", "95% interval", numeric=True),
                Column("True-positive rate", "95% interval", numeric=True),
                Column("Judged on", numeric=True),
            ),
            tuple(
                (
                    f"{fpr:.0%}",
                    _percent(at.fpr) if at else None,
                    _percent(at.tpr) if at else None,
                    f"{n_of(at.n_members, 'member')}, {n_of(at.n_non_members, 'non-member')}" if at else None,
                )
                for fpr, at in result.tpr_at.items()
            ),
            "Members found at a low false-positive rate: threshold from one half of the texts, both rates from the "
            "other half.",
            " ".join(result.unresolved.values()),
        ),
    )


def _checks(facts: CalibrationFacts) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if facts.sweep is not None:
        sweep, held_out = facts.sweep, facts.sweep.chosen.held_out
        aucs = "; ".join(f"k {k}%: {auc.estimate:.2f}" for k, auc in zip(sweep.ks, sweep.auc_by_k, strict=True))
        blocks += [
            Figure(
                k_sweep_figure(sweep.ks, sweep.auc_by_k, sweep.chosen_k),
                f"How the separation depends on k. The k that was best in one half of the texts, {sweep.chosen_k}%, "
                f"has an AUC of {interval_text(held_out)} in the other half.",
                f"AUC by k: {aucs}.",
            )
        ]
    if facts.length_classes:
        blocks += [
            Table(
                (
                    Column("Length", "words"),
                    Column("Members", numeric=True),
                    Column("Non-members", numeric=True),
                    Column("AUC", "95% interval", numeric=True),
                ),
                tuple(
                    (
                        f"{c.low:,}" if c.low == c.high else f"{c.low:,} to {c.high:,}",
                        c.n_members,
                        c.n_non_members,
                        interval_text(c.auc),
                    )
                    for c in facts.length_classes
                ),
                f"{facts.score_label} among texts of about one length.",
            )
        ]
    if facts.nulls is not None:
        nulls = facts.nulls
        blocks += [
            Heading("Runs that must find nothing", 2),
            Paragraph("If either of these found something, this audit would be at fault, and not the model."),
            Parameters(
                (
                    (
                        "Labels turned round",
                        f"AUC {interval_text(nulls.reversed_auc)}, verdict {nulls.reversed_verdict.value}; it must not "
                        "be supported",
                    ),
                    (
                        "Non-members against non-members",
                        f"AUC {interval_text(nulls.a_a)}; the interval should hold 0.50, and fails to in one of twenty "
                        "runs by chance"
                        if nulls.a_a
                        else nulls.a_a_missing,
                    ),
                )
            ),
        ]
    return tuple(blocks)


def _method_row(name: str, method: MethodResult) -> tuple[str | float | None, ...]:
    found = method.findings
    return (
        SCORES[name].label,
        interval_text(found.auc),
        p_text(found.p_corrected),
        interval_text(found.over_blind, "+.2f") if found.over_blind else None,
        _percent(method.threshold.accuracy) if method.threshold else None,
        method.length.rho,
        method.verdict.word.value,
    )


def _percent(share: Interval) -> str:
    return f"{share.estimate:.0%} ({share.low:.0%} to {share.high:.0%})"


def _curve_in_words(name: str, curve: Roc, fprs: tuple[float, ...]) -> str:
    found = [f"{curve.tpr[curve.fpr <= fpr].max():.0%} of members at {fpr:.0%} of non-members" for fpr in fprs]
    return f"{name}: {', '.join(found)}."
