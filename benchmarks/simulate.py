"""Do the statistics keep what they promise? A thousand made-up audits of each kind, where the truth is known.

`python -m benchmarks.simulate` prints the table in about a quarter of an hour on one core that it has for itself.
`--write FILE` keeps it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import special, stats

from auditlib.evidence import (
    Difference,
    Findings,
    Interval,
    Word,
    auc_difference,
    auc_interval,
    auc_p,
    blind_baseline,
    calibration_verdict,
    conformal_ps,
    corrected_rate,
    examine,
    tpr_at_fpr,
)
from auditlib.evidence.arrays import BoolArray, FloatArray, IntArray

SEED = 20261121
RECENT = 2023


@dataclass(frozen=True)
class Row:
    """One promise: what was simulated, what came out, what was promised, and whether it holds."""

    what: str
    sizes: str
    draws: int
    found: str
    wanted: str
    holds: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000, help="made-up audits of each kind")
    parser.add_argument("--write", type=Path, help="write the table to this file as well")
    options = parser.parse_args()
    began = time.process_time()
    lines = ["| what | sizes | draws | found | wanted | holds |", "|---|---|---|---|---|---|"]
    print("\n".join(lines))
    for row in all_rows(options.draws):
        cells = (row.what, row.sizes, f"{row.draws:,}", row.found, row.wanted, "yes" if row.holds else "NO")
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    lines.append(f"\nSeed {SEED}; {time.process_time() - began:,.0f} s of one core.")
    print(lines[-1])
    if options.write:
        heading = "# Simulations: `python -m benchmarks.simulate`\n\n"
        options.write.write_text(heading + "\n".join(lines) + "\n", encoding="utf-8")


def all_rows(draws: int) -> Iterator[Row]:
    yield from interval_rows(draws)
    yield from rate_rows(draws)
    yield from p_rows(draws)
    yield from verdict_rows(draws)


# Scores: normal, with a group's share `within` of the variance, so that the truth is a formula.


def shift_of(auc: float) -> float:
    """How far members must be shifted, in standard deviations, for this AUC."""
    return float(np.sqrt(2) * special.ndtri(auc))


def draw_scores(
    rng: np.random.Generator, groups: int, size: int, within: float, shift: float
) -> tuple[BoolArray, FloatArray, IntArray]:
    """Labels, scores and groups of `groups` member and as many non-member groups of `size` texts."""
    group = np.repeat(np.arange(2 * groups), size)
    is_member = group < groups
    noise = np.sqrt(within) * rng.normal(size=2 * groups)[group] + np.sqrt(1 - within) * rng.normal(size=len(group))
    return is_member, noise + shift * is_member, group


def coverage(
    what: str, sizes: str, draws: int, once: Callable[[np.random.Generator, int], tuple[Interval | Difference, float]]
) -> Row:
    """How often the interval of `once(rng, seed)` holds the truth it gives."""
    rng = np.random.default_rng(SEED)
    covered = 0
    for seed in range(draws):
        interval, truth = once(rng, seed)
        covered += interval.low <= truth <= interval.high
    share = covered / draws
    return Row(what, sizes, draws, f"{share:.1%}", "93% to 97%", 0.93 <= share <= 0.97)


def interval_rows(draws: int) -> Iterator[Row]:
    designs = (
        (100, 1, 0.0, "100 + 100 texts"),
        (20, 10, 0.3, "20 + 20 groups of 10"),
        (20, 10, 0.7, "the same, very alike within groups"),
    )
    for groups, size, within, sizes in designs:
        for truth in (0.5, 0.7, 0.9):

            def auc_once(
                rng: np.random.Generator,
                seed: int,
                groups: int = groups,
                size: int = size,
                within: float = within,
                truth: float = truth,
            ) -> tuple[Interval, float]:
                is_member, scores, group = draw_scores(rng, groups, size, within, shift_of(truth))
                return auc_interval(is_member, scores, group, seed=seed), truth

            yield coverage(f"interval of AUC {truth}", sizes, draws, auc_once)

        def difference_once(
            rng: np.random.Generator, seed: int, groups: int = groups, size: int = size, within: float = within
        ) -> tuple[Difference, float]:
            is_member, first, group = draw_scores(rng, groups, size, within, shift_of(0.8))
            _, other, _ = draw_scores(rng, groups, size, within, 0.0)
            # Correlation 0.5 with the first score, and half of its shift.
            second = 0.5 * first + np.sqrt(0.75) * other
            truth = 0.8 - float(special.ndtr(special.ndtri(0.8) / 2))
            return auc_difference(is_member, first, second, group, seed=seed), truth

        yield coverage("interval of a difference of AUCs", sizes, draws, difference_once)


def rate_rows(draws: int) -> Iterator[Row]:
    """TPR, FPR and corrected rates. The exact interval is conservative with few texts: 400 of each are enough."""
    designs = ((400, 1, 0.0, "400 + 400 texts"), (40, 10, 0.3, "40 + 40 groups of 10"))
    for groups, size, within, sizes in designs:
        for name in ("TPR", "FPR"):

            def rate_once(
                rng: np.random.Generator,
                seed: int,
                name: str = name,
                groups: int = groups,
                size: int = size,
                within: float = within,
            ) -> tuple[Interval, float]:
                is_member, scores, group = draw_scores(rng, groups, size, within, 1.5)
                found = tpr_at_fpr(is_member, scores, 0.05, group, seed)
                if name == "TPR":
                    return found.tpr, float(special.ndtr(1.5 - found.threshold))
                return found.fpr, float(special.ndtr(-found.threshold))

            yield coverage(f"interval of {name} at 5% FPR asked", sizes, draws, rate_once)

    for groups, size, within, sizes in (
        (100, 1, 0.0, "book of 100, 100 + 100 texts"),
        (20, 10, 0.3, "book of 100, 20 + 20 groups of 10"),
    ):
        for truth in (0.0, 0.4, 0.9):

            def corrected_once(
                rng: np.random.Generator,
                seed: int,
                groups: int = groups,
                size: int = size,
                within: float = within,
                truth: float = truth,
            ) -> tuple[Interval, float]:
                is_member, scores, group = draw_scores(rng, groups, size, within, 2.0)
                audited = rng.normal(size=100) + 2.0 * (rng.random(100) < truth)
                called = scores >= 1.2
                found = corrected_rate(
                    audited >= 1.2,
                    called[is_member],
                    called[~is_member],
                    None,
                    group[is_member],
                    group[~is_member],
                    seed=seed,
                )
                return found.corrected or Interval(0.5, 0.0, 1.0, 0.95, "none"), truth

            row = coverage(f"interval of a corrected rate of {truth:.0%}", sizes, draws, corrected_once)
            # At 0 the interval is cut off on one side, and covers more often than it says.
            yield (
                row
                if truth
                else Row(row.what, sizes, draws, row.found, "at least 93%", float(row.found.rstrip("%")) >= 93)
            )


def p_rows(draws: int) -> Iterator[Row]:
    rng = np.random.default_rng(SEED)
    lengths = rng.integers(100, 400, size=(draws, 401))
    scores = rng.normal(size=(draws, 401)) + np.log(lengths)  # a score that depends on length, as many do
    found = [conformal_ps(s[:1], n[:1], s[1:], n[1:])[0].p for s, n in zip(scores, lengths, strict=True)]
    distance = stats.kstest(found, "uniform")
    yield Row(
        "conformal p where nothing is to find, Kolmogorov-Smirnov",
        "400 non-members, lengths 100 to 400",
        draws,
        f"p {distance.pvalue:.2f}",
        "p above 0.05",
        bool(distance.pvalue > 0.05),
    )
    for groups, size, sizes in (
        (50, 1, "50 + 50 texts"),
        (20, 10, "20 + 20 groups of 10"),
        (6, 30, "6 + 6 groups of 30"),
    ):
        below = 0
        for seed in range(draws):
            is_member, values, group = draw_scores(rng, groups, size, 0.3 if size > 1 else 0.0, 0.0)
            below += auc_p(is_member, values, group, seed=seed) <= 0.05
        yield at_most("p for AUC > 0.5, at most 0.05 where nothing is to find", sizes, draws, below, 0.05)


def at_most(what: str, sizes: str, draws: int, count: int, limit: float) -> Row:
    """A share that must not exceed `limit`, give or take two standard errors of the simulation."""
    slack = 2 * np.sqrt(limit * (1 - limit) / draws)
    return Row(what, sizes, draws, f"{count / draws:.1%}", f"at most {limit:.0%}", count / draws <= limit + slack)


# Texts: words of one made-up vocabulary, as frequent as Zipf has it.

VOCABULARY = np.array(
    [
        first + middle + last
        for first in ("ka", "mo", "ri", "tu", "le", "sa", "no", "vi", "be", "gu")
        for middle in ("ran", "del", "mit", "sor", "pen", "lug", "fas", "tir")
        for last in ("", "s", "ed", "ing", "o")
    ]
)
FREQUENCY = 1 / np.arange(1, len(VOCABULARY) + 1) / np.sum(1 / np.arange(1, len(VOCABULARY) + 1))


def draw_texts(rng: np.random.Generator, n: int, topics: int | None = None) -> tuple[list[str], FloatArray]:
    """n texts of 40 words and how common their words are (n,); with `topics`, runs of n/topics texts share words."""
    frequency = np.tile(FREQUENCY, (n, 1))
    if topics:
        frequency = np.repeat(rng.dirichlet(300 * FREQUENCY, topics), n // topics, axis=0)
    places = np.stack([rng.choice(len(VOCABULARY), 40, p=row) for row in frequency])
    return [" ".join(VOCABULARY[row]) for row in places], np.log(FREQUENCY[places]).mean(axis=1)


def audit(
    texts: list[str], is_member: BoolArray, scores: FloatArray, groups: IntArray | None, seed: int
) -> tuple[Findings, Word]:
    """A whole audit, from texts and scores to the verdict's word."""
    blind = blind_baseline(texts, is_member, groups, seed=seed)
    lengths = np.array([len(text.split()) for text in texts])
    findings = examine(
        is_member, scores, groups, blind_scores=blind.scores, lengths=lengths, same_model=True, seed=seed
    )
    return findings, calibration_verdict(findings).word


def verdict_rows(draws: int) -> Iterator[Row]:
    yield from nothing_rows(draws, None, "100 + 100 texts")
    yield from nothing_rows(draws, 20, "10 + 10 groups of 10")
    is_member = np.arange(200) < 100
    rng = np.random.default_rng(SEED)
    some = max(10, draws // 5)
    supported = 0
    for seed in range(some):
        texts, _ = draw_texts(rng, 200)
        scores = rng.normal(size=200) + shift_of(0.9) * is_member
        supported += audit(texts, is_member, scores, None, seed)[1] is Word.SUPPORTED
    yield Row(
        "verdict supported, score of AUC 0.9",
        "100 + 100 texts",
        some,
        f"{supported / some:.1%}",
        "over 80%",
        supported / some > 0.8,
    )
    for share, auc in ((1.0, 0.9), (0.9, 0.999), (0.5, 0.9)):
        supported = 0
        blind = []
        for seed in range(some):
            texts, _ = draw_texts(rng, 200)
            late = ~is_member & (rng.random(200) < share)
            years = np.where(late, rng.integers(RECENT, RECENT + 3, 200), rng.integers(1990, RECENT, 200))
            texts = [f"{text} in {year}" for text, year in zip(texts, years, strict=True)]
            # The model knows nothing but that late years are rare.
            scores = rng.normal(size=200) - shift_of(auc) * late
            findings, word = audit(texts, is_member, scores, None, seed)
            supported += word is Word.SUPPORTED
            blind.append(findings.blind_auc.estimate if findings.blind_auc else 0.5)
        yield Row(
            f"verdict supported, sets differ only in years ({share:.0%} of non-members; words alone: AUC "
            f"{np.mean(blind):.2f})",
            "100 + 100 texts",
            some,
            f"{supported / some:.1%}",
            "0%",
            supported == 0,
        )


def nothing_rows(draws: int, topics: int | None, sizes: str) -> Iterator[Row]:
    """Members and non-members from one pool; the score depends on the words, and on chance."""
    rng = np.random.default_rng(SEED)
    is_member = np.arange(200) < 100
    groups = None if topics is None else np.repeat(np.arange(topics), 200 // topics)
    found = []
    words = dict.fromkeys(Word, 0)
    for seed in range(draws):
        texts, commonness = draw_texts(rng, 200, topics)
        scores = rng.normal(size=200) + commonness / commonness.std()
        findings, word = audit(texts, is_member, scores, groups, seed)
        found.append(findings)
        words[word] += 1
    yield at_most("verdict supported where nothing is to find", sizes, draws, words[Word.SUPPORTED], 0.05)
    for word in (Word.NOT_SUPPORTED, Word.INCONCLUSIVE):
        yield Row(f"verdict {word} then", sizes, draws, f"{words[word] / draws:.1%}", "", True)
    adds = sum((f.adds_to_blind_p or 0) <= 0.05 for f in found)
    yield at_most("p of adding to the words, at most 0.05 then", sizes, draws, adds, 0.05)
    blind = np.array([f.blind_auc.estimate for f in found if f.blind_auc])
    error = blind.std() / np.sqrt(draws)
    yield Row(
        "mean AUC of the words alone then",
        sizes,
        draws,
        f"{blind.mean():.3f} ± {2 * error:.3f}",
        "0.49 to 0.51",
        bool(abs(blind.mean() - 0.5) <= 0.01 + 2 * error),
    )
    covered = np.mean([f.blind_auc.low <= 0.5 <= f.blind_auc.high for f in found if f.blind_auc])
    beaten = np.mean([f.over_blind.low <= 0 <= f.over_blind.high for f in found if f.over_blind])
    yield Row("its interval holds 0.5 then", sizes, draws, f"{covered:.1%}", "at least 88%", bool(covered >= 0.88))
    what = "interval of the score over the words holds 0 then"
    yield Row(what, sizes, draws, f"{beaten:.1%}", "at least 88%", bool(beaten >= 0.88))


if __name__ == "__main__":
    main()
