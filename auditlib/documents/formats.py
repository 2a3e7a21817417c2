"""Which format a file is in: its content decides, its name is only a promise."""

from __future__ import annotations

import re

from auditlib.core import AuditError
from auditlib.documents.archives import container_kind, open_archive
from auditlib.documents.decoding import looks_like_text
from auditlib.documents.names import suffix_of
from auditlib.documents.readers import SUFFIXES
from auditlib.documents.reading import Source
from auditlib.documents.refusals import no_text

# Each with its article, for sentences.
KIND_NAMES = {
    "text": "plain text",
    "html": "a web page",
    "epub": "an EPUB book",
    "pdf": "a PDF",
    "docx": "a Word document",
    "csv": "a CSV table",
    "tsv": "a TSV table",
    "jsonl": "a JSON Lines table",
    "parquet": "a Parquet table",
    "zip": "a zip archive",
}
_TEXT_KINDS = {"text", "html", "csv", "tsv", "jsonl"}
_ZIP_KINDS = {"zip", "epub", "docx"}

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # Word before 2007, and Word documents locked with a password
_ENCRYPTED_WORD = "EncryptedPackage".encode("utf-16-le")
_HTML_START = re.compile(
    rb"\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html[\s>])", re.I | re.S
)
_BYTE_MARK = b"\xef\xbb\xbf"
# Formats that people do bring, with what to do instead.
_REFUSED = (
    (b"{\\rtf", "an RTF document", "Save it as .docx and bring that."),
    (b"\x89PNG", "a picture", "Run it through text recognition (OCR) and bring the text."),
    (b"\xff\xd8\xff", "a picture", "Run it through text recognition (OCR) and bring the text."),
    (b"GIF8", "a picture", "Run it through text recognition (OCR) and bring the text."),
    (b"\x1f\x8b", "a gzip archive", "Unpack it and bring the files, or a .zip of them."),
    (b"BZh", "a bzip2 archive", "Unpack it and bring the files, or a .zip of them."),
    (b"\xfd7zXZ", "an xz archive", "Unpack it and bring the files, or a .zip of them."),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "Unpack it and bring the files, or a .zip of them."),
    (b"Rar!", "a RAR archive", "Unpack it and bring the files, or a .zip of them."),
)


def supported_suffixes() -> tuple[str, ...]:
    """The file name endings that can be read, with their dots."""
    return tuple(SUFFIXES)


def kind_of(source: Source) -> tuple[str, tuple[str, ...]]:
    """The format of a file, and a warning where its name says another. Raises `AuditError`."""
    if not source.data:
        raise no_text(source.name)
    suffix = suffix_of(source.name)
    promised = SUFFIXES.get(suffix)
    found = _kind_by_content(source, promised)
    if found is None:  # text: only the name can say which kind
        if promised in _TEXT_KINDS:
            is_page = promised == "text" and _HTML_START.match(source.data[:4096].removeprefix(_BYTE_MARK))
            found = "html" if is_page else promised
        elif promised is None:
            raise _unsupported(source.name)
        else:
            raise _not_as_named(source.name, suffix)
    if found == promised:
        return found, ()
    return found, (f"The file is named {suffix or 'without an ending'} but is {KIND_NAMES[found]}, and is read so.",)


def _kind_by_content(source: Source, promised: str | None) -> str | None:
    """The format that the first bytes give away, or None for text."""
    data = source.data
    at_start = data[:1024] if promised == "pdf" else data[:8].lstrip()  # some PDFs begin with a mail's header
    if b"%PDF-" in at_start:
        return "pdf"
    if data.startswith(b"PAR1"):
        return "parquet"
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _container(source, promised)
    if data.startswith(_OLE):
        raise _old_word(source)
    for start, what, remedy in _REFUSED:
        if data.startswith(start):
            raise AuditError(f"“{source.name}” is {what}, which cannot be read.", remedy)
    if looks_like_text(data):
        return None
    if promised is None:
        raise _unsupported(source.name)
    if promised not in _TEXT_KINDS:
        raise _not_as_named(source.name, suffix_of(source.name))
    return None  # the decoder says what is wrong with it


def _container(source: Source, promised: str | None) -> str:
    as_named = KIND_NAMES[promised] if promised in _ZIP_KINDS and promised else KIND_NAMES["zip"]
    with open_archive(source.data, source.name, as_named) as archive:
        kind = container_kind(archive)
    if kind == "office":
        raise AuditError(
            f"“{source.name}” is an Office file that is no Word document.",
            "Save a text as .docx, or a table as .csv, and bring that.",
        )
    # An EPUB or Word file whose parts are missing is a broken book, not an archive of books.
    return promised if kind == "zip" and promised in ("epub", "docx") else kind


def _old_word(source: Source) -> AuditError:
    if _ENCRYPTED_WORD in source.data:
        return AuditError(
            f"“{source.name}” is locked with a password.", "Remove the password in Word and bring it again."
        )
    return AuditError(f"“{source.name}” is in an Office format from before 2007.", "Save it as .docx and bring that.")


def _unsupported(name: str) -> AuditError:
    return AuditError(
        f"“{name}” is in no format that can be read.",
        f"Bring one of these: {', '.join(supported_suffixes())}.",
    )


def _not_as_named(name: str, suffix: str) -> AuditError:
    promised = KIND_NAMES[SUFFIXES[suffix]]
    return AuditError(
        f"“{name}” is named {suffix} but is not {promised}, or is damaged.",
        "Give it the ending that fits its content, or bring another copy.",
    )
