"""The report on a calibration, in the order in which a compliance reader looks for things."""

from __future__ import annotations

import numpy as np

from auditlib.audits.calibration import MethodResult
from auditlib.evidence import Interval, Roc, roc
from auditlib.reports.blocks import (
    Block,
    Bullets,
    Column,
    Figure,
    Heading,
    PageBreak,
    Paragraph,
    Parameters,
    Report,
    Signatures,
    Table,
    VerdictBlock,
)
from auditlib.reports.calibration_facts import CalibrationFacts, SetFacts
from auditlib.reports.figures import (
    auc_by_method,
    k_sweep_figure,
    length_histogram,
    roc_figure,
    roc_log_figure,
    score_histogram,
)
from auditlib.reports.plain_words import (
    GLOSSARY,
    WHAT_IT_CANNOT_SHOW,
    interval_text,
    n_of,
    number_text,
    p_text,
    shortened,
    verdict_sentence,
)
from auditlib.scoring import SCORES

MOST_WORKS = 60  # rows of the table of works; the evidence package names all
WORDS_ALONE = "words alone"


def calibration_report(facts: CalibrationFacts) -> Report:
    """The whole report."""
    blocks = (
        *_summary(facts),
        PageBreak(),
        *_what(facts),
        *_how(facts),
        *_results(facts),
        *_quotations(facts),
        Heading("Limits"),
        Paragraph("What this report cannot show, however strong its numbers:"),
        Bullets(WHAT_IT_CANNOT_SHOW),
        *_reproduction(facts),
        Heading("Glossary"),
        Parameters(GLOSSARY),
        Heading("Sign-off"),
        Paragraph("The undersigned have read this report and its limits."),
        Signatures(("Prepared by", "Checked by", "Approved by", "Received by")),
    )
    subtitle = f"Calibration of {facts.score_label} on {shortened(facts.model.name)}"
    return Report(shortened(facts.name), subtitle, blocks, facts.made, facts.version)


def _summary(facts: CalibrationFacts) -> tuple[Block, ...]:
    verdict, auc = facts.result.verdict, facts.result.findings.auc
    members, others = facts.sets
    return (
        Heading("Summary"),
        Paragraph(
            f"The question: on texts of this kind, does the score {facts.score_label} tell those that the model "
            f"{shortened(facts.model.name)} was trained on from those that it was not?"
        ),
        VerdictBlock.of(verdict, verdict_sentence(verdict.word, facts.score_label)),
        Parameters(
            (
                ("Model", shortened(facts.model.name)),
                ("Material", f"{_set_in_words(members)}; {_set_in_words(others)}"),
                (
                    "Separation",
                    f"AUC {auc.estimate:.2f}, {auc.level:.0%} interval {auc.low:.2f} to {auc.high:.2f} (0.5 is chance)",
                ),
                ("Words alone", f"AUC {interval_text(facts.found.words.blind.auc)}, with no model"),
                ("Date", f"{facts.made.day} {facts.made:%B %Y, %H:%M %Z}"),
                ("Run by", facts.by or "not recorded"),
            )
        ),
    )


def _what(facts: CalibrationFacts) -> tuple[Block, ...]:
    works = facts.works[:MOST_WORKS]
    left_out = len(facts.works) - len(works)
    blocks: list[Block] = [
        Heading("What was examined"),
        Parameters(
            (
                ("Model", facts.model.name),
                ("Found at", facts.model.source),
                ("Revision", facts.model.revision or "files on this machine"),
                ("Adapter", facts.model.adapter or "none"),
                ("Number format", facts.model.dtype),
                ("Read with", facts.model.backend),
                ("SHA-256 of weights", facts.model.weights_sha256),
                ("SHA-256 of configuration", facts.model.config_sha256),
                ("SHA-256 of tokenizer", facts.model.tokenizer_sha256),
            ),
            "The model",
        ),
        Heading("The texts", 2),
        Table(
            (
                Column("Set"),
                Column("Texts", numeric=True),
                Column("Works", numeric=True),
                Column("Words", numeric=True),
                Column("Tokens", numeric=True),
                Column("Over all its texts", "SHA-256"),
            ),
            tuple((f"{s.label.value}s", s.texts, s.groups, s.words, s.tokens, s.sha256) for s in facts.sets),
            "The two sets of texts whose origin is known.",
        ),
    ]
    if facts.notes:
        blocks += [Paragraph("Before the model read them:"), Bullets(facts.notes)]
    lengths = facts.found.words.lengths
    blocks += [
        Figure(
            length_histogram(facts.n_words, facts.is_member),
            "Lengths of the texts of both sets.",
            f"Members: a quarter up to {lengths.member_quartiles[0]:,.0f} words, half up to "
            f"{lengths.member_quartiles[1]:,.0f}, three quarters up to {lengths.member_quartiles[2]:,.0f}. "
            f"Non-members: {lengths.non_member_quartiles[0]:,.0f}, {lengths.non_member_quartiles[1]:,.0f} and "
            f"{lengths.non_member_quartiles[2]:,.0f}.",
        ),
        Paragraph(lengths.reason),
        Table(
            (
                Column("Work"),
                Column("Set"),
                Column("Texts", numeric=True),
                Column("Words", numeric=True),
                Column("Text", "SHA-256"),
            ),
            tuple((shortened(w.title), w.label.value, w.texts, w.words, w.sha256) for w in works),
            "Works that the texts are taken from.",
            f"{left_out:,} more works are named in inputs.json of the evidence package." if left_out else "",
        ),
    ]
    return tuple(blocks)


def _how(facts: CalibrationFacts) -> tuple[Block, ...]:
    score, found = SCORES[facts.chosen], facts.found
    blind = found.words.blind
    rule = "the best accuracy" if found.rule == "accuracy" else f"a false-positive rate of {found.rule:.3g}"
    return (
        Heading("How it was examined"),
        Paragraph(
            "A language model gives every token of a text a probability, given the tokens before it. A text that it "
            "was trained on tends to hold few tokens that surprise it. Each text was passed through the model, and "
            "each score below is one number computed from these probabilities. A score is then tried on texts whose "
            "origin is known: the better it tells them apart, the more it can say about others."
        ),
        Paragraph(f"{score.label}, the score that the summary is about: {score.meaning} {score.direction}"),
        Paragraph(
            "Sets can differ in their words alone, because of their topics or their years. A blind baseline therefore "
            f"tries to tell the same texts apart with no model, from {blind.n_features:,} words, letter sequences, "
            f"lengths and years; it reaches an AUC of {interval_text(blind.auc)}. A score counts only for what it "
            "adds to that."
        ),
        Paragraph(
            "Pieces of one work are kept together whenever texts are split or drawn. Thresholds are judged on texts "
            f"that had no part in choosing them. Every interval is at {facts.result.findings.auc.level:.0%}."
        ),
        Parameters(
            (
                ("Score", f"{score.label} ({score.unit})"),
                ("k", f"{found.k:g}% of tokens"),
                ("Scores looked at", ", ".join(SCORES[name].label for name in found.methods)),
                ("Alpha", f"{found.alpha:g}, after correction for {n_of(len(found.methods), 'score')}"),
                ("Threshold chosen for", rule),
                ("Seed", str(found.seed)),
            ),
            "Settings",
        ),
        *(
            [Bullets(tuple(f"{SCORES[name].label} was not used. {why}" for name, why in found.unavailable.items()))]
            if found.unavailable
            else []
        ),
    )


def _results(facts: CalibrationFacts) -> tuple[Block, ...]:
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


def _quotations(facts: CalibrationFacts) -> tuple[Block, ...]:
    blocks: list[Block] = [Heading("Quotations"), *facts.quotations]
    if not facts.quotations:
        blocks += [Paragraph("No passage of the examined texts is quoted in this report.")]
    if facts.show_words:
        strongest = facts.found.words.blind.strongest
        blocks += [
            Table(
                (Column("Word or property"), Column("Points to"), Column("Weight", numeric=True, form="+.2f")),
                tuple((t.name, "members" if t.weight > 0 else "non-members", t.weight) for t in strongest),
                "What tells the two sets apart most, with no model.",
            )
        ]
    return tuple(blocks)


def _reproduction(facts: CalibrationFacts) -> tuple[Block, ...]:
    again = (("Command", facts.command),) if facts.command else ()
    return (
        Heading("Reproduction"),
        Paragraph(
            "The same texts, model, settings and seed give the same numbers. The evidence package that goes with this "
            "report holds every score as a table, the settings, and fingerprints of all that was examined. Its file "
            "MANIFEST.sha256 names the SHA-256 of each file, this report among them."
        ),
        Parameters(
            (
                *again,
                ("Check the package", "python -m auditlib verify PACKAGE.zip"),
                ("Seed", str(facts.found.seed)),
            ),
            "Commands and seed",
            code=True,
        ),
        Parameters(tuple(facts.versions.items()), "Versions"),
    )


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


def _set_in_words(own: SetFacts) -> str:
    return f"{n_of(own.texts, f'known {own.label.value}')} of {n_of(own.groups, 'work')} ({own.words:,} words)"


def _percent(share: Interval) -> str:
    return f"{share.estimate:.0%} ({share.low:.0%} to {share.high:.0%})"


def _curve_in_words(name: str, curve: Roc, fprs: tuple[float, ...]) -> str:
    found = [f"{curve.tpr[curve.fpr <= fpr].max():.0%} of members at {fpr:.0%} of non-members" for fpr in fprs]
    return f"{name}: {', '.join(found)}."
