"""Files made to do harm: each ends in one sentence that names it, and the others of its batch are read."""

from __future__ import annotations

import stat
import zipfile
import zlib
from io import BytesIO
from pathlib import Path

import pytest

from auditlib.core import AuditError
from auditlib.documents import FileResult, Upload, display_name, limits, read_file, read_files, read_folder
from auditlib.documents.archives import open_archive
from auditlib.documents.batch import read_files as batch_read_files
from auditlib.documents.process import ReaderProcess
from auditlib.documents.worker import Message
from tests.documents.builders import chapter, docx, epub, pdf_of, prose, zip_of

GOOD = prose(30).encode()
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]>'


def zeros(size: int) -> bytes:
    return b" " * size


def symbolic_link() -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        link = zipfile.ZipInfo("link.txt")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("good.txt", GOOD)
    return buffer.getvalue()


def locked_entry() -> bytes:
    """The flag "encrypted" is bit 0 of two bytes, 6 into the local header and 8 into the central one."""
    data = bytearray(zip_of({"locked.txt": GOOD, "good.txt": GOOD}))
    for signature, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.find(signature) + place] |= 1
    return bytes(data)


def pdf_bomb() -> bytes:
    """A PDF whose one page unpacks, twice over, to more than its reader may hold: PDFium aborts."""
    packed = zlib.compress(zlib.compress(b" " * (900 * 2**20), 1), 9)
    content = b"<< /Length %d /Filter [/FlateDecode /FlateDecode] >>\nstream\n%s\nendstream" % (
        len(packed),
        packed,
    )
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 3 0 R >>"
    pages = b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>"
    return pdf_of([b"<< /Type /Catalog /Pages 2 0 R >>", pages, content, page])


def by_name(results: list[FileResult]) -> dict[str, FileResult]:
    return {result.name: result for result in results}


REFUSED_WHOLE = {
    "bomb.zip": (zip_of({"a.txt": zeros(60 * 2**20)}), "zip bomb"),
    "bomb.docx": (zip_of({"word/document.xml": zeros(60 * 2**20)}), "zip bomb"),
    "bomb.epub": (epub({"a.xhtml": " " * (60 * 2**20)}), "zip bomb"),
    "laughs.docx": (
        zip_of({"word/document.xml": f'{LAUGHS}<w:document xmlns:w="{_W}">&c;</w:document>'}),
        "XML entities",
    ),
    "laughs.epub": (epub({"a.xhtml": LAUGHS + chapter("One", "&c;").partition("?>")[2]}), "XML entities"),
    "container.epub": (
        zip_of({"META-INF/container.xml": f"{LAUGHS}<container>&c;</container>"}),
        "XML entities",
    ),
    "columns.csv": (b",".join(b"c%d" % n for n in range(1_000_000)) + b"\nx", "1,000,000 columns"),
    "deep.jsonl": (b'{"text": ' + b"[" * 200_000, "Line 1 .* not valid JSON"),
    "deep.html": (b"<div>" * 100_000 + b"text", "nests its elements"),
    "nul.txt": (bytes(5000), "is not text"),
    "empty.zip": (zip_of({}), "no files in it"),
}


@pytest.mark.parametrize("name", list(REFUSED_WHOLE))
def test_a_hostile_file_is_refused_in_a_sentence_that_names_it(name: str) -> None:
    data, reason = REFUSED_WHOLE[name]
    bad, good = read_files([Upload(name, data), Upload("good.txt", GOOD)])
    assert bad.error is not None
    assert name in bad.error.wrong
    with pytest.raises(AuditError, match=reason):
        raise bad.error
    assert [document.text for document in good.documents] == [GOOD.decode()]


REFUSED_ENTRIES = {
    "nested": (zip_of({"inner.zip": zip_of({"a.txt": GOOD}), "good.txt": GOOD}), "archive inside an archive"),
    "climbing": (zip_of({"../../evil.txt": GOOD, "good.txt": GOOD}), "points outside the archive"),
    "backslashes": (zip_of({"..\\evil.txt": GOOD, "good.txt": GOOD}), "points outside the archive"),
    "absolute": (zip_of({"/etc/evil.txt": GOOD, "good.txt": GOOD}), "points outside the archive"),
    "drive": (zip_of({"C:/evil.txt": GOOD, "good.txt": GOOD}), "points outside the archive"),
    "link": (symbolic_link(), "is a link"),
    "locked": (locked_entry(), "locked with a password"),
}


@pytest.mark.parametrize("name", list(REFUSED_ENTRIES))
def test_a_hostile_entry_costs_itself_and_no_other(name: str) -> None:
    data, reason = REFUSED_ENTRIES[name]
    bad, good = read_files([Upload("a.zip", data)])
    assert bad.error is not None
    assert reason in bad.error.wrong
    assert bad.error.wrong.startswith("“a.zip/")
    assert (good.name, good.documents[0].text) == ("a.zip/good.txt", GOOD.decode())


def test_an_archive_of_too_many_files_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ARCHIVE_ENTRIES", 3)
    with pytest.raises(AuditError, match="holds 4 files, more than the 3 allowed"):
        open_archive(zip_of({f"{n}.txt": "x" for n in range(4)}), "a.zip", "a zip archive")


def test_an_archive_too_large_in_all_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ARCHIVE_BYTES", 100)
    with pytest.raises(AuditError, match="zip bomb"):
        open_archive(zip_of({f"{n}.txt": "x" * 60 for n in range(2)}), "a.zip", "a zip archive")


def test_two_gigabytes_are_refused_before_they_are_read(tmp_path: Path) -> None:
    large = tmp_path / "large.txt"
    with large.open("wb") as file:
        file.truncate(2 * 2**30)  # holds nothing on disk, so reading it would show
    with pytest.raises(AuditError, match=r"“large\.txt” has 2,048 MiB, more than the 256 MiB allowed"):
        read_file("large.txt", large)


def test_a_row_of_a_million_cells_is_cut_to_the_columns_there_are() -> None:
    (document,) = read_file("wide.csv", b"text,other\n" + b",".join([b"x"] * 1_000_000))
    assert document.text == "x"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\x00b\x1b[31m\nc.txt", "ab(31m c.txt"),
        ("<script>alert(1)</script>.txt", "‹script›alert(1)‹/script›.txt"),
        ("[x](javascript:y) *b* `c` $d$.txt", "(x)(javascript:y) ∗b∗ 'c' ＄d＄.txt"),
        ("evil\u202etxt.exe", "eviltxt.exe"),
        ("", "unnamed"),
        ("\ud800.txt", ".txt"),
        ("my_book (2nd) – Zoë.epub", "my_book (2nd) – Zoë.epub"),
    ],
)
def test_names_are_shown_without_control_characters_and_markup(name: str, shown: str) -> None:
    assert display_name(name) == shown


def test_a_long_name_is_cut_in_the_middle() -> None:
    shown = display_name("a" * 500 + ".txt")
    assert len(shown) <= 120
    assert shown.endswith("aaa.txt")


def test_a_hostile_name_is_clean_in_errors_and_documents() -> None:
    bad, good = read_files([Upload("<b>\n.pdf", b"%PDF-1.4"), Upload("<b>\n.txt", GOOD)])
    assert bad.error is not None
    assert bad.error.wrong.startswith("“‹b› .pdf”")
    assert good.documents[0].source_name == "‹b› .txt"
    assert good.documents[0].title == "‹b›"


def test_a_file_that_kills_its_reader_costs_itself_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = ReaderProcess.answer

    killed = []

    def dying(worker: ReaderProcess) -> Message:
        while killed and killed[-1] is worker._process:
            answer(worker)  # what it had said before it died; then it is found to be lost
        message = answer(worker)
        if message.get("begin", "").endswith("bad.txt"):
            assert worker._process is not None
            worker._process.kill()
            worker._process.wait()
            killed.append(worker._process)
        return message

    monkeypatch.setattr(ReaderProcess, "answer", dying)
    archive = zip_of({"one.txt": GOOD, "bad.txt": GOOD, "two.txt": GOOD})
    results = by_name(list(batch_read_files([Upload("a.zip", archive), Upload("b.txt", GOOD)])))
    assert list(results) == ["a.zip/one.txt", "a.zip/bad.txt", "a.zip/two.txt", "b.txt"]
    bad = results.pop("a.zip/bad.txt")
    assert "“a.zip/bad.txt” made its reader fail" in str(bad.error)
    assert all(result.documents for result in results.values())


def test_an_archive_that_kills_its_reader_again_and_again_is_given_up() -> None:
    bomb = pdf_bomb()
    archive = zip_of({**{f"{n}.pdf": bomb for n in range(8)}, "good.txt": GOOD})
    results = list(read_files([Upload("a.zip", archive), Upload("good.txt", GOOD)]))
    assert ["reader fail" in str(result.error) for result in results] == [True] * 6 + [False]
    assert "The rest of “a.zip” was not read: 5 of its files" in str(results[5].error)
    assert results[6].documents


def test_a_file_that_takes_too_long_is_given_up_and_the_next_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = prose(50_000).encode()
    monkeypatch.setattr("auditlib.documents.batch.seconds_for", lambda n_bytes: 0.001 if n_bytes == len(slow) else 60.0)
    late, good = read_files([Upload("slow.txt", slow), Upload("good.txt", GOOD)])
    assert "“slow.txt” took longer than 0 seconds" in str(late.error)
    assert good.documents


def test_memory_is_bounded() -> None:
    bad, good = read_files([Upload("many.csv", b"text,x\n" + b"," * 150_000_000), Upload("good.txt", GOOD)])
    assert "memory" in str(bad.error)
    assert good.documents


def test_a_reader_gets_no_secrets_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_API_KEY", "secret")
    with ReaderProcess() as worker:
        worker.ask("a.txt", b"x", {"wants": "columns", "columns": None, "without": [], "skip": 0}, 1)
        environment = Path(f"/proc/{worker._process.pid}/environ").read_bytes()  # type: ignore[union-attr]
    assert b"secret" not in environment


def test_a_folder_is_read_in_order_without_following_links(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.txt").write_bytes(GOOD)
    (tmp_path / "sub" / "a.docx").write_bytes(docx("Hello there"))
    (tmp_path / ".hidden").write_bytes(GOOD)
    (tmp_path / "link.txt").symlink_to("/etc/passwd")
    (tmp_path / "loop").symlink_to(tmp_path)
    results = by_name(list(read_folder(tmp_path)))
    assert set(results) == {"b.txt", "link.txt", "loop", "sub/a.docx"}
    assert "is a link" in str(results["link.txt"].error)
    assert "is a link" in str(results["loop"].error)
    assert results["sub/a.docx"].documents[0].text == "Hello there"


def test_a_pipe_in_a_folder_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe.txt")
    (result,) = read_folder(tmp_path)
    assert "“pipe.txt” is no file" in str(result.error)
