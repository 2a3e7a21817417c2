"""The evidence package of a book audit, out of the same facts as its report."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from auditlib.audits.books import BookAudit, PlacedWorks, Shelf
from auditlib.audits.books.tables import book_table, snippet_table, variant_table
from auditlib.models.request import BUNDLED
from auditlib.reports.books import books_report
from auditlib.reports.books_facts import BooksFacts
from auditlib.reports.package import Evidence, InputText

KIND = "books"
LABELS = {Shelf.MEMBERS: "member", Shelf.NON_MEMBERS: "non-member", Shelf.AUDITED: "audited"}


def books_evidence(
    facts: BooksFacts,
    snippets_sha256: Sequence[str],
    calibration: str | None = None,
    texts: Mapping[str, str] | None = None,
) -> Evidence:
    """All that goes into the package. `texts` by their SHA-256 are put in where the person ticked so."""
    return Evidence(
        kind=KIND,
        report=books_report(facts),
        tables={
            "books": book_table(facts.read, facts.found),
            "scores": snippet_table(facts.read, facts.found.settings.k),
            "sensitivity": variant_table(facts.found, facts.read),
            "reasons": _reason_table(facts),
        },
        parameters=_parameters(facts),
        numbers=numbers_to_compare(facts.found, facts.read.placed),
        identities={"target": facts.model.as_dict()},
        inputs=_inputs(facts.read.placed, snippets_sha256, texts or {}),
        seed=facts.found.settings.seed,
        versions=facts.versions,
        command=facts.command,
        calibration=calibration,
        notes=facts.read.placed.notes,
    )


def numbers_to_compare(found: BookAudit, placed: PlacedWorks) -> dict[str, float | None]:
    """What two audits must agree in, by name: each book's mean, p and rates, and how well each score separates."""
    numbers: dict[str, float | None] = {"threshold": found.judged.threshold, "power": found.judged.power}
    if placed.blind is not None:
        numbers["words_alone.auc"] = placed.blind.blind.auc.estimate
    for name, method in found.methods.items():
        auc = method.findings.auc
        numbers |= {f"{name}.auc": auc.estimate, f"{name}.auc_low": auc.low, f"{name}.auc_high": auc.high}
    for book in found.judged.books:
        # By its text and not its title: two books may have one title.
        name = placed.works[book.work].documents[0][:16]
        rate = book.rate
        corrected = None if rate is None else rate.corrected
        numbers |= {
            f"{name}.mean": book.mean,
            f"{name}.p": book.p,
            f"{name}.p_corrected": book.p_corrected,
            f"{name}.raw_rate": None if rate is None else rate.raw.estimate,
            f"{name}.corrected_rate": None if corrected is None else corrected.estimate,
            f"{name}.corrected_low": None if corrected is None else corrected.low,
            f"{name}.corrected_high": None if corrected is None else corrected.high,
        }
    return numbers


def books_command(placed: PlacedWorks, found: BookAudit, adapter: str | None, texts: str) -> str:
    """What repeats the audit from a shell. `adapter` is the adapter's folder, `texts` where the books came from.

    MEMBERS, NON-MEMBERS, AUDITED and CALIBRATION.json stand for what only the reader knows: where the books lie.
    """
    settings, cutting = found.settings, placed.cutting
    demo = texts == "demo"
    words = ["python", "-m", "auditlib", "books", "--audited", "assets/demo/books" if demo else "AUDITED"]
    if found.known.source:
        words += ["--calibration", "CALIBRATION.json"]
    else:
        words += ["--members", "assets/demo/members.jsonl" if demo else "MEMBERS"]
        words += ["--non-members", "assets/demo/non-members.jsonl" if demo else "NON-MEMBERS"]
    if placed.identity.source != BUNDLED:
        words += ["--model", placed.identity.source]
    if adapter is not None:
        words += ["--adapter", adapter]
    words += ["--words", str(cutting.words), "--snippets", str(cutting.count), "--seed", str(cutting.seed)]
    words += ["--score", settings.score, "--k", f"{settings.k:g}", "--rule", str(settings.rule)]
    return shlex.join([*words, "--alpha", f"{settings.alpha:g}", "--correction", settings.correction])


def _parameters(facts: BooksFacts) -> dict[str, Any]:
    placed, settings = facts.read.placed, facts.found.settings
    run = {"run": facts.run} if facts.run else {}
    return {
        "name": facts.name,
        **asdict(settings),
        "k": float(settings.k),
        "alpha": float(settings.alpha),
        "cutting": asdict(placed.cutting),
        "steps": [list(steps) for steps in facts.steps],
        "texts": facts.texts,
        "shelves_sha256": placed.shelves_sha256,
        "calibration": facts.found.known.source or None,
        "works": [
            {
                "title": work.title,
                "author": work.author,
                "year": work.year,
                "shelf": work.shelf.value,
                "documents": list(work.documents),
                "editions": list(work.editions),
            }
            for work in placed.works
        ],
        **run,
    }


def _inputs(placed: PlacedWorks, snippets_sha256: Sequence[str], texts: Mapping[str, str]) -> list[InputText]:
    works = [placed.works[work] for work in placed.work_of.tolist()]
    return [
        InputText(
            sha256=sha256,
            title=work.title,
            label=LABELS[work.shelf],
            n_words=int(placed.word_count[place]),
            document=work.documents[int(placed.part[place])],
            first_word=int(placed.first_word[place]),
            text=texts.get(sha256),
        )
        for place, (work, sha256) in enumerate(zip(works, snippets_sha256, strict=True))
    ]


def _reason_table(facts: BooksFacts) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "title": facts.work_of(book).title,
                "verdict": book.verdict.word.value,
                "holds": reason.holds,
                "reason": reason.sentence,
            }
            for book in facts.ordered
            for reason in book.verdict.reasons
        ]
    )
