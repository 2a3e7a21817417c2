"""Every format that can be read. Adding one is one file here and its lines in these tables."""

from __future__ import annotations

from auditlib.documents.readers.delimited import open_csv, open_tsv
from auditlib.documents.readers.docx import read_docx
from auditlib.documents.readers.epub import read_epub
from auditlib.documents.readers.html import read_html
from auditlib.documents.readers.jsonl import open_jsonl
from auditlib.documents.readers.parquet import open_parquet
from auditlib.documents.readers.pdf import read_pdf
from auditlib.documents.readers.table import OpenTable, table_reader
from auditlib.documents.readers.text import read_text
from auditlib.documents.reading import Reader

TABLES: dict[str, OpenTable] = {
    "csv": open_csv,
    "tsv": open_tsv,
    "jsonl": open_jsonl,
    "parquet": open_parquet,
}

READERS: dict[str, Reader] = {
    "text": read_text,
    "html": read_html,
    "epub": read_epub,
    "pdf": read_pdf,
    "docx": read_docx,
    **{kind: table_reader(open_table) for kind, open_table in TABLES.items()},
}

SUFFIXES: dict[str, str] = {
    ".txt": "text",
    ".md": "text",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".epub": "epub",
    ".pdf": "pdf",
    ".docx": "docx",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".parquet": "parquet",
    ".zip": "zip",
}
"""Which format a file name promises; "zip" is not read itself but entry by entry."""
