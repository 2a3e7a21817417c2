"""Word documents (.docx): the paragraphs of the body in order, tables and text boxes where they stand.

Read from the XML itself (ECMA-376, part 1, section 17): deleted text of tracked changes is left out, inserted
text is in; headers, footers and notes live in other parts and are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from zipfile import ZipFile

from lxml import etree

from auditlib.documents.archives import find_entry, open_archive, read_entry
from auditlib.documents.limits import MARKUP_BYTES
from auditlib.documents.markup import local_name, parse_xml
from auditlib.documents.names import display_name, title_from
from auditlib.documents.reading import Reading, Source
from auditlib.documents.refusals import damaged

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
KIND = "a Word document"

# Deleted and moved-away text; and the copy of each text box that is kept for old programs.
_SKIPPED = {"del", "movefrom", "fallback"}
_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "nobreakhyphen": "-", "softhyphen": "\u00ad"}


def read_docx(source: Source) -> Iterator[Reading]:
    """The document as one text; its title is the one in its properties, or the file name."""
    with open_archive(source.data, source.name, KIND) as archive:
        body = _part(archive, "word/document.xml", source.name)
        if body is None:
            raise damaged(source.name, KIND)
        properties = _part(archive, "docProps/core.xml", source.name)
    title = "" if properties is None else _title(properties)
    yield Reading(_body_text(body), display_name(title) if title else title_from(source.name), MEDIA_TYPE)


def _body_text(body: Any) -> str:
    pieces: list[str] = []
    walker = etree.iterwalk(body, events=("start", "end"))
    for event, element in walker:
        tag = local_name(element)
        if event == "end":
            if tag == "p":
                pieces.append("\n\n")
        elif tag in _SKIPPED or (tag == "ppr"):
            walker.skip_subtree()
        elif tag == "t":
            pieces.append(element.text or "")
        elif tag in _CHARACTERS:
            pieces.append(_CHARACTERS[tag])
    return "".join(pieces).strip("\n")


def _part(archive: ZipFile, path: str, name: str) -> Any | None:
    entry = find_entry(archive, path)
    if entry is None:
        return None
    return parse_xml(read_entry(archive, entry, name, KIND, MARKUP_BYTES), name, KIND)


def _title(properties: Any) -> str:
    for element in properties.iter():
        if local_name(element) == "title":
            return " ".join((element.text or "").split())
    return ""
