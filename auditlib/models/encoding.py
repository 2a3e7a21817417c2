"""From characters to tokens and back, so that every token knows which of the user's own letters it stands for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from auditlib.core import AuditError
from auditlib.models.failures import explained

FEWEST_SCORED_TOKENS = 2
BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")  # how SentencePiece vocabularies write a single byte


@dataclass(frozen=True)
class EncodedText:
    """A text's tokens. `prefix_ids` is what the tokenizer puts in front by itself (a BOS), context only.

    `start` and `end` give each token's characters: together they cover the text without a gap, and tokens
    that share one character (bytes of an emoji) share its span.
    """

    prefix_ids: tuple[int, ...]
    token_ids: NDArray[np.int32]  # (n,)
    start: NDArray[np.int32]  # (n,)
    end: NDArray[np.int32]  # (n,)

    @property
    def first_scorable(self) -> int:
        """0 where a prefix precedes the text; else 1, as nothing predicts the first token."""
        return 0 if self.prefix_ids else 1

    @property
    def n_scorable(self) -> int:
        """Tokens that get a log-probability."""
        return max(0, len(self.token_ids) - self.first_scorable)


class TextEncoder:
    """A tokenizer set up for audits: no truncation, no padding, and special tokens never read out of a text.

    Special are those that the tokenizer marks so; other added tokens (runs of spaces) are part of how it reads.

    A document that contains the letters `</s>` or `<|endoftext|>` holds those letters: read as control
    tokens, they would let a text speak to the model in the auditor's name.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())  # our own: nobody else may reset it
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.sha256 = sha256(self._tokenizer.to_str().encode()).hexdigest()
        self._tokenizer.encode_special_tokens = True

    @property
    def vocabulary_size(self) -> int:
        """Tokens known, added ones included."""
        return int(self._tokenizer.get_vocab_size(with_added_tokens=True))

    def encode(self, text: str, name: str = "The text") -> EncodedText:
        """Tokens of `text`; raises `AuditError` beginning with `name` where there are fewer than 2 to score."""
        refuse_unreadable(text, name)
        with explained(f"{name} cannot be cut into tokens by this model's tokenizer"):
            encoding = self._tokenizer.encode(text)
        of_text = np.flatnonzero(np.array(encoding.special_tokens_mask) == 0)
        first, last = (of_text[0], of_text[-1] + 1) if len(of_text) else (len(encoding.ids), len(encoding.ids))
        start, end = self._spans_by_bytes(encoding.tokens[first:last], text) or _gapless(
            encoding.offsets[first:last], text
        )
        encoded = EncodedText(
            prefix_ids=tuple(encoding.ids[:first]),
            token_ids=np.array(encoding.ids[first:last], dtype=np.int32),
            start=start,
            end=end,
        )
        refuse_too_short(encoded.n_scorable, name)
        return encoded

    def prompt_ids(self, text: str, name: str = "The prompt") -> list[int]:
        """All tokens of a text that is to be continued, its prefix (a BOS) with them. Raises `AuditError` likewise."""
        encoded = self.encode(text, name)
        return [*encoded.prefix_ids, *encoded.token_ids.tolist()]

    def continuation(self, prompt_ids: Sequence[int], new_ids: Sequence[int]) -> str:
        """The letters that `new_ids` add behind a prompt.

        Read together with the prompt, since some tokenizers drop the space in front of the first word they are given.
        Control tokens add nothing.
        """
        before = str(self._tokenizer.decode(list(prompt_ids)))
        whole = str(self._tokenizer.decode([*prompt_ids, *new_ids]))
        if whole.startswith(before):
            return whole[len(before) :]
        return str(self._tokenizer.decode(list(new_ids)))

    def token_text(self, token_id: int) -> str:
        """What one token stands for: its letters, or its bytes in hex where they are part of a character."""
        piece = self._tokenizer.id_to_token(token_id)
        if piece is None:
            return f"[unused {token_id}]"  # vocabularies are often padded past the tokenizer's last entry
        if token_id in self._added_ids and not BYTE_PIECE.fullmatch(piece):
            return str(piece)
        raw = self._piece_bytes(piece)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return " ".join(f"0x{byte:02X}" for byte in raw)

    def _spans_by_bytes(self, pieces: list[str], text: str) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
        """Spans counted from the bytes that the pieces stand for; None where these are not the text's own bytes.

        Exact where it can be had: what byte-level tokenizers report loses the spaces that they trim.
        """
        if not self._is_byte_level:
            return None
        raw = [self._piece_bytes(piece) for piece in pieces]
        if b"".join(raw) != text.encode("utf-8"):
            return None  # something was normalized on the way
        return spans_of_bytes(raw, text)

    @cached_property
    def _added_ids(self) -> frozenset[int]:
        return frozenset(self._tokenizer.get_added_tokens_decoder())

    @cached_property
    def _is_byte_level(self) -> bool:
        decoder = self._tokenizer.decoder
        return decoder is not None and b'"ByteLevel"' in decoder.__getstate__()

    def _piece_bytes(self, piece: str) -> bytes:
        if match := BYTE_PIECE.fullmatch(piece):
            return bytes([int(match[1], 16)])
        if self._is_byte_level:
            return letters_to_bytes(piece)
        return piece.replace("▁", " ").encode()


def refuse_unreadable(text: str, name: str = "The text") -> None:
    """`AuditError` beginning with `name` for what is no plain text: empty, or with NULs or half characters in it."""
    if not text.strip():
        raise AuditError(f"{name} is empty.", "Give a text with at least a sentence in it.")
    if "\0" in text:
        raise AuditError(
            f"{name} contains NUL characters, so it is probably not plain text.",
            "Save it as plain text (UTF-8) and try again.",
        )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise AuditError(
            f"{name} contains half of a character (a lone surrogate, at character {error.start}).",
            "Save it as UTF-8 again and try once more.",
        ) from None


def refuse_too_short(n_scorable: int, name: str = "The text") -> None:
    """`AuditError` beginning with `name` where a text has fewer than 2 tokens to score."""
    if n_scorable < FEWEST_SCORED_TOKENS:
        raise AuditError(
            f"{name} has {n_scorable} token{'' if n_scorable == 1 else 's'} that can be "
            f"scored; at least {FEWEST_SCORED_TOKENS} are needed.",
            "Give a longer text: a sentence at the least, 100 words or more for a score that says something.",
        )


def spans_of_bytes(raw: list[bytes], text: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Characters of `text` that each part of its UTF-8 bytes belongs to; parts of one character share its span.

    A part without bytes has an empty span.
    """
    code_points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    bytes_per_character = 1 + sum((code_points >= limit).astype(np.int64) for limit in (0x80, 0x800, 0x10000))
    character_of_byte = np.repeat(np.arange(len(text), dtype=np.int32), bytes_per_character)
    stop = np.cumsum([len(part) for part in raw])
    begin = np.concatenate([[0], stop[:-1]])
    start = np.append(character_of_byte, np.int32(len(text)))[begin]
    end = character_of_byte[stop - 1] + 1
    return start, np.where(stop > begin, end, start).astype(np.int32)


def letters_to_bytes(piece: str) -> bytes:
    """What an entry of a byte-level vocabulary stands for; letters outside its alphabet stand for themselves."""
    table = _byte_of_letter()
    return b"".join(bytes([table[c]]) if c in table else c.encode("utf-8", "surrogatepass") for c in piece)


def _gapless(offsets: list[tuple[int, int]], text: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Token spans made to cover `text`.

    Tokenizers leave two kinds of gaps. White space that was trimmed from a span belongs to the token after
    it; any other character was folded into the one before it (an accent, when the tokenizer composes).
    """
    start = np.array([a for a, _ in offsets], dtype=np.int32)
    end = np.array([b for _, b in offsets], dtype=np.int32)
    covered = 0
    for i in range(len(offsets)):
        if start[i] > covered:
            after_folded = covered
            while after_folded < start[i] and i > 0 and not text[after_folded].isspace():
                after_folded += 1
            if after_folded > covered:
                _extend(start, end, i - 1, after_folded)
            start[i] = after_folded
        end[i] = max(end[i], start[i])
        covered = max(covered, int(end[i]))
    if len(offsets) and covered < len(text):
        _extend(start, end, len(offsets) - 1, len(text))
    return start, end


def _extend(start: NDArray[np.int32], end: NDArray[np.int32], last: int, to: int) -> None:
    """Moves the end of token `last`, and of those before it that share its span, to `to`."""
    old_end = end[last]
    while last >= 0 and end[last] == old_end:
        end[last] = to
        last -= 1


@lru_cache(maxsize=1)
def _byte_of_letter() -> dict[str, int]:
    """Byte-level BPE's alphabet, backwards: printable Latin-1 stands for itself, the rest from U+0100 on."""
    printable = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    ]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(others)}
