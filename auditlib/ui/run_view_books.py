"""Book audits on the Runs page: their parameters in words, what a duplicate may change, and two of them compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from auditlib.audits.books import Shelf
from auditlib.documents.cutting import METHODS
from auditlib.jobs import books_parameters, load_books
from auditlib.reports.plain_words import interval_text
from auditlib.scoring import SCORES
from auditlib.store import Run
from auditlib.ui.books_shelves import CORRECTIONS
from auditlib.ui.companion_fields import companion_facts
from auditlib.ui.library import store
from auditlib.ui.messages import some
from auditlib.ui.model_fields import model_fields, model_words


def books_words(run: Run) -> dict[str, str]:
    """See `RunView.words`."""
    asked = books_parameters(run.parameters)
    counts = {shelf: sum(one.shelf is shelf for one in asked.documents) for shelf in Shelf}
    texts = {
        "demo": "the demo's passages and books",
        "brought": "files brought with the run",
        "documents": ", ".join(f"{some(n, 'document')} {shelf.value}" for shelf, n in counts.items() if n),
    }[asked.texts]
    cut = asked.cutting
    settings = asked.settings
    return {
        "Model": model_words(asked.model),
        "Texts": texts,
        "Judged by": f"the calibration {asked.calibration}" if asked.calibration else "known books",
        "Cut": f"{METHODS[cut.method]}, {cut.count:,} of {cut.words:,} words, seed {cut.seed}",
        "Score": SCORES[settings.score].label,
        "k": f"{settings.k:g}% of tokens",
        "Alpha": f"{settings.alpha:g}",
        "Threshold": "best accuracy" if settings.rule == "accuracy" else f"{settings.rule:g} false positives",
        "p corrected by": CORRECTIONS[settings.correction],
        "Seed": str(settings.seed),
    } | companion_facts(asked.companions)


def books_changes(run: Run) -> dict[str, Any]:
    """See `RunView.changes`."""
    asked = books_parameters(run.parameters)
    left, middle, right = st.columns(3)
    k = left.number_input("k (% of tokens)", min(0.1, asked.settings.k), 100.0, asked.settings.k, 5.0, "%g")
    words = middle.number_input("Words a snippet", 1, 100_000, asked.cutting.words)
    count = right.number_input("Snippets a book", 1, 10_000, asked.cutting.count)
    model = model_fields(asked.model, f"copy_{run.id}")
    now = replace(
        asked,
        settings=replace(asked.settings, k=float(k)),
        cutting=replace(asked.cutting, words=int(words), count=int(count)),
        model=model,
    )
    return {
        name: getattr(now, name)
        for name in ("settings", "cutting", "model")
        if getattr(now, name) != getattr(asked, name)
    }


def compare_books(first: Run, second: Run) -> None:
    """See `RunView.compare`."""
    rows: dict[str, dict[str, str]] = {}
    for column, run in (("first", first), ("second", second)):
        summary = load_books(store(), run)
        for book in summary.found.judged.books:
            work = summary.placed.works[book.work]
            rate = "–" if book.rate is None else interval_text(book.rate.raw)
            p = "–" if book.p_corrected is None else f"{book.p_corrected:.3g}"
            row = rows.setdefault(work.title, {"Book": work.title})
            row[f"{column}: raw rate"] = rate
            row[f"{column}: p corrected"] = p
            row[f"{column}: verdict"] = book.verdict.word.value
    st.dataframe(pd.DataFrame(list(rows.values())).fillna("–"), hide_index=True)
    st.caption("Raw rates are shares of snippets above each run's own threshold, with 95% intervals.")
