"""How every report ends: what it cannot show, what its words mean, who stands on it."""

from __future__ import annotations

from collections.abc import Iterable

from auditlib.reports.blocks import Block, Bullets, Heading, Paragraph, Parameters, Signatures


def limits(sentences: Iterable[str]) -> tuple[Block, ...]:
    """What the report cannot show."""
    return (
        Heading("Limits"),
        Paragraph("What this report cannot show, however strong its numbers:"),
        Bullets(tuple(sentences)),
    )


def closing(glossary: Iterable[tuple[str, str]]) -> tuple[Block, ...]:
    """Glossary and sign-off lines."""
    return (
        Heading("Glossary"),
        Parameters(tuple(glossary)),
        Heading("Sign-off"),
        Paragraph("The undersigned have read this report and its limits."),
        Signatures(("Prepared by", "Checked by", "Approved by", "Received by")),
    )
