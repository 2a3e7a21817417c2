"""Unlearning audits on the Runs page: their parameters in words, what a duplicate may change, two of them compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from auditlib.audits.unlearning import Role, UnlearningResult
from auditlib.jobs.unlearning_files import load_unlearning
from auditlib.jobs.unlearning_texts import unlearning_parameters
from auditlib.reports.plain_words import interval_text
from auditlib.scoring import SCORES
from auditlib.store import Run
from auditlib.ui.library import store
from auditlib.ui.messages import some
from auditlib.ui.model_fields import model_fields, model_words


def unlearning_words(run: Run) -> dict[str, str]:
    """See `RunView.words`."""
    asked = unlearning_parameters(run.parameters)
    settings = asked.all_settings
    counts = {role: sum(one.role is role for one in asked.documents) for role in Role}
    texts = ", ".join(f"{some(n, 'document')} {role.value}" for role, n in counts.items() if n)
    return {
        "Original model": model_words(asked.original),
        "Unlearned model": model_words(asked.unlearned),
        "Never-trained model": model_words(asked.reference) if asked.reference else "none",
        "Works": "the demo's books" if asked.texts == "demo" else texts,
        "Chunks": f"{settings.chunk_words:,} words, of which {settings.prompt_words:,} are the prompt",
        "Completions": f"{settings.samples:,} of each chunk" if asked.complete else "none",
        "Score": SCORES[settings.score].label,
        "k": f"{settings.k:g}% of tokens",
        "Window": f"1/{settings.factor:g} to {settings.factor:g}",
        "Margin": f"{settings.margin:g}",
        "Sentence model": asked.embedding or "none",
        "Judge": f"{asked.judge.model} at {asked.judge.base_url}" if asked.judge else "none",
        "Seed": str(settings.seed),
    }


def unlearning_changes(run: Run) -> dict[str, Any]:
    """See `RunView.changes`."""
    asked = unlearning_parameters(run.parameters)
    settings = asked.settings
    left, middle, right = st.columns(3)
    words = left.number_input("Words in a chunk", 1, 100_000, settings.chunk_words)
    prompt = middle.number_input("of which are the prompt", 1, 100_000, settings.prompt_words)
    samples = right.number_input("Continuations of each", 1, max(100, settings.samples), settings.samples)
    original = model_fields(asked.original, f"copy_original_{run.id}", "Original model")
    unlearned = model_fields(asked.unlearned, f"copy_unlearned_{run.id}", "Unlearned model")
    now = replace(
        asked,
        settings=replace(settings, chunk_words=int(words), prompt_words=int(prompt), samples=int(samples)),
        original=original,
        unlearned=unlearned,
    )
    return {
        name: getattr(now, name)
        for name in ("settings", "original", "unlearned")
        if getattr(now, name) != getattr(asked, name)
    }


def compare_unlearning(first: Run, second: Run) -> None:
    """See `RunView.compare`."""
    columns = {name: _facts(load_unlearning(store(), run)) for name, run in (("first", first), ("second", second))}
    rows = list(dict.fromkeys(name for facts in columns.values() for name in facts))
    st.table(
        pd.DataFrame({column: [facts.get(name, "–") for name in rows] for column, facts in columns.items()}, index=rows)
    )
    st.caption("Estimates with 95% intervals, each under the run's own settings.")


def _facts(result: UnlearningResult) -> dict[str, str]:
    facts = {"Verdict": result.verdict.word.value, "Unlearned model": result.unlearned.name}
    for count in result.screening.counts:
        facts[f"Suspicious chunks, works {count.role.value}"] = f"{count.n_suspicious:,} of {count.n_chunks:,}"
    for own in (result.forgetting.forgotten, result.forgetting.kept):
        if own is not None and own.original is not None and own.unlearned is not None:
            facts[f"AUC before, works {own.role.value}"] = interval_text(own.original)
            facts[f"AUC after, works {own.role.value}"] = interval_text(own.unlearned)
    for one in result.completions.comparisons:
        if one.measure in ("cosine", "rouge_l") and one.difference is not None:
            facts[f"{one.measure}, {one.first} less {one.second}"] = interval_text(one.difference, "+.2f")
    return facts
