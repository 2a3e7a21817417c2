"""EPUB 2 and 3: the chapters in the order of the spine.

https://www.w3.org/TR/epub-33/ : META-INF/container.xml names the package document; its manifest names the
chapters, its spine puts them in order.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote
from zipfile import ZipFile

from auditlib.core import AuditError
from auditlib.documents.archives import find_entry, open_archive, read_entry
from auditlib.documents.limits import MARKUP_BYTES, TEXT_CHARACTERS
from auditlib.documents.markup import local_name, page_text, parse_page, parse_xml
from auditlib.documents.names import display_name, title_from, year_of
from auditlib.documents.reading import Reading, Source
from auditlib.documents.refusals import HostileFileError, damaged, no_text, too_much_text

MEDIA_TYPE = "application/epub+zip"
KIND = "an EPUB book"
MOST_AUTHORS = 5

# Fonts may be scrambled in books that anyone may read (EPUB 3.3, section 4.4, and Adobe's older way).
_FONT_SCRAMBLING = {"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"}


def read_epub(source: Source) -> Iterator[Reading]:
    """The book as one text, with its title from the package document.

    A chapter that is missing or broken is left out and named in a warning; a book with none left is refused.
    """
    with open_archive(source.data, source.name, KIND) as archive:
        _refuse_locked(archive, source.name)
        package_path = _package_path(archive, source.name)
        package = _xml_part(archive, package_path, source.name)
        chapters, warnings, length = [], [], 0
        for path in _spine(package, package_path):
            try:
                text = _chapter(archive, path, source.name)
            except HostileFileError:
                raise
            except AuditError:
                warnings.append(f"A chapter could not be read and is left out: {display_name(path)}.")
                continue
            length += len(text)
            if length > TEXT_CHARACTERS:
                raise too_much_text(source.name, TEXT_CHARACTERS)
            chapters.append(text)
    if not chapters:
        raise damaged(source.name, KIND)
    if length == 0:
        raise no_text(source.name)
    title = next(iter(_said(package, "title")), "")
    authors = _said(package, "creator")
    years = [year for date in _said(package, "date") if (year := year_of(date)) is not None]
    yield Reading(
        "\n\n".join(chapter for chapter in chapters if chapter),
        display_name(title) if title else title_from(source.name),
        MEDIA_TYPE,
        tuple(warnings),
        author=display_name(", ".join(authors[:MOST_AUTHORS])) if authors else "",
        year=min(years, default=None),  # later ones are of reprints and conversions
    )


def _refuse_locked(archive: ZipFile, name: str) -> None:
    locked = AuditError(
        f"“{name}” is protected by DRM: its text is encrypted.", "Bring an edition without copy protection."
    )
    if find_entry(archive, "META-INF/sinf.xml") is not None:  # Apple's
        raise locked
    if find_entry(archive, "META-INF/encryption.xml") is None:
        return
    for element in _xml_part(archive, "META-INF/encryption.xml", name).iter():
        if local_name(element) != "encrypteddata":
            continue
        methods = {part.get("Algorithm") for part in element.iterchildren() if local_name(part) == "encryptionmethod"}
        if not methods or not methods <= _FONT_SCRAMBLING:
            raise locked


def _package_path(archive: ZipFile, name: str) -> str:
    for element in _xml_part(archive, "META-INF/container.xml", name).iter():
        if local_name(element) == "rootfile" and element.get("full-path"):
            return str(element.get("full-path"))
    raise damaged(name, KIND)


def _spine(package: Any, package_path: str) -> list[str]:
    """Paths of the chapters inside the archive, in reading order."""
    hrefs = {}
    order = []
    for element in package.iter():
        tag = local_name(element)
        if tag == "item" and element.get("id") and element.get("href"):
            hrefs[element.get("id")] = element.get("href")
        elif tag == "itemref":
            order.append(element.get("idref"))
    folder = posixpath.dirname(package_path)
    paths = [
        posixpath.normpath(posixpath.join(folder, unquote(hrefs[key].partition("#")[0])))
        for key in order
        if key in hrefs
    ]
    # A spine that names one chapter ten thousand times would swell it as often.
    return list(dict.fromkeys(paths))


def _chapter(archive: ZipFile, path: str, name: str) -> str:
    entry = find_entry(archive, path)
    if entry is None:
        raise damaged(name, KIND)
    root = parse_page(read_entry(archive, entry, name, KIND, MARKUP_BYTES), name)
    return "" if root is None else page_text(root)


def _said(package: Any, name: str) -> list[str]:
    """What the package document says of the book under one name of the Dublin Core, in its order."""
    found = (" ".join("".join(part.itertext()).split()) for part in package.iter() if local_name(part) == name)
    return [value for value in found if value]


def _xml_part(archive: ZipFile, path: str, name: str) -> Any:
    entry = find_entry(archive, path)
    if entry is None:
        raise damaged(name, KIND)
    return parse_xml(read_entry(archive, entry, name, KIND, MARKUP_BYTES), name, KIND)
