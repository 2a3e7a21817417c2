"""How fast a shelf is read: 100 made-up books of 100,000 words, and one PDF of 1,000 pages.

    python -m benchmarks.documents

Half the books are text, half EPUB. Each is read, cleaned and cut into 100 snippets of 512 words. Prints wall
seconds and the highest memory of this process and of the one that reads, and fails over the limits.
"""

from __future__ import annotations

import random
import resource
import sys
import time
import zipfile
from collections.abc import Iterator
from io import BytesIO

from auditlib.documents import Upload, read_file, read_files
from auditlib.documents.sets import shared_passages
from auditlib.documents.snippets import sample

BOOKS = 100
WORDS = 100_000
PAGES = 1_000
MOST_SECONDS = 60.0
MOST_MIB = 1536.0


def vocabulary(size: int) -> list[str]:
    """So many made-up words of two to four syllables."""
    generator = random.Random(0)
    syllables = [a + b for a in "bcdfglmnprstv" for b in ("a", "e", "i", "o", "u", "an", "er")]
    return ["".join(generator.choices(syllables, k=generator.randint(1, 4))) for _ in range(size)]


def paragraphs(words: list[str], count: int, seed: int) -> list[str]:
    """`count` words in paragraphs of 80."""
    chosen = random.Random(seed).choices(words, k=count)
    return [" ".join(chosen[start : start + 80]) + "." for start in range(0, count, 80)]


def text_book(parts: list[str]) -> bytes:
    lines = []
    for part in parts:
        own = part.split()
        lines += [" ".join(own[start : start + 12]) for start in range(0, len(own), 12)] + [""]
    return "\r\n".join(lines).encode()


def epub_book(parts: list[str], title: str) -> bytes:
    chapters = [parts[start : start + 50] for start in range(0, len(parts), 50)]
    items = "".join(f'<item id="c{n}" href="c{n}.xhtml"/>' for n in range(len(chapters)))
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("META-INF/container.xml", '<container><rootfile full-path="book.opf"/></container>')
        archive.writestr(
            "book.opf",
            f"<package><metadata><title>{title}</title></metadata>"
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
        )
        for n, chapter in enumerate(chapters):
            body = f"<h1>Chapter {n + 1}</h1>" + "".join(f"<p>{part}</p>" for part in chapter)
            page = f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>'
            archive.writestr(f"c{n}.xhtml", page)
    return buffer.getvalue()


def pdf_book(words: list[str]) -> bytes:
    """Pages of 40 lines with a running head and a number."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    kids = []
    for page in range(PAGES):
        chosen = random.Random(page).choices(words, k=400)
        lines = [
            "THE MADE-UP BOOK",
            *(" ".join(chosen[n : n + 10]) for n in range(0, 400, 10)),
            str(page + 1),
        ]
        shown = "".join(f"({line}) Tj T* " for line in lines).encode()
        content = b"BT /F1 9 Tf 12 TL 50 800 Td " + shown + b"ET"
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), PAGES)
    body, places = b"%PDF-1.4\n", []
    chunks = [body]
    at = len(body)
    for number, content in enumerate(objects, start=1):
        chunk = b"%d 0 obj\n%s\nendobj\n" % (number, content)
        places.append(at)
        at += len(chunk)
        chunks.append(chunk)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    chunks.append(b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table))
    chunks.append(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, at))
    return b"".join(chunks)


def shelf(words: list[str]) -> Iterator[Upload]:
    """The books, made one at a time so that the shelf itself takes no memory."""
    for number in range(BOOKS):
        parts = paragraphs(words, WORDS, number)
        if number % 2:
            yield Upload(f"book {number}.epub", epub_book(parts, f"Book {number}"))
        else:
            yield Upload(f"book {number}.txt", text_book(parts))


def peak_mib() -> float:
    """The highest memory so far of this process and of the largest that it has waited for, together."""
    kib = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return kib / 1024


def main() -> int:
    words = vocabulary(20_000)
    pdf = pdf_book(words)

    # Making the books is not what is measured.
    making = time.perf_counter()
    for _ in shelf(words):
        pass
    made_in = time.perf_counter() - making

    started = time.perf_counter()
    documents = [document for result in read_files(shelf(words)) for document in result.documents]
    snippets = [snippet for document in documents for snippet in sample(document).snippets]
    books_seconds = time.perf_counter() - started - made_in
    n_words = sum(len(document.text.split()) for document in documents)
    books_mib = peak_mib()
    print(f"{len(documents)} books, {n_words:,} words, {len(snippets):,} snippets: ", end="")
    print(f"{books_seconds:.1f} s (limit {MOST_SECONDS:.0f}), {books_mib:,.0f} MiB (limit {MOST_MIB:,.0f})")

    started = time.perf_counter()
    pairs = shared_passages(snippets)
    print(f"shared passages among them: {len(pairs)} pairs in {time.perf_counter() - started:.1f} s, ", end="")
    print(f"{peak_mib():,.0f} MiB")

    started = time.perf_counter()
    (document,) = read_file("book.pdf", pdf)
    pdf_seconds = time.perf_counter() - started
    print(f"one PDF of {PAGES:,} pages, {len(document.text.split()):,} words: ", end="")
    print(f"{pdf_seconds:.1f} s (limit {MOST_SECONDS:.0f})")
    return int(max(books_seconds, pdf_seconds) > MOST_SECONDS or books_mib > MOST_MIB)


if __name__ == "__main__":
    sys.exit(main())
