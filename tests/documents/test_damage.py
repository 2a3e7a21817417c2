"""Thousands of damaged files through every reader: only documents or one clear sentence may come out."""

from __future__ import annotations

import random
import zipfile
from collections.abc import Iterator
from io import BytesIO

import pytest

from auditlib.documents import FileResult, Upload, read_files
from tests.documents.builders import one_of_each, zip_of

VARIANTS = 240  # of each format; there are eleven
KINDS_OF_DAMAGE = 6


def damaged(data: bytes, generator: random.Random, kind: int) -> bytes:
    """One way of many in which a file breaks."""
    changed = bytearray(data)
    place = generator.randrange(len(changed))
    if kind == 0:  # cut off
        return bytes(changed[:place])
    if kind == 1:  # single bits
        for _ in range(generator.choice((1, 3, 20))):
            changed[generator.randrange(len(changed))] ^= 1 << generator.randrange(8)
    elif kind == 2:  # a run of noise
        run = generator.randbytes(generator.randrange(1, 64))
        changed[place : place + len(run)] = run
    elif kind == 3:  # a piece missing
        del changed[place : place + generator.randrange(1, 200)]
    elif kind == 4:  # a piece twice
        changed[place:place] = changed[place : place + generator.randrange(1, 200)]
    else:  # numbers made huge, negative or zero, as in lengths and offsets
        changed[place : place + 4] = generator.choice((b"\xff\xff\xff\x7f", b"\xff" * 4, b"\0" * 4, b"9999"))
    return bytes(changed)


def damaged_inside(data: bytes, generator: random.Random, kind: int) -> bytes:
    """A sound archive around one damaged part, whose checksum fits: so the damage reaches the XML parser."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    name = generator.choice(list(files))
    return zip_of(files | {name: damaged(files[name], generator, kind)})


def variants(name: str, data: bytes) -> Iterator[Upload]:
    generator = random.Random(name)
    for number in range(VARIANTS):
        kind = number % KINDS_OF_DAMAGE
        yield Upload(name, damaged(data, generator, kind))
        if data.startswith(b"PK"):
            yield Upload(name, damaged_inside(data, generator, kind))


def complaint(result: FileResult, name: str) -> str | None:
    """What is wrong with the way a damaged file was dealt with, or nothing."""
    if result.error is None:
        return None if result.documents else "neither documents nor an error"
    said = str(result.error)
    if name not in said:
        return f"the file is not named: {said}"
    if "not expected" in said or "made its reader fail" in said or "took longer" in said:
        return f"no reader foresaw it: {said}"
    if "Traceback" in said or "\n" in said:
        return f"not a sentence: {said}"
    return None


@pytest.mark.parametrize("name", list(one_of_each()))
def test_damaged_files_end_in_documents_or_one_clear_sentence(name: str) -> None:
    data = one_of_each()[name]
    complaints = [said for result in read_files(variants(name, data)) if (said := complaint(result, name)) is not None]
    assert complaints == []


def test_more_than_two_thousand_variants_are_tried() -> None:
    assert VARIANTS * len(one_of_each()) > 2_000
