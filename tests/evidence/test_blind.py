"""The blind baseline finds what differs between the sets, and finds nothing where nothing does."""

from __future__ import annotations

import numpy as np
import pytest

from auditlib.evidence import blind_baseline, cross_validated_auc, delong

WORDS = np.array([a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in ("", "n", "r", "st", "ll")])
MEMBERS = np.arange(80) < 40


def texts_of(rng: np.random.Generator, n: int, n_words: int = 40) -> list[str]:
    frequency = 1 / np.arange(1, len(WORDS) + 1)
    return [" ".join(rng.choice(WORDS, n_words, p=frequency / frequency.sum())) for _ in range(n)]


def test_late_years_give_the_sets_away() -> None:
    rng = np.random.default_rng(1)
    years = np.where(MEMBERS, rng.integers(1990, 2020, 80), rng.integers(2023, 2026, 80))
    texts = [f"{text} in {year}." for text, year in zip(texts_of(rng, 80), years, strict=True)]
    found = blind_baseline(texts, MEMBERS)
    assert found.auc.estimate > 0.98
    assert "a year from 2023 on is named" in [t.name for t in found.strongest if t.weight < 0]


def test_a_word_of_one_set_is_named_with_its_direction() -> None:
    rng = np.random.default_rng(2)
    texts = [
        text + (" whereas" if member else " notwithstanding")
        for text, member in zip(texts_of(rng, 80), MEMBERS, strict=True)
    ]
    weights = {t.name: t.weight for t in blind_baseline(texts, MEMBERS).strongest}
    assert weights["the word “whereas”"] > 0 > weights["the word “notwithstanding”"]


def test_lengths_alone_give_the_sets_away() -> None:
    rng = np.random.default_rng(3)
    texts = texts_of(rng, 40, 30) + texts_of(rng, 40, 60)
    assert blind_baseline(texts, MEMBERS).auc.estimate > 0.95


def test_straight_and_curly_quotes_give_the_sets_away() -> None:
    """Sets that went through different cleaning differ in letters, not in words."""
    texts = [
        f"{text} ‘yes’" if m else f"{text} 'yes'"
        for text, m in zip(texts_of(np.random.default_rng(4), 80), MEMBERS, strict=True)
    ]
    assert blind_baseline(texts, MEMBERS).auc.estimate > 0.95


def with_topics(rng: np.random.Generator, texts: list[str], groups: np.ndarray) -> list[str]:
    """Each group has a made-up word of its own, said three times."""
    topics = ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 7)) for _ in range(groups.max() + 1)]
    return [" ".join([text, *[topics[g]] * 3]) for text, g in zip(texts, groups, strict=True)]


@pytest.mark.parametrize("topics", [None, 20])
def test_where_nothing_differs_the_mean_auc_is_a_half_and_the_interval_says_so(topics: int | None) -> None:
    rng = np.random.default_rng(5)
    aucs, covered = [], 0
    for seed in range(30):
        texts = texts_of(rng, 40)
        groups = None
        is_member = np.arange(40) < 20
        if topics:  # each group has a word of its own
            groups = np.arange(40) // (40 // topics)
            texts = with_topics(rng, texts, groups)
        found = blind_baseline(texts, is_member, groups, seed=seed)
        aucs.append(found.auc.estimate)
        covered += found.auc.low <= 0.5 <= found.auc.high
    assert np.mean(aucs) == pytest.approx(0.5, abs=0.08)
    assert covered / 30 >= 0.8


def test_a_group_is_never_judged_by_a_classifier_that_saw_it() -> None:
    """Every group has a word of its own: one that saw it would know its label without error."""
    rng = np.random.default_rng(6)
    groups = np.arange(80) // 8
    texts = with_topics(rng, texts_of(rng, 80), groups)
    assert blind_baseline(texts, MEMBERS).auc.estimate > 0.95
    assert blind_baseline(texts, MEMBERS, groups).auc.estimate < 0.8


def test_same_seed_same_scores() -> None:
    texts = texts_of(np.random.default_rng(7), 80)
    np.testing.assert_array_equal(
        blind_baseline(texts, MEMBERS, seed=3).scores, blind_baseline(texts, MEMBERS, seed=3).scores
    )


@pytest.mark.parametrize("texts", [[""] * 80, ["the same text for all"] * 80, list("aeeiuaoiuo" * 8)])
def test_texts_without_anything_to_learn_from_are_no_error(texts: list[str]) -> None:
    found = blind_baseline(texts, MEMBERS)
    assert 0 <= found.auc.low <= found.auc.high <= 1
    assert found.auc.estimate < 0.7


def test_cross_validation_widens_the_interval_by_the_root_of_two_on_the_logit_scale() -> None:
    scores = np.random.default_rng(8).normal(size=80) + MEMBERS
    plain, wider = delong(MEMBERS, scores), cross_validated_auc(MEMBERS, scores)

    def logit(p: float) -> float:
        return float(np.log(p / (1 - p)))

    assert logit(wider.high) - logit(wider.low) == pytest.approx(np.sqrt(2) * (logit(plain.high) - logit(plain.low)))
