"""PDF: the text of each page, by PDFium, the reader inside Chromium.

PDFium is native code fed with strangers' files, so this runs only in the worker process (worker.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pypdfium2
from pypdfium2 import raw as pdfium

from auditlib.core import AuditError
from auditlib.documents.limits import TEXT_CHARACTERS
from auditlib.documents.names import display_name, title_from
from auditlib.documents.reading import Reading, Source
from auditlib.documents.refusals import damaged, no_text, too_much_text

MEDIA_TYPE = "application/pdf"
KIND = "a PDF"
MOST_PAGES = 20_000
PAGE_BREAK = "\f"

# A page with fewer letters than this holds at most a page number or a stamp.
_FEW_CHARACTERS = 20
# PDFium writes one character for the hyphen at the end of a line and its line break. Joining the word is
# for a cleaning step to do, where it is seen and can be switched off.
_LINE_HYPHENS = str.maketrans({"\x02": "-\n", "\ufffe": "-\n"})


def read_pdf(source: Source) -> Iterator[Reading]:
    """The document as one text, its pages apart by form feeds.

    A PDF whose pages are pictures is refused as scanned; single such pages are counted in a warning.
    """
    document = _opened(source)
    try:
        if len(document) > MOST_PAGES:
            raise AuditError(
                f"“{source.name}” has {len(document):,} pages, more than the {MOST_PAGES:,} allowed.",
                "Split it into smaller files.",
            )
        pages: list[str] = []
        pictures = broken = length = 0
        for number in range(len(document)):
            try:
                text, is_picture = _page(document, number)
            except pypdfium2.PdfiumError:
                broken += 1
                continue
            pictures += is_picture
            length += len(text)
            if length > TEXT_CHARACTERS:
                raise too_much_text(source.name, TEXT_CHARACTERS)
            pages.append(text)
        title = str(document.get_metadata_value("Title") or "")
        locked = pdfium.FPDF_GetSecurityHandlerRevision(document.raw) >= 0
    finally:
        document.close()
    if not pages:
        raise damaged(source.name, KIND)
    if pictures * 2 > len(pages) or (pictures and not any(page.strip() for page in pages)):
        raise AuditError(
            f"“{source.name}” is scanned: {pictures:,} of its {len(pages):,} pages are pictures, not text.",
            "Run it through text recognition (OCR) and bring the result, or bring another edition.",
        )
    if not any(page.strip() for page in pages):
        raise no_text(source.name)
    warnings = _warnings(pictures, broken, len(pages), locked)
    title = display_name(title) if title.strip() else title_from(source.name)
    yield Reading(PAGE_BREAK.join(pages), title, MEDIA_TYPE, warnings)


def _opened(source: Source) -> Any:
    try:
        return pypdfium2.PdfDocument(source.data)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY):
            raise AuditError(
                f"“{source.name}” is an encrypted PDF: it opens only with a password.",
                "Remove the password in a PDF program and bring it again.",
            ) from error
        raise damaged(source.name, KIND) from error


def _page(document: Any, number: int) -> tuple[str, bool]:
    """The text of one page, and whether it is a picture with no text to speak of."""
    page = document[number]
    try:
        text_page = page.get_textpage()
        try:
            text = text_page.get_text_range(errors="replace") if text_page.count_chars() > 0 else ""
        finally:
            text_page.close()
        # PDFium leaves nothing of a form feed in a text worth keeping, and it is our page break.
        text = text.replace("\r\n", "\n").replace(PAGE_BREAK, "\n").translate(_LINE_HYPHENS).strip("\n")
        is_picture = len("".join(text.split())) < _FEW_CHARACTERS and any(
            True for _ in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3)
        )
    finally:
        page.close()
    return text, is_picture


def _warnings(pictures: int, broken: int, read: int, locked: bool) -> tuple[str, ...]:
    said = []
    if pictures:
        said.append(f"{pictures:,} of {read:,} pages are pictures without text and are missing here.")
    if broken:
        said.append(f"{broken:,} pages are damaged and are missing here.")
    if locked:
        said.append("The PDF is locked against changes or copying; its publisher may not want its text extracted.")
    return tuple(said)
