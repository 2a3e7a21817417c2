"""The report on an unlearning audit, in the order in which a compliance reader looks for things."""

from __future__ import annotations

from auditlib.audits.unlearning.chunks import Role
from auditlib.core import ModelIdentity
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
from auditlib.reports.closing import closing, limits
from auditlib.reports.plain_words import GLOSSARY, WHAT_IT_CANNOT_SHOW, n_of, shortened
from auditlib.reports.unlearning_facts import ROLE_WORDS, UnlearningFacts, forgotten_sentence
from auditlib.reports.unlearning_results import results
from auditlib.scoring import SCORES

NOT_SHOWN = (
    "A model may still hold what none of these tests asks for: other passages, paraphrases, other languages.",
    "A ratio of scores near 1 marks chunks that both models read alike, also those that neither ever knew.",
    *WHAT_IT_CANNOT_SHOW[1:2],
    "Which works were learned, forgotten or never seen was given by the person who brought them, and is not tested.",
)
OWN_TERMS = (
    ("chunk", "A piece of a work of a fixed number of words, looked at as a whole."),
    ("completion", "What a model writes when it is given the beginning of a chunk."),
    ("cosine", "How alike two texts are in what they say, by a sentence model: 1 is the same, 0 nothing in common."),
    ("equivalence test", "Whether two numbers are shown to differ by less than a margin that was set before."),
    ("ROUGE-L", "The longest sequence of words, gaps allowed, that two texts share, as a share of their words."),
    ("suspicious", "Read about alike by both models: where unlearning may have failed."),
)


def unlearning_report(facts: UnlearningFacts) -> Report:
    """The whole report."""
    result = facts.result
    blocks = (
        *_summary(facts),
        PageBreak(),
        *_what(facts),
        *_how(facts),
        *results(facts),
        *limits((result.verdict.limits, *NOT_SHOWN)),
        Heading("Reproduction"),
        Parameters(
            (
                *((("Command", facts.command),) if facts.command else ()),
                ("Check the package", "python -m auditlib verify PACKAGE.zip"),
                ("Run", facts.run),
                ("Seed", str(result.settings.seed)),
            ),
            "Commands and seed",
            code=True,
        ),
        Parameters(tuple(facts.versions.items()), "Versions"),
        *closing(sorted({**dict(GLOSSARY), **dict(OWN_TERMS)}.items())),
    )
    subtitle = f"Unlearning audit of {shortened(result.unlearned.name)}"
    return Report(shortened(facts.name), subtitle, blocks, facts.made, facts.version)


def _summary(facts: UnlearningFacts) -> tuple[Block, ...]:
    result, verdict = facts.result, facts.result.verdict
    counts = [count for role in Role if (count := result.screening.count(role)) is not None]
    too_much: tuple[Block, ...] = ()
    if verdict.over_forgetting:
        too_much = (Paragraph("Too much was forgotten:"), Bullets(verdict.over_forgetting))
    never = shortened(result.reference.name) if result.reference else "none given"
    return (
        Heading("Summary"),
        Paragraph(
            f"The question: has the model {shortened(result.unlearned.name)} forgotten the works that it was made to "
            f"forget, which {shortened(result.original.name)} knew?"
        ),
        VerdictBlock(verdict.word.value, forgotten_sentence(verdict.word), verdict.reasons, None, verdict.limits),
        *too_much,
        Parameters(
            (
                ("Original model", shortened(result.original.name)),
                ("Unlearned model", shortened(result.unlearned.name)),
                ("Model that never saw the works", never),
                *(
                    (
                        ROLE_WORDS[count.role],
                        f"{n_of(count.n_chunks, 'chunk')}, {count.n_suspicious:,} read alike by both models "
                        f"({count.share.estimate:.0%}, {count.share.low:.0%} to {count.share.high:.0%})",
                    )
                    for count in counts
                ),
                ("Date", f"{facts.made.day} {facts.made:%B %Y, %H:%M %Z}"),
                ("Run by", facts.by or "not recorded"),
            )
        ),
    )


def _what(facts: UnlearningFacts) -> tuple[Block, ...]:
    result = facts.result
    models = [("Original", result.original), ("Unlearned", result.unlearned)]
    models += [("Never saw the works", result.reference)] if result.reference else []
    return (
        Heading("What was examined"),
        *(Parameters(_identity(identity), f"{what} model") for what, identity in models),
        Table(
            (Column("Work"), Column("Role"), Column("Chunks", numeric=True), Column("Text", "SHA-256")),
            tuple((shortened(work), role.value, n, sha) for work, role, n, sha in facts.works),
            "The works.",
        ),
        *([Bullets(result.notes)] if result.notes else []),
    )


def _how(facts: UnlearningFacts) -> tuple[Block, ...]:
    result = facts.result
    settings, score = result.settings, SCORES[result.settings.score]
    sampling = result.completions.sampling
    return (
        Heading("How it was examined"),
        Paragraph(
            f"Every work was cut into chunks of {settings.chunk_words:,} words, and each was read by the models. "
            f"{score.label}, {score.meaning[0].lower()}{score.meaning[1:]} A chunk whose score differs little between "
            "the original and the unlearned model is suspicious: there, unlearning may have failed."
        ),
        Paragraph(
            f"The unlearned model was then given the first {settings.prompt_words:,} words of chunks and wrote on, "
            f"{sampling.samples:,} times each, tokens drawn as likely as it finds them (temperature "
            f"{sampling.temperature:g}, top-p {sampling.top_p:g}, at most {sampling.max_new_tokens:,} tokens). What it "
            "wrote is compared with how the work goes on."
        ),
        Paragraph(
            "Last, the score was tried as a means to tell works apart that the model knew from works that it never "
            "saw: the original should tell the works to be forgotten from these, the unlearned model should not, and "
            "with works to be kept nothing should have changed. Intervals are at 95% and vary over "
            f"{result.forgetting.forgotten.unit}; a difference below {result.forgetting.margin:g} counts as none."
        ),
        Parameters(
            (
                ("Score", f"{score.label} ({score.unit})" + (f", k {settings.k:g}%" if "min_k" in score.name else "")),
                ("Window of ratios", f"{1 / settings.factor:.3f} to {settings.factor:.3f}"),
                ("Sentence model", result.completions.embedding or "none"),
                ("Judge", result.completions.panel.model or "none"),
                ("Alpha", f"{settings.alpha:g}"),
                ("Seed", str(settings.seed)),
            ),
            "Settings",
        ),
    )


def _identity(identity: ModelIdentity) -> tuple[tuple[str, str], ...]:
    return (
        ("Name", identity.name),
        ("Found at", identity.source),
        ("Adapter", identity.adapter or "none"),
        ("Number format", identity.dtype),
        ("SHA-256 of weights", identity.weights_sha256),
        ("SHA-256 of tokenizer", identity.tokenizer_sha256),
    )
