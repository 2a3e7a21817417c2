"""Plain text and Markdown: taken as they are, once their encoding is known."""

from __future__ import annotations

from collections.abc import Iterator

from auditlib.documents.decoding import decode
from auditlib.documents.names import title_from
from auditlib.documents.reading import Reading, Source

MEDIA_TYPE = "text/plain"


def read_text(source: Source) -> Iterator[Reading]:
    """The whole file as one text. Markdown keeps its marks: models are trained on them too."""
    decoded = decode(source.data, source.name)
    yield Reading(decoded.text, title_from(source.name), MEDIA_TYPE, decoded.warnings)
