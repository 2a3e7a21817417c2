"""Plain files in, clean text out; anything else is refused by name."""

from __future__ import annotations

import codecs
from hashlib import sha256

import pytest

from auditlib.core import AuditError
from auditlib.documents import document_of, read_file


@pytest.mark.parametrize(
    "data",
    [
        "Zürich, 北京".encode(),
        codecs.BOM_UTF8 + "Zürich, 北京".encode(),
        "Zürich, 北京".encode("utf-16"),
        codecs.BOM_UTF16_BE + "Zürich, 北京".encode("utf-16-be"),
    ],
)
def test_text_comes_back_whatever_its_encoding_mark(data: bytes) -> None:
    assert read_file("a.txt", data).text == "Zürich, 北京"


def test_document_is_known_by_the_hash_of_its_text_and_line_ends_do_not_matter() -> None:
    assert document_of("a\r\nb\rc", "x").text == "a\nb\nc"
    assert read_file("one.txt", b"a\r\nb").id == read_file("two.md", b"a\nb").id == sha256(b"a\nb").hexdigest()


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("empty.txt", b"", "empty.txt is empty"),
        ("blank.md", b" \n\t ", "blank.md is empty"),
        ("latin.txt", "Zürich".encode("latin-1"), r"latin.txt is not UTF-8 text \(byte 2 "),
        ("cut.txt", "北".encode()[:2], "cut.txt is not UTF-8 text"),
        ("binary.txt", b"MZ\0\0", "binary.txt contains NUL"),
        ("novel.exe", b"text", "novel.exe is not of a kind"),
        ("noending", b"text", "noending is not of a kind"),
        ("two\nlines\x1b[31m.exe", b"text", "two�lines�"),
        ("x" * 300 + ".exe", b"text", "^x{79}… is not of a kind"),
    ],
)
def test_file_that_is_not_plain_text_is_refused_by_name(name: str, data: bytes, said: str) -> None:
    with pytest.raises(AuditError, match=said) as refusal:
        read_file(name, data)
    assert refusal.value.remedy
