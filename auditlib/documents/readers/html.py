"""Web pages: the words that a browser would show."""

from __future__ import annotations

from collections.abc import Iterator

from auditlib.documents.markup import page_text, page_title, parse_page
from auditlib.documents.names import display_name, title_from
from auditlib.documents.reading import Reading, Source
from auditlib.documents.refusals import no_text

MEDIA_TYPE = "text/html"


def read_html(source: Source) -> Iterator[Reading]:
    """The page as one text; its title is the page's own, or the file name."""
    root = parse_page(source.data, source.name)
    if root is None:
        raise no_text(source.name)
    title = page_title(root)
    yield Reading(page_text(root), display_name(title) if title else title_from(source.name), MEDIA_TYPE)
