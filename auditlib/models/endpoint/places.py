"""Which characters of a text a server's tokens stand for, when the tokens are known only by how they are written.

Servers write tokens in three ways: as the text they stand for (OpenAI, with `bytes:\\xe2` for parts of a character), as
byte-level vocabularies hold them (`Ġthe`), and as SentencePiece vocabularies do (`▁the`, `<0xE2>`). Which one it was is
seen by whether the tokens, read so, give the text letter by letter. Nothing is guessed: where no reading does, there
are no places.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from auditlib.models.encoding import BYTE_PIECE, letters_to_bytes, spans_of_bytes

Spans = tuple[NDArray[np.int32], NDArray[np.int32]]
# Letters of a text that a server, reading them itself, takes for a control token.
CONTROL = re.compile(r"<\|[^\s<>]{1,40}\|>|</?s>|<(?:unk|pad|bos|eos|mask)>|\[(?:INST|CLS|SEP|PAD|MASK)\]")


def places_of(pieces: Sequence[str], text: str) -> Spans | None:
    """First and last-plus-one character of each piece; None where the pieces do not give the text."""
    raw = text.encode("utf-8")
    for read in (_as_text, _as_byte_level):
        parts = [read(piece) for piece in pieces]
        if b"".join(parts) == raw:
            return spans_of_bytes(parts, text)
    parts = [_as_sentencepiece(piece) for piece in pieces]
    joined = b"".join(parts)
    if joined == raw:
        return spans_of_bytes(parts, text)
    if joined == b" " + raw:  # SentencePiece puts a space before the first word
        return spans_of_bytes([parts[0].removeprefix(b" "), *parts[1:]], text)
    return None


def control_letters(text: str) -> str | None:
    """The first letters of `text` that a server could take for a control token; None where there are none."""
    found = CONTROL.search(text)
    return found[0] if found else None


def _as_text(piece: str) -> bytes:
    if piece.startswith("bytes:"):
        codes = re.findall(r"\\x([0-9a-fA-F]{2})", piece)
        if codes and len(piece) == len("bytes:") + 4 * len(codes):
            return bytes(int(code, 16) for code in codes)
    return piece.encode("utf-8", "surrogatepass")


def _as_byte_level(piece: str) -> bytes:
    return letters_to_bytes(piece)


def _as_sentencepiece(piece: str) -> bytes:
    if match := BYTE_PIECE.fullmatch(piece):
        return bytes([int(match[1], 16)])
    return piece.replace("▁", " ").encode("utf-8", "surrogatepass")
