"""How much of anything one file may ask for. Every refusal by size comes from here."""

from __future__ import annotations

MEBIBYTE = 2**20

FILE_BYTES = 256 * MEBIBYTE  # one uploaded file, refused before it is read
TEXT_CHARACTERS = 20_000_000  # one text: more than 3 million words, six times War and Peace
FILE_CHARACTERS = 50_000_000  # all texts of one table
FILE_ROWS = 200_000  # texts of one table
TABLE_COLUMNS = 1_000
ARCHIVE_ENTRIES = 10_000
ARCHIVE_BYTES = 1024 * MEBIBYTE  # all entries of one archive, unpacked
ENTRY_BYTES = FILE_BYTES  # one entry, unpacked
MARKUP_BYTES = 64 * MEBIBYTE  # one XML or HTML part: its tree takes many times that
# A packed text seldom shrinks more than 30 times; entries below the floor may, as they do no harm.
BOMB_RATIO = 100
BOMB_FLOOR_BYTES = 32 * MEBIBYTE

WORKER_BYTES = 2048 * MEBIBYTE  # address space of the process that reads
FILE_SECONDS = 30.0  # for a file of up to LARGE_BYTES, and in proportion above
LARGE_BYTES = 32 * MEBIBYTE


def seconds_for(n_bytes: int) -> float:
    """Wall time that a file of `n_bytes` may take to be read and cleaned, in seconds."""
    return FILE_SECONDS * max(1.0, n_bytes / LARGE_BYTES)
