"""How long the statistics take: 10,000 snippets in 100 groups, all that one score gets, then six; and the words.

`python -m benchmarks.evidence`
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from auditlib.evidence import (
    a_a_run,
    adds_to_blind,
    auc_difference,
    auc_interval,
    auc_over_blind,
    auc_p,
    blind_baseline,
    choose_setting,
    compare_lengths,
    conformal_ps,
    corrected_rate,
    extraction_windows,
    label_reversal,
    length_dependence,
    out_of_fold_accuracy,
    roc,
    tpr_at_fpr,
)
from auditlib.evidence.arrays import BoolArray, FloatArray, IntArray

SEED = 20261121
N_GROUPS = 100
N_SNIPPETS = 10_000
N_SCORES = 6
SECONDS_ALLOWED = 10.0


def main() -> None:
    rng = np.random.default_rng(SEED)
    group = np.repeat(np.arange(N_GROUPS), N_SNIPPETS // N_GROUPS)
    is_member = group < N_GROUPS // 2
    book = rng.normal(size=(N_SCORES + 1, N_GROUPS))[:, group]
    scores = 0.5 * book + rng.normal(size=(N_SCORES + 1, N_SNIPPETS)) + 0.8 * is_member
    lengths = rng.integers(300, 520, N_SNIPPETS).astype(np.float64)
    blind = scores[-1] - 0.7 * is_member
    print(f"{N_SNIPPETS:,} snippets in {N_GROUPS} groups, 2,000 draws\n")
    print("| what | seconds of one core |\n|---|---|")
    one = sum(timed(name, work) for name, work in statistics_of(scores[0], scores[1], blind, is_member, group, lengths))
    print(f"| **all of one score** (allowed: {SECONDS_ALLOWED:.0f}) | **{one:.1f}** |")
    began = time.process_time()
    for row in scores[:N_SCORES]:
        for _, work in statistics_of(row, scores[1], blind, is_member, group, lengths):
            work()
    print(f"| all of {N_SCORES} scores | {time.process_time() - began:.1f} |")
    timed("a sweep of 12 settings, one chosen", lambda: choose_setting(is_member, np.tile(scores, (2, 1))[:12], group))
    for n, low, high in ((N_SNIPPETS, 100, 500), (80, 300, 500)):
        texts = made_up_texts(rng, n, low, high)
        labels = np.arange(n) < n // 2
        timed(f"blind baseline, {n:,} texts of {low} to {high} words", lambda t=texts, y=labels: blind_baseline(t, y))  # type: ignore[misc]


def statistics_of(
    scores: FloatArray,
    other: FloatArray,
    blind: FloatArray,
    is_member: BoolArray,
    group: IntArray,
    lengths: FloatArray,
) -> list[tuple[str, Callable[[], object]]]:
    """All that an audit computes for one score."""
    called = scores >= 0.4
    quarter = slice(None, None, 4)
    return [
        ("AUC with its interval", lambda: auc_interval(is_member, scores, group)),
        ("difference from another score", lambda: auc_difference(is_member, scores, other, group)),
        ("difference from the words", lambda: auc_over_blind(is_member, scores, blind, group)),
        ("p for AUC > 0.5", lambda: auc_p(is_member, scores, group)),
        ("ROC", lambda: roc(is_member, scores)),
        ("TPR at 5% FPR", lambda: tpr_at_fpr(is_member, scores, 0.05, group)),
        ("TPR at 1% FPR", lambda: tpr_at_fpr(is_member, scores, 0.01, group)),
        ("out-of-fold accuracy", lambda: out_of_fold_accuracy(is_member, scores, group)),
        ("does it add to the words", lambda: adds_to_blind(is_member, scores, blind, group)),
        ("length: correlation", lambda: length_dependence(scores, lengths)),
        ("length: comparison", lambda: compare_lengths(lengths, is_member, group)),
        ("label reversal", lambda: label_reversal(is_member, scores, group)),
        ("A/A", lambda: a_a_run(scores[~is_member], group[~is_member])),
        (
            "2,500 conformal p-values",
            lambda: conformal_ps(scores[quarter], lengths[quarter], scores[~is_member], lengths[~is_member]),
        ),
        (
            "corrected rate of a book",
            lambda: corrected_rate(
                called[:100], called[is_member], called[~is_member], None, group[is_member], group[~is_member]
            ),
        ),
        ("extraction windows of 100,000 tokens", lambda: extraction_windows(-np.abs(np.resize(scores, 100_000)))),
    ]


def timed(name: str, work: Callable[[], object]) -> float:
    """Runs `work`, prints and gives its processor time in seconds, which other work on the machine leaves as it is."""
    began = time.process_time()
    work()
    seconds = time.process_time() - began
    print(f"| {name} | {seconds:.2f} |", flush=True)
    return seconds


def made_up_texts(rng: np.random.Generator, n: int, low: int, high: int) -> list[str]:
    """Texts of `low` to `high` words out of 80,000, as frequent as Zipf has it."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(row) for row in rng.choice(letters, (80_000, 7))])
    frequency = 1 / np.arange(1, len(words) + 1)
    lengths = rng.integers(low, high + 1, n)
    flat = words[rng.choice(len(words), lengths.sum(), p=frequency / frequency.sum())]
    return [" ".join(piece) for piece in np.split(flat, np.cumsum(lengths)[:-1])]


if __name__ == "__main__":
    main()
