"""Plain text and Markdown, as a person typed or saved it."""

from __future__ import annotations

import codecs
from hashlib import sha256
from pathlib import PurePath

from auditlib.core import AuditError, Document

SUFFIXES = {".txt": "text/plain", ".md": "text/markdown"}
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
LONGEST_NAME = 80


def document_of(text: str, name: str, media_type: str = "text/plain") -> Document:
    """A document of text that is at hand; line ends become `\\n`."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    digest = sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()
    return Document(id=digest, title=name, text=text, media_type=media_type, source_name=name)


def read_file(name: str, data: bytes) -> Document:
    """The document in a file's bytes. Raises `AuditError` naming the file where it is not plain text."""
    shown = shown_name(name)
    suffix = PurePath(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise AuditError(
            f"{shown} is not of a kind that can be read here.",
            f"Save it as {' or '.join(SUFFIXES)} and try again.",
        )
    if not data.strip():
        raise AuditError(f"{shown} is empty.", "Choose another file.")
    encoding = next((e for mark, e in BYTE_ORDER_MARKS.items() if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise AuditError(
            f"{shown} is not UTF-8 text (byte {error.start + 1:,} does not fit).",
            "Save it as plain text in UTF-8 and try again.",
        ) from None
    if "\0" in text:
        raise AuditError(
            f"{shown} contains NUL characters, so it is probably not plain text.",
            "Save it as plain text in UTF-8 and try again.",
        )
    return document_of(text, shown, SUFFIXES[suffix])


def shown_name(name: str) -> str:
    """A file's name as it may be shown: one line, printable, not too long."""
    printable = "".join(c if c.isprintable() else "�" for c in name).strip() or "unnamed file"
    return printable if len(printable) <= LONGEST_NAME else printable[: LONGEST_NAME - 1] + "…"
