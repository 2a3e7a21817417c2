"""Each format comes back with the right words in the right order, its title and its warnings."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest

from auditlib.core import AuditError, Document, Label
from auditlib.documents import STEPS, Columns, guess_columns, read_file, supported_suffixes
from auditlib.documents.snippets import tile
from tests.documents.builders import (
    PICTURE,
    chapter,
    docx,
    encrypted_pdf,
    encryption_xml,
    epub,
    jsonl,
    locked_pdf,
    one_of_each,
    parquet,
    pdf,
    prose,
    scanned_pdf,
    zip_of,
)


def only(name: str, data: bytes) -> Document:
    (document,) = read_file(name, data)
    return document


def words(document: Document) -> list[str]:
    return document.text.split()


@pytest.mark.parametrize("name", list(one_of_each()))
def test_offsets_point_into_the_text(name: str) -> None:
    for document in read_file(name, one_of_each()[name]):
        for snippet in tile(document, words=10).snippets:
            assert document.text[snippet.start :].startswith(snippet.text)
            assert snippet.text.split() == words(document)[snippet.first_word :][:10]


@pytest.mark.parametrize("name", list(one_of_each()))
def test_every_format_gives_its_words_in_order(name: str) -> None:
    found = [word for document in read_file(name, one_of_each()[name]) for word in words(document)]
    expected = {
        "b.md": ["#", "Heading", *prose(120).split()],
        "d.epub": ["One", *prose(60).split(), "Two", *prose(60, 1).split()],
        **{book: prose(120).split() for book in ("a.txt", "c.html")},
        **{book: [*prose(60).split(), *prose(60, 1).split()] for book in ("e.pdf", "f.docx", "k.zip")},
    }
    rows = [word for n in range(4) for word in prose(20, n).split()]
    assert found == expected.get(name, rows)


# --- text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_text_is_read_in_its_encoding(encoding: str) -> None:
    text = "“Café déjà vu,” said the naïve piñata. " + prose(60)
    assert only("a.txt", text.encode(encoding)).text == text


def test_russian_in_an_old_encoding_is_read() -> None:
    text = "Старый сад стоял над рекой, и никто не помнил, кто его посадил. " * 5
    assert only("a.txt", text.encode("cp1251")).text == text.strip()


def test_an_encoding_that_was_guessed_is_said() -> None:
    assert "cp1252" in only("a.txt", ("Café. " + prose(30)).encode("cp1252")).warnings[0]


def test_one_broken_byte_does_not_change_the_encoding() -> None:
    data = bytearray(("déjà vu à la café " * 20).encode())
    data[40:40] = b"\xff"
    document = only("a.txt", bytes(data))
    assert document.text.count("déjà") == 20
    assert "damaged" in document.warnings[0]


def test_windows_line_ends_become_line_feeds() -> None:
    assert only("a.txt", b"one\r\ntwo\rthree").text == "one\ntwo\nthree"


# --- HTML


def test_a_page_gives_what_a_browser_shows() -> None:
    page = (
        "<html><head><title>The &amp; Title</title><style>p{}</style></head><body><script>no()</script>"
        "<p>One&nbsp;<i>t</i>wo<br>three</p><div hidden>no</div><ul><li>four<li>five</ul>"
        "<table><tr><td>six</td><td>seven</td></tr></table><!-- no --></body></html>"
    )
    document = only("a.html", page.encode())
    assert document.text == "One two\nthree\n\nfour\nfive\n\nsix seven"
    assert document.title == "The ＆ Title"


def test_a_page_is_read_in_the_encoding_it_declares() -> None:
    page = '<html><meta charset="iso-8859-2"><p>Łódź leży nad rzeką'.encode("iso-8859-2")
    assert only("a.html", page).text == "Łódź leży nad rzeką"


def test_an_empty_title_element_in_xhtml_swallows_nothing() -> None:
    assert only("a.xhtml", chapter("Heading", "Body.").encode()).text == "Heading\n\nBody."


# --- EPUB


def test_chapters_come_in_spine_order_with_their_headings() -> None:
    chapters = {"b.xhtml": chapter("Second", "and then"), "a.xhtml": chapter("First", "in the beginning")}
    document = only("book.epub", epub(chapters, spine=["a.xhtml", "b.xhtml"]))
    assert document.text == "First\n\nin the beginning\n\nSecond\n\nand then"
    assert document.title == "The Hollow Orchard"


def test_epub_2_is_read_with_named_characters() -> None:
    page = (
        '<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "xhtml11.dtd">'
        '<html xmlns="http://www.w3.org/1999/xhtml"><p>a&nbsp;b&mdash;c<i>d</i> &lt;e&gt;</p></html>'
    )
    assert only("book.epub", epub({"a.xhtml": page}, version="2.0")).text == "a b—cd <e>"


def test_chapter_addresses_may_be_escaped_and_point_into_a_chapter() -> None:
    book = epub({"a b.xhtml": chapter("One", "here")})
    with zipfile.ZipFile(BytesIO(book)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files["OEBPS/book.opf"] = files["OEBPS/book.opf"].replace(b'"a b.xhtml"', b'"./a%20b.xhtml#top"')
    assert only("book.epub", zip_of(files)).text == "One\n\nhere"


def test_a_missing_chapter_is_named_and_the_rest_is_read() -> None:
    book = epub({"a.xhtml": chapter("One", "here"), "b.xhtml": chapter("Two", "gone")})
    document = only("book.epub", book.replace(b"OEBPS/b.xhtml", b"OEBPS/x.xhtml"))
    assert document.text == "One\n\nhere"
    assert document.warnings == ("A chapter could not be read and is left out: OEBPS/b.xhtml.",)


def test_an_epub_with_drm_is_refused() -> None:
    locked = {"META-INF/encryption.xml": encryption_xml("http://www.w3.org/2001/04/xmlenc#aes128-cbc")}
    with pytest.raises(AuditError, match=r"“book\.epub” is protected by DRM"):
        read_file("book.epub", epub({"one.xhtml": chapter("One", "secret")}, extra=locked))


def test_an_epub_with_scrambled_fonts_only_is_read() -> None:
    fonts = {"META-INF/encryption.xml": encryption_xml("http://www.idpf.org/2008/embedding")}
    assert only("book.epub", epub({"one.xhtml": chapter("One", "open")}, extra=fonts)).text == "One\n\nopen"


# --- PDF


def test_pdf_pages_come_in_order() -> None:
    pages = [prose(80, seed) for seed in range(5)]
    assert words(only("a.pdf", pdf(pages))) == " ".join(pages).split()


def test_a_word_divided_at_a_line_end_is_joined() -> None:
    assert "the interesting part" in only("a.pdf", pdf([f"{prose(30)} the inter-\nesting part"])).text


def test_a_scanned_pdf_is_recognised() -> None:
    with pytest.raises(AuditError, match=r"“a\.pdf” is scanned: 3 of its 3 pages are pictures"):
        read_file("a.pdf", scanned_pdf(3))


def test_an_encrypted_pdf_is_refused() -> None:
    with pytest.raises(AuditError, match=r"“a\.pdf” is an encrypted PDF"):
        read_file("a.pdf", encrypted_pdf())


def test_a_pdf_with_a_page_that_is_a_picture_says_so() -> None:
    document = only("a.pdf", pdf([prose(60), PICTURE, prose(60, 1)]))
    assert len(words(document)) == 120
    assert document.warnings == ("1 of 3 pages are pictures without text and are missing here.",)


def test_a_pdf_locked_only_against_changes_is_read_with_a_warning() -> None:
    document = only("a.pdf", locked_pdf(prose(60)))
    assert words(document) == prose(60).split()
    assert "locked against changes or copying" in document.warnings[0]


def test_a_pdf_without_text_or_pictures_is_called_empty() -> None:
    with pytest.raises(AuditError, match=r"“a\.pdf” is empty"):
        read_file("a.pdf", pdf(["", ""]))


# --- Word


def test_word_gives_paragraphs_tables_and_insertions_but_no_deletions() -> None:
    body = (
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>cell</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
        "<w:p><w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
        "<w:r><w:t xml:space='preserve'> a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p>"
    )
    document = only("a.docx", docx("First & last", title="Props", body=body))
    assert document.text == "First & last\n\ncell\n\nnew a b\nc"
    assert document.title == "Props"


# --- tables

ROWS = [
    {"id": 1, "snippet": "the first passage", "member": 1, "book": "A"},
    {"id": 2, "snippet": "the second passage", "member": 0, "book": "A"},
    {"id": 3, "snippet": "the third passage", "member": "?", "book": "B"},
]
TABLES = {
    "t.csv": "id,snippet,member,book\n" + "".join(",".join(map(str, row.values())) + "\n" for row in ROWS),
    "t.tsv": "id\tsnippet\tmember\tbook\n" + "".join("\t".join(map(str, row.values())) + "\n" for row in ROWS),
}


def table(name: str) -> bytes:
    if name == "t.jsonl":
        return jsonl(ROWS)
    if name == "t.parquet":
        return parquet({key: [str(row[key]) for row in ROWS] for key in ROWS[0]})
    return TABLES[name].encode()


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl", "t.parquet"])
def test_a_table_gives_one_text_a_row_with_label_and_group(name: str) -> None:
    guess = guess_columns(name, table(name))
    assert guess is not None
    assert guess.guess == Columns("snippet", "member", "book")
    documents = read_file(name, table(name), guess.guess)
    assert [document.text for document in documents] == [row["snippet"] for row in ROWS]
    assert [document.label for document in documents] == [Label.MEMBER, Label.NON_MEMBER, Label.UNKNOWN]
    assert [document.group for document in documents] == ["A", "A", "B"]
    assert documents[2].warnings == ("The label “?” is neither member nor non-member: taken as unknown.",)


def test_the_text_column_is_guessed_by_length_where_no_name_tells() -> None:
    guess = guess_columns("t.csv", b"x;y\nshort;a longer piece of text\n")
    assert guess is not None
    assert guess.guess == Columns("y")


def test_the_columns_that_were_picked_are_used() -> None:
    documents = read_file("t.csv", b"text,other\nno,yes\n", Columns("other"))
    assert [document.text for document in documents] == ["yes"]


def test_a_column_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(AuditError, match=r"“t\.csv” has no column “body”\. Its columns are: text, label\."):
        read_file("t.csv", b"text,label\na,1\n", Columns("body"))


def test_columns_without_a_name_get_one() -> None:
    guess = guess_columns("t.csv", b"text,,\nhello,1,2\n")
    assert guess is not None
    assert guess.names == ("text", "column 2", "column 3")


def test_quoted_cells_keep_line_breaks_and_commas() -> None:
    assert only("t.csv", b'text\n"one, two\nthree"\n').text == "one, two\nthree"


def test_rows_are_left_as_they_were_published() -> None:
    assert only("t.jsonl", jsonl([{"text": "Contents\n\n\n1  2\n"}])).text == "Contents\n\n\n1  2\n"


def test_a_file_that_is_no_table_has_no_columns() -> None:
    assert guess_columns("a.txt", b"text") is None


# --- formats


def test_a_book_with_the_wrong_ending_is_read_for_what_it_is() -> None:
    document = only("book.txt", pdf([prose(40)]))
    assert words(document) == prose(40).split()
    assert document.warnings == ("The file is named .txt but is a PDF, and is read so.",)


@pytest.mark.parametrize("suffix", [".pdf", ".epub", ".docx", ".parquet", ".zip"])
def test_text_with_a_binary_ending_is_refused(suffix: str) -> None:
    with pytest.raises(AuditError, match=rf"“a\{suffix}” is named \{suffix} but is not "):
        read_file(f"a{suffix}", b"Just a plain text, whatever its name says.")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "is a picture"),
        (b"{\\rtf1 hello}", "is an RTF document"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"),
            "locked with a password",
        ),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "an Office format from before 2007"),
        (
            zip_of({"[Content_Types].xml": "<x/>", "xl/workbook.xml": "<x/>"}),
            "is an Office file that is no Word",
        ),
        (bytes(range(256)) * 10, "is not text"),
    ],
)
def test_what_cannot_be_read_is_called_by_its_name(data: bytes, said: str) -> None:
    with pytest.raises(AuditError, match=said):
        read_file("a.txt", data)


def test_an_unknown_ending_is_answered_with_those_that_are_known() -> None:
    with pytest.raises(AuditError, match=r"no format that can be read\. Bring one of these: \.txt, \.md"):
        read_file("a.xyz", b"some text")


@pytest.mark.parametrize("suffix", supported_suffixes())
def test_an_empty_file_is_called_empty(suffix: str) -> None:
    with pytest.raises(AuditError, match=rf"“a\{suffix}” is empty"):
        read_file(f"a{suffix}", b"")
    with pytest.raises(AuditError, match=rf"“a\{suffix}”"):
        read_file(f"a{suffix}", b" \n\n ")


def test_utf_8_with_broken_bytes_is_not_taken_for_an_old_encoding() -> None:
    data = "The ferry was late — ".encode() * 5 + b"\xff\xfe\x80"
    (document,) = read_file("mixed.txt", data, without=list(STEPS))
    assert document.text.startswith("The ferry was late — The")
    assert "3 characters were damaged" in document.warnings[0]
