"""What a finished unlearning audit keeps, and how it is read again: numbers, generated texts, and short quotations."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

import pandas as pd

from auditlib.audits.unlearning import UnlearningResult
from auditlib.audits.unlearning.gallery import Gallery
from auditlib.core import AuditError
from auditlib.jobs.kinds import RunContext
from auditlib.jobs.plain import from_plain, to_plain
from auditlib.store import Artifacts, Run, Runs, Store

RESULT = "result.json"
JUDGEMENTS = "judgements.json"
GALLERY = "gallery.json"
RATINGS = "ratings.json"  # people's own; the run does not make it
CHUNKS_FILE = "chunks.parquet"
COMPLETIONS_FILE = "completions.parquet"
QUESTIONS_FILE = "answers.parquet"


def put_gallery(context: RunContext, gallery: Gallery) -> None:
    """Keeps it among the run's files."""
    context.put(GALLERY, "application/json", json.dumps(to_plain(gallery), indent=1, allow_nan=False).encode())


def put_tables(context: RunContext, result: UnlearningResult) -> None:
    """Chunks, completions and questions as tables."""
    for name, frame in tables_of(result).items():
        data = io.BytesIO()
        frame.to_parquet(data, index=False)
        context.put(f"{name}.parquet", "application/vnd.apache.parquet", data.getvalue())


def tables_of(result: UnlearningResult, with_texts: bool = True) -> dict[str, pd.DataFrame]:
    """A row a chunk, a completion, a question; generated texts and questions only `with_texts`."""
    tables = {"chunks": pd.DataFrame([to_plain(line) for line in result.screening.lines])}
    for column in ("ratio", "perplexity_ratio"):
        tables["chunks"][column] = pd.to_numeric(tables["chunks"][column], errors="coerce")
    if result.completions.completions:
        rows = pd.DataFrame([to_plain(one) for one in result.completions.completions])
        tables["completions"] = rows if with_texts else rows.drop(columns=["text", "judge_reason"])
    if result.questions is not None and result.questions.lines:
        rows = pd.DataFrame([to_plain(line) for line in result.questions.lines]).drop(columns=["place"])
        rows["ratio"] = pd.to_numeric(rows["ratio"], errors="coerce")
        tables["answers"] = rows if with_texts else rows.drop(columns=["question", "answer", "best"])
    return tables


def load_unlearning(store: Store, run: Run) -> UnlearningResult:
    """What a finished run found. Raises `AuditError` where its file is gone, altered, or of another version."""
    return _load(UnlearningResult, store, run, RESULT)


def load_gallery(store: Store, run: Run) -> Gallery:
    """The closest completions. Raises `AuditError` likewise."""
    return _load(Gallery, store, run, GALLERY)


def people_ratings(store: Store, run: Run) -> dict[tuple[str, int], int]:
    """What people have rated, by chunk and sample; nothing where the file is not there or says nothing of use."""
    artifacts = Artifacts(store)
    if all(file.name != RATINGS for file in artifacts.of(run.id)):
        return {}
    try:
        rows = json.loads(artifacts.read(run.id, RATINGS))
        return {(str(chunk), int(sample)): int(rating) for chunk, sample, rating in rows if 1 <= int(rating) <= 5}
    except (AuditError, ValueError, TypeError):
        return {}


def keep_ratings(store: Store, run: Run, ratings: Mapping[tuple[str, int], int], now: datetime) -> None:
    """Keeps people's ratings with the run, in place of those that were there."""
    rows = [[chunk, sample, rating] for (chunk, sample), rating in sorted(ratings.items())]
    Artifacts(store).put(run.id, RATINGS, "application/json", json.dumps(rows).encode(), now)


def all_judgements(store: Store, run: Run) -> dict[str, dict[str, Any]]:
    """Answers of judges that this run or earlier ones of its workspace have had: nothing is paid for twice."""
    found: dict[str, dict[str, Any]] = {}
    artifacts = Artifacts(store)
    for one in [*reversed(Runs(store, run.workspace).all()), run]:
        if one.kind != run.kind or all(file.name != JUDGEMENTS for file in artifacts.of(one.id)):
            continue
        try:
            value = json.loads(artifacts.read(one.id, JUDGEMENTS))
        except (AuditError, ValueError):
            continue
        if isinstance(value, Mapping):
            found |= {str(key): dict(answer) for key, answer in value.items() if isinstance(answer, Mapping)}
    return found


Kept = TypeVar("Kept", UnlearningResult, Gallery)


def _load(kind: type[Kept], store: Store, run: Run, name: str) -> Kept:
    try:
        return from_plain(kind, json.loads(Artifacts(store).read(run.id, name)))
    except ValueError as error:
        raise AuditError(
            f"The result of this run was written by another version of the program ({str(error)[:100]}).",
            "Duplicate the run: its texts are not read again as long as the cache holds them.",
        ) from error
