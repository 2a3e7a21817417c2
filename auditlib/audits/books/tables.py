"""What a book audit found as tables, for export."""

from __future__ import annotations

from typing import Any

import pandas as pd

from auditlib.audits.books.audit import BookAudit
from auditlib.audits.books.numbers import ALL, WHOLE
from auditlib.audits.books.reading import ReadBooks
from auditlib.audits.calibration import K_SCORES
from auditlib.evidence import Interval
from auditlib.scoring import SCORES


def book_table(read: ReadBooks, found: BookAudit) -> pd.DataFrame:
    """One row an audited book; what it has not is empty."""
    rows = []
    for book in found.judged.books:
        work = read.placed.works[book.work]
        extracted = found.extractions.by_work[book.work]
        rate = book.rate
        rows.append(
            {
                "title": work.title,
                "author": work.author,
                "year": work.year,
                "document": " ".join(work.documents),
                "words": work.n_words,
                "snippets": book.n_snippets,
                **_columns("raw_rate", None if rate is None else rate.raw),
                **_columns("corrected_rate", None if rate is None else rate.corrected),
                "mean_score": book.mean,
                "p": book.p,
                "p_corrected": book.p_corrected,
                "verdict": book.verdict.word.value,
                **{
                    f"passages_at_{threshold:g}": share
                    for threshold, share in zip(extracted.thresholds, extracted.shares, strict=True)
                },
                "longest_run": extracted.longest_runs[1],
            }
        )
    return pd.DataFrame(rows).astype({"year": "Int64"})


def snippet_table(read: ReadBooks, k: float) -> pd.DataFrame:
    """One row a snippet: where it stands, its length, and a column for each score, empty where it was not read so."""
    placed, numbers = read.placed, read.numbers
    works = [placed.works[work] for work in placed.work_of.tolist()]
    columns: dict[str, Any] = {
        "work": [work.title for work in works],
        "shelf": [work.shelf.value for work in works],
        "document": [work.documents[part] for work, part in zip(works, placed.part.tolist(), strict=True)],
        "first_word": placed.first_word,
        "n_words": placed.word_count,
        "n_tokens": numbers.n_tokens,
    }
    for name in SCORES:
        values = numbers.by_score[name][ALL, WHOLE]
        columns[name] = values[:, numbers.ks.index(k)] if name in K_SCORES else values
    return pd.DataFrame(columns)


def variant_table(found: BookAudit, read: ReadBooks) -> pd.DataFrame:
    """One row a book and variant of the settings."""
    rows = [
        {
            "axis": variant.axis,
            "value": variant.value,
            "chosen": variant.is_chosen,
            "title": read.placed.works[book.work].title,
            "verdict": word.value,
            "p_corrected": p,
            "raw_rate": raw,
            "corrected_rate": corrected,
        }
        for variant in found.variants
        for book, word, p, raw, corrected in zip(
            found.judged.books,
            variant.words,
            variant.p_corrected,
            variant.raw,
            variant.corrected,
            strict=bool(variant.words),
        )
    ]
    return pd.DataFrame(rows)


def _columns(name: str, value: Interval | None) -> dict[str, float | None]:
    if value is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: value.estimate, f"{name}_low": value.low, f"{name}_high": value.high}
