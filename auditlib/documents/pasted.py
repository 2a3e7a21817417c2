"""Text that is at hand already, taken exactly as it is."""

from __future__ import annotations

from hashlib import sha256

from auditlib.core import Document


def pasted_document(text: str, title: str = "The pasted text") -> Document:
    """A document of `text` as it stands, but for line ends, which become `\\n`. Nothing is cleaned."""
    even = text.replace("\r\n", "\n").replace("\r", "\n")
    digest = sha256(even.encode("utf-8", errors="surrogatepass")).hexdigest()
    return Document(id=digest, title=title, text=even, media_type="text/plain", source_name=title, group=title)
