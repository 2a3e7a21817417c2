"""Files of every format, made here from texts given here: no fixture comes from anywhere else."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Mapping, Sequence
from hashlib import md5
from html import escape

import pyarrow as pa
import pyarrow.parquet as pq

VOCABULARY = [
    *("amber", "bridge", "candle", "distant", "ember", "fallow", "garden", "harbor", "island"),
    *("jasmine", "kettle", "lantern", "meadow", "needle", "orchard", "pebble", "quarry", "river"),
    *("saddle", "timber", "under", "valley", "willow", "yonder", "zephyr", "always", "beneath"),
    *("carried", "drifted", "every", "followed", "gathered", "heavy", "inward", "just", "kindly"),
    *("lowered", "many", "never", "often", "patient", "quietly", "rising", "slowly", "toward"),
]


def prose(words: int, seed: int = 0, per_line: int = 12) -> str:
    """Made-up sentences of exactly so many words, in lines."""
    generator = random.Random(seed)
    chosen = [generator.choice(VOCABULARY) for _ in range(words)]
    for place in range(0, words, 9):
        chosen[place] = chosen[place].capitalize()
        if place:
            chosen[place - 1] += "."
    return "\n".join(" ".join(chosen[i : i + per_line]) for i in range(0, words, per_line))


def zip_of(files: Mapping[str, bytes | str], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive with these entries, in this order."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def chapter(heading: str, *paragraphs: str) -> str:
    """One XHTML chapter."""
    body = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)
    return (
        '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head>'
        f"<body><h1>{escape(heading)}</h1>{body}</body></html>"
    )


def epub(
    chapters: Mapping[str, str],
    title: str = "The Hollow Orchard",
    spine: Sequence[str] | None = None,
    version: str = "3.0",
    extra: Mapping[str, bytes | str] | None = None,
) -> bytes:
    """A book of chapters by file name; `spine` is their reading order where it is another than given."""
    order = list(chapters) if spine is None else spine
    items = "".join(
        f'<item id="c{n}" href="{name}" media-type="application/xhtml+xml"/>' for n, name in enumerate(chapters)
    )
    ids = {name: f"c{n}" for n, name in enumerate(chapters)}
    refs = "".join(f'<itemref idref="{ids[name]}"/>' for name in order)
    package = (
        f'<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="{version}">'
        f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{escape(title)}</dc:title></metadata>'
        f"<manifest>{items}</manifest><spine>{refs}</spine></package>"
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles>'
        "</container>"
    )
    files: dict[str, bytes | str] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": container,
        "OEBPS/book.opf": package,
        **{f"OEBPS/{name}": content for name, content in chapters.items()},
        **(extra or {}),
    }
    return zip_of(files)


def encryption_xml(algorithm: str) -> str:
    """What an EPUB says about one encrypted file in it."""
    return (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" '
        'xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData>'
        f'<enc:EncryptionMethod Algorithm="{algorithm}"/><enc:CipherData>'
        '<enc:CipherReference URI="OEBPS/one.xhtml"/>'
        "</enc:CipherData></enc:EncryptedData></encryption>"
    )


_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def docx(*paragraphs: str, title: str = "", body: str = "") -> bytes:
    """A Word document of plain paragraphs, then `body` as it is (WordprocessingML)."""
    text = "".join(
        f'<w:p><w:r><w:t xml:space="preserve">{escape(paragraph)}</w:t></w:r></w:p>' for paragraph in paragraphs
    )
    files = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "word/document.xml": f"<w:document {_W}><w:body>{text}{body}</w:body></w:document>",
    }
    if title:
        files["docProps/core.xml"] = (
            '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"'
            f' xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{escape(title)}</dc:title></cp:coreProperties>'
        )
    return zip_of(files)


def pdf_of(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """A PDF of these objects, numbered from 1; the first is its catalog."""
    out = io.BytesIO()
    out.write(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, content in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, content))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer, start))
    return out.getvalue()


def _stream(content: bytes, entries: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), entries, content)


PICTURE = "\0picture"
"""Stands for a page that is one grey picture."""


def pdf(pages: Sequence[str], trailer: bytes = b"", key: bytes | None = None) -> bytes:
    """A PDF of text pages: each a text whose lines are set one under the other in Helvetica.

    With a `key`, the pages are encrypted under it (PDF 1.7, algorithm 1, RC4).
    """
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    picture = _stream(
        b"\x80" * 64,
        b"/Type /XObject /Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceGray /BitsPerComponent 8",
    )
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", font, picture]
    kids = []
    for page in pages:
        content = b"q 595 0 0 842 0 0 cm /Im1 Do Q" if page == PICTURE else _page_content(page)
        if key is not None:
            number = (len(objects) + 1).to_bytes(3, "little") + bytes(2)
            content = _rc4(md5(key + number, usedforsecurity=False).digest()[: len(key) + 5], content)
        objects.append(_stream(content))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> /XObject << /Im1 4 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    return pdf_of(objects, trailer)


def _page_content(page: str) -> bytes:
    shown = []
    for line in page.split("\n"):
        escaped = line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        shown.append(b"(%s) Tj T*" % escaped.encode("latin-1"))
    return b"BT /F1 10 Tf 12 TL 50 780 Td\n" + b"\n".join(shown) + b"\nET"


def scanned_pdf(pages: int) -> bytes:
    """A PDF whose pages are one picture each."""
    return pdf([PICTURE] * pages)


# What the standard fills passwords up with (PDF 1.7, algorithm 2).
_PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")


def _rc4(key: bytes, data: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out = bytearray()
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)


def locked_pdf(page: str, password: bytes = b"") -> bytes:
    """An encrypted PDF: without a password everybody may open it, but not change it (revision 2, 40 bits)."""
    owner, permissions, identity = b"\x5a" * 32, (-64).to_bytes(4, "little", signed=True), b"\x11" * 16
    padded = (password + _PADDING)[:32]
    key = md5(padded + owner + permissions + identity, usedforsecurity=False).digest()[:5]
    lock = b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -64 /O <%s> /U <%s> >> /ID [<%s> <%s>]" % (
        *(part.hex().encode() for part in (owner, _rc4(key, _PADDING), identity, identity)),
    )
    return pdf([page], lock, key)


def encrypted_pdf() -> bytes:
    """A PDF that opens with the password "orchard" only."""
    return locked_pdf("Nobody reads this page without the password.", b"orchard")


def jsonl(records: Sequence[Mapping[str, object]]) -> bytes:
    """JSON Lines."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def parquet(columns: Mapping[str, Sequence[object]], compression: str = "snappy") -> bytes:
    """A Parquet table."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), sink, compression=compression)
    return bytes(sink.getvalue().to_pybytes())


def one_of_each() -> dict[str, bytes]:
    """A small sound file of every format that can be read, by name."""
    text = prose(120)
    rows = [{"text": prose(20, n), "label": n % 2, "group": f"book {n // 2}"} for n in range(4)]
    table = {key: [row[key] for row in rows] for key in rows[0]}
    header = ["text,label,group", *(f'"{row["text"]}",{row["label"]},{row["group"]}' for row in rows)]
    return {
        "a.txt": text.encode(),
        "b.md": f"# Heading\n\n{text}".encode(),
        "c.html": f"<!doctype html><html><head><title>T</title></head><body><p>{text}</p></html>".encode(),
        "d.epub": epub({"one.xhtml": chapter("One", prose(60)), "two.xhtml": chapter("Two", prose(60, 1))}),
        "e.pdf": pdf([prose(60), prose(60, 1)]),
        "f.docx": docx(prose(60), prose(60, 1), title="Made up"),
        "g.csv": "\n".join(header).encode(),
        "h.tsv": "\n".join(line.replace(",", "\t") for line in header).encode(),
        "i.jsonl": jsonl(rows),
        "j.parquet": parquet(table),
        "k.zip": zip_of({"one.txt": prose(60), "two.txt": prose(60, 1)}),
    }
