"""A finished audit seen through another window and with people's ratings: all from what was kept, without a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from auditlib.audits.unlearning.audit import UnlearningResult
from auditlib.audits.unlearning.completions import rated_again
from auditlib.audits.unlearning.questions import selected_again
from auditlib.audits.unlearning.screening import screened_again
from auditlib.audits.unlearning.verdict import unlearning_verdict


def judged_again(result: UnlearningResult, factor: float, ratings: Mapping[tuple[str, int], int]) -> UnlearningResult:
    """The audit with `factor` for its window, and people's ratings by chunk and sample, which go before the judge's.

    Raises `AuditError` for a factor that makes no window and for a rating that is none.
    """
    seed = result.settings.seed
    screening = screened_again(result.screening, factor)
    test = rated_again(result.completions, screening, ratings, seed)
    return replace(
        result,
        settings=replace(result.settings, factor=factor),
        screening=screening,
        completions=test,
        questions=None if result.questions is None else selected_again(result.questions, factor, seed),
        verdict=unlearning_verdict(screening, result.forgetting, test),
    )
