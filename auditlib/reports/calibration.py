"""The report on a calibration, in the order in which a compliance reader looks for things."""

from __future__ import annotations

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
    Table,
    VerdictBlock,
)
from auditlib.reports.calibration_facts import CalibrationFacts, Preparation, SetFacts
from auditlib.reports.calibration_results import results
from auditlib.reports.closing import closing, limits
from auditlib.reports.figures import (
    length_histogram,
)
from auditlib.reports.plain_words import (
    GLOSSARY,
    WHAT_IT_CANNOT_SHOW,
    cutting_in_words,
    interval_text,
    n_of,
    shortened,
    verdict_sentence,
)
from auditlib.scoring import SCORES

MOST_WORKS = 60  # rows of the table of works; the evidence package names all


def calibration_report(facts: CalibrationFacts) -> Report:
    """The whole report."""
    blocks = (
        *_summary(facts),
        PageBreak(),
        *_what(facts),
        *_how(facts),
        *results(facts),
        *_quotations(facts),
        *limits(WHAT_IT_CANNOT_SHOW),
        *_reproduction(facts),
        *closing(GLOSSARY),
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
    again = (("Repeat it", facts.command),) if facts.command else ()
    link = (("Open it again", f"calibrate?run={facts.run}"),) if facts.run else ()
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
                *link,
                ("Seed", str(facts.found.seed)),
            ),
            "Commands and seed",
            code=True,
        ),
        *([] if facts.preparation is None else [_preparation(facts.preparation)]),
        Parameters(tuple(facts.versions.items()), "Versions"),
    )


def _preparation(how: Preparation) -> Parameters:
    sources = {"documents": "documents of the workspace", "files": "files", "demo": "the program's own demonstration"}
    return Parameters(
        (
            ("Texts from", sources.get(how.texts, how.texts)),
            *(("Cleaned by", ", ".join(steps) or "nothing: read as they stand") for steps in how.steps),
            ("Cut into", cutting_in_words(how.cutting)),
            (
                "Shared passages",
                "texts that share passages with others were left out" if how.drop_shared else "nothing was left out",
            ),
        ),
        "From the files to what the model read",
    )


def _set_in_words(own: SetFacts) -> str:
    return f"{n_of(own.texts, f'known {own.label.value}')} of {n_of(own.groups, 'work')} ({own.words:,} words)"
