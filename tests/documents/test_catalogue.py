"""A table of books beside the files."""

from __future__ import annotations

import pytest

from auditlib.core import AuditError, Label
from auditlib.documents.catalogue import read_catalogue, with_catalogue
from auditlib.documents.names import year_of
from tests.audits.books.made import document


def test_what_the_table_says_takes_the_place_of_what_the_file_says() -> None:
    table = "file,title,author,year,label\nfolder/a.txt,The Title,An Author,1851,member\nb.txt,,,,\n"
    entries = read_catalogue(table.encode(), "books.csv")
    told = with_catalogue(document("a", "some text"), entries)
    assert (told.title, told.group, told.author, told.year) == ("The Title", "The Title", "An Author", 1851)
    assert told.label is Label.MEMBER
    untold = document("b", "text")
    assert with_catalogue(untold, entries) == untold
    assert with_catalogue(document("c", "text"), entries).title == "c"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_spreadsheets_of_all_countries_are_read(delimiter: str) -> None:
    rows = [["File", "Year"], ["a.txt", "c. 1920"]]
    data = ("\ufeff" + "\r\n".join(delimiter.join(row) for row in rows)).encode("utf-8")
    assert read_catalogue(data, "books.csv")["a.txt"].year == 1920


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("title,year\nA,1900\n", "no column “file”"),
        ("", "no column “file”"),
        ("file,year\na.txt,last week\n", "Row 2 of “books.csv” has the year"),
        ("file,label\na.txt,perhaps\n", "Row 2 of “books.csv” has the label"),
        ("file\na.txt\na.txt\n", "Row 3 of “books.csv” names “a.txt” again"),
        ("file,title\n,Untold\n", "Row 2 of “books.csv” names no file"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_row(table: str, said: str) -> None:
    with pytest.raises(AuditError, match=said):
        read_catalogue(table.encode(), "books.csv")


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(AuditError, match="not in UTF-8"):
        read_catalogue(b"file\n\xff\xfe\xfa", "books.csv")


@pytest.mark.parametrize(
    ("text", "year"), [("1851", 1851), ("2004-05-01", 2004), ("c. 1920", 1920), ("no year", None), ("12345", None)]
)
def test_years(text: str, year: int | None) -> None:
    assert year_of(text) == year
