"""Bytes to characters: which encoding a text is in, found from the bytes and what they declare."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from charset_normalizer import from_bytes

from auditlib.core import AuditError

_MARKS = (  # UTF-32 before UTF-16: its little-endian mark begins with the other's
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 65_536  # bytes from which an old encoding is guessed
# Encodings that a page may declare. Python knows others ("punycode") that are slow or no encodings at all.
_DECLARABLE = re.compile(
    r"(utf-?(8|16|32)|iso-?\d|latin|windows-\d|cp\d|koi8|x-?sjis|shift|euc|gb|big5|mac|ascii|us-ascii|tis)",
    re.I,
)
_WESTERN_LETTERS = set("àâäáãåæçéèêëíìîïñóòôöõøœúùûüÿßÀÂÄÁÃÅÆÇÉÈÊËÍÌÎÏÑÓÒÔÖÕØŒÚÙÛÜŸªº")
_WESTERN_MARKS = set("“”„‘’‚«»‹›–—…€£§©®°·•†¡¿™\xa0\xad")
_MOST_ACCENTS = 0.1  # of all characters; French, with the most, has 4 in a hundred, Czech 15
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


@dataclass(frozen=True)
class Decoded:
    """A text with the encoding it was found to be in, and what to tell the person about it."""

    text: str
    encoding: str
    warnings: tuple[str, ...] = ()


def decode(data: bytes, name: str, declared: str | None = None) -> Decoded:
    """The text of `data`. `declared` is the encoding that an HTML page names, used where UTF-8 fails.

    Order: byte-order mark, UTF-16 without one, UTF-8, the declared encoding, a guess. Raises `AuditError`
    where the bytes are no text at all.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _lenient(data, encoding)
    if (wide := _utf_16_without_mark(data)) is not None:
        return _lenient(data, wide)
    if not looks_like_text(data):
        raise AuditError(
            f"“{name}” is not text: it holds bytes that no text has.",
            "Bring the book as text, EPUB, PDF or Word, and keep the ending of its file name.",
        )
    usable = declared if declared is not None and _DECLARABLE.match(declared) else None
    if usable is not None and data.isascii():  # some encodings (ISO-2022-JP) are written in ASCII bytes
        try:
            return Decoded(data.decode(usable), usable)
        except (LookupError, UnicodeError):
            usable = None
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        pass
    if (mended := _damaged_utf_8(data)) is not None:
        return mended
    if usable is not None:
        try:
            return _lenient(data, usable)
        except LookupError:
            pass
    return _guessed(data)


def looks_like_text(data: bytes) -> bool:
    """Whether few enough of the first bytes are control characters; single ones are damage, not binary."""
    head = data[:_SAMPLE]
    if head.startswith(tuple(mark for mark, _ in _MARKS)) or _utf_16_without_mark(head) is not None:
        return True
    return len(_CONTROL.findall(head)) <= 4 + len(head) // 100


def _lenient(data: bytes, encoding: str) -> Decoded:
    text = data.decode(encoding, errors="replace")
    damage = text.count("\ufffd")
    if damage == 0:
        return Decoded(text, encoding)
    return Decoded(text, encoding, (f"{damage:,} characters were damaged and are shown as “\ufffd”.",))


def _utf_16_without_mark(data: bytes) -> str | None:
    """UTF-16 shows itself by zero bytes in every second place, if the text is mostly Latin."""
    head = data[:4096]
    half = len(head) // 2
    if half < 2:
        return None
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > 0.4 * half and even < 0.05 * half:
        return "utf-16-le"
    if even > 0.4 * half and odd < 0.05 * half:
        return "utf-16-be"
    return None


def _damaged_utf_8(data: bytes) -> Decoded | None:
    """UTF-8 in which some bytes are broken: at least as many sound characters beyond ASCII as unsound.

    Old encodings seldom look like sound UTF-8: about one character in three for Chinese, fewer for others.
    """
    found = _lenient(data, "utf-8")
    unsound = found.text.count("\ufffd")
    sound = sum(1 for byte in data if byte >= 0xC0) - unsound
    return found if sound >= unsound else None


def _guessed(data: bytes) -> Decoded:
    # Only lines with bytes beyond ASCII tell encodings apart; a long English book may have its first late.
    telling = b"\n".join(line for line in data.splitlines() if not line.isascii())[:_SAMPLE]
    best = None if _looks_western(telling) else from_bytes(telling).best()
    # cp1252 is by far the commonest, and a fair guess where the bytes read the same in several encodings.
    encoding = "cp1252" if best is None or "cp1252" in best.could_be_from_charset else best.encoding
    found = _lenient(data, encoding)
    note = f"The encoding is not declared and was taken to be {encoding}: check letters with accents."
    return Decoded(found.text, encoding, (note, *found.warnings))


def _looks_western(sample: bytes) -> bool:
    """Whether the bytes read as cp1252 give words of western Europe: few accents, and only usual ones.

    The statistical guess that follows takes short texts of this kind for Baltic or Turkish.
    """
    letters = [character for character in sample.decode("cp1252", errors="replace") if not character.isspace()]
    accented = [character for character in letters if not character.isascii() and character.isalpha()]
    marks = [character for character in letters if not character.isascii() and not character.isalpha()]
    few = len(accented) <= _MOST_ACCENTS * len(letters)
    return few and set(accented) <= _WESTERN_LETTERS and set(marks) <= _WESTERN_MARKS
