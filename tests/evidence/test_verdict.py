"""Three words, each reason with its number, and `supported` only where every one holds."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from auditlib.evidence import (
    LIMITS,
    Difference,
    Findings,
    Interval,
    Word,
    blind_baseline,
    calibration_verdict,
    compare_lengths,
    examine,
    text_verdict,
)
from auditlib.evidence.text_features import RECENT_YEAR
from tests.evidence.made_up import made_up

LENGTHS = compare_lengths(np.full(40, 300.0), np.arange(40) < 20)
GOOD = Findings(
    auc=Interval(0.9, 0.85, 0.94, 0.95, ""),
    p=1e-6,
    p_corrected=1e-5,
    blind_auc=Interval(0.55, 0.45, 0.65, 0.95, ""),
    over_blind=Difference(0.35, 0.2, 0.5, 1e-6, 0.95, ""),
    adds_to_blind_p=1e-6,
    lengths=LENGTHS,
    power=0.99,
    same_model=True,
)
UNLIKE = compare_lengths(np.where(np.arange(40) < 20, 300.0, 100.0), np.arange(40) < 20)
ABSENT = replace(
    GOOD,
    auc=Interval(0.52, 0.44, 0.6, 0.95, ""),
    p=0.3,
    p_corrected=0.3,
    over_blind=Difference(0, -0.1, 0.1, 1, 0.95, ""),
)


def test_supported_where_all_holds() -> None:
    verdict = calibration_verdict(GOOD)
    assert verdict.word is Word.SUPPORTED
    assert all(holds for holds, _ in verdict.reasons)
    assert verdict.limits == LIMITS
    assert (verdict.p, set(verdict.intervals)) == (1e-5, {"AUC", "AUC of the words alone", "Difference"})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"auc": Interval(0.9, 0.49, 0.99, 0.95, "")}, "does not lie above 0.50"),
        ({"p_corrected": 0.06}, "After correction p is 0.06, above"),
        ({"over_blind": Difference(0.1, -0.01, 0.2, 0.07, 0.95, "")}, "not shown to beat them"),
        ({"blind_auc": Interval(0.71, 0.6, 0.8, 0.95, "")}, "account for more than half"),
        ({"adds_to_blind_p": 0.2}, "not shown to add"),
        ({"blind_auc": None}, "not tried how well the words"),
        ({"lengths": None}, "were not compared"),
        ({"lengths": UNLIKE}, "not comparable"),
        ({"same_model": False}, "is not that of the texts"),
        ({"shared_texts": 2}, "2 texts stand in both sets"),
        ({"scores_vary": False}, "the same score"),
    ],
)
def test_each_reason_that_fails_keeps_it_from_supported_and_is_named(change: dict[str, object], words: str) -> None:
    verdict = calibration_verdict(replace(GOOD, **change))
    assert verdict.word is Word.INCONCLUSIVE
    assert [sentence for holds, sentence in verdict.reasons if not holds and words in sentence]


def test_not_supported_needs_power_and_an_interval_below_what_was_looked_for() -> None:
    assert calibration_verdict(ABSENT).word is Word.NOT_SUPPORTED
    assert calibration_verdict(ABSENT, smallest_auc=0.58).word is Word.INCONCLUSIVE
    weak = calibration_verdict(replace(ABSENT, power=0.5))
    assert weak.word is Word.INCONCLUSIVE
    assert "in only 50% of audits: more texts are needed" in weak.reasons[-1].sentence


@pytest.mark.parametrize("change", [{"same_model": False}, {"shared_texts": 1}, {"scores_vary": False}])
def test_nothing_is_said_to_be_absent_on_sets_that_cannot_tell(change: dict[str, object]) -> None:
    assert calibration_verdict(replace(ABSENT, **change)).word is Word.INCONCLUSIVE


def test_no_word_of_guilt_is_ever_said() -> None:
    said = LIMITS
    for findings in (GOOD, ABSENT, replace(GOOD, lengths=None, blind_auc=None, same_model=False)):
        said += " ".join(sentence for _, sentence in calibration_verdict(findings).reasons)
    for p in (0.01, 0.5):
        said += " ".join(s for _, s in text_verdict("supported", p, 0.05, True, True, 100, 0.9).reasons)
    assert not re.search(r"proof|prove|stolen|guilt|steal", said, re.IGNORECASE)


def test_sets_that_differ_only_in_vocabulary_are_never_supported_however_good_the_score() -> None:
    rng = np.random.default_rng(1)
    labels = np.arange(100) < 50
    years = np.where(labels, rng.integers(1990, 2020, 100), rng.integers(RECENT_YEAR, RECENT_YEAR + 3, 100))
    texts = [f"On day {rng.integers(100)} of {year} rain fell on the town." for year in years]
    blind = blind_baseline(texts, labels)
    findings = examine(
        labels,
        labels + 0.01 * rng.normal(size=100),
        blind_scores=blind.scores,
        lengths=np.full(100, 10),
        same_model=True,
    )
    assert findings.auc.estimate == 1.0
    assert calibration_verdict(findings).word is not Word.SUPPORTED
    # Also where the words alone are a little worse than the score, and both intervals are narrow.
    nearly = replace(
        GOOD,
        auc=Interval(1.0, 0.99, 1.0, 0.95, ""),
        blind_auc=Interval(0.98, 0.97, 0.99, 0.95, ""),
        over_blind=Difference(0.02, 0.01, 0.03, 1e-4, 0.95, ""),
    )
    assert calibration_verdict(nearly).word is Word.INCONCLUSIVE


def test_nothing_to_find_is_hardly_ever_supported_and_a_good_score_mostly() -> None:
    rng = np.random.default_rng(2)
    words = {0.5: 0, 0.9: 0}
    for auc in words:
        for seed in range(25):
            labels, scores, group = made_up(rng, 20, 5, 0.3, auc)
            blind = made_up(rng, 20, 5, 0.3)[1]
            findings = examine(
                labels, scores, group, blind_scores=blind, lengths=np.full(200, 300), same_model=True, seed=seed
            )
            words[auc] += calibration_verdict(findings).word is Word.SUPPORTED
    assert words[0.5] <= 1
    assert words[0.9] >= 20


def test_a_score_that_adds_against_membership_does_not_count_as_adding() -> None:
    labels, scores, _ = made_up(np.random.default_rng(3), 50, auc=0.9)
    blind = np.random.default_rng(4).normal(size=100)
    assert examine(labels, -scores, blind_scores=blind, lengths=None, same_model=True).adds_to_blind_p == 1.0


def test_trying_six_scores_multiplies_p() -> None:
    labels, scores, _ = made_up(np.random.default_rng(5), 30, auc=0.65)
    once = examine(labels, scores, blind_scores=None, lengths=None, same_model=True)
    six = examine(labels, scores, blind_scores=None, lengths=None, same_model=True, n_tried=6)
    assert six.p_corrected == pytest.approx(min(1, 6 * once.p))


def test_power_counts_groups_that_are_alike_as_less() -> None:
    rng = np.random.default_rng(6)
    alike, unlike = made_up(rng, 15, 20, 0.9), made_up(rng, 15, 20, 0.01)
    powers = [
        examine(labels, scores, group, blind_scores=None, lengths=None, same_model=True).power
        for labels, scores, group in (alike, unlike)
    ]
    assert powers[0] < 0.8 < powers[1]


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({}, Word.SUPPORTED),
        ({"p": 0.3}, Word.INCONCLUSIVE),
        ({"p": 0.3, "power": 0.9}, Word.NOT_SUPPORTED),
        ({"p": 0.3, "power": 0.4}, Word.INCONCLUSIVE),
        ({"calibration_word": "inconclusive"}, Word.INCONCLUSIVE),
        ({"calibration_word": "inconclusive", "p": 0.3, "power": 0.9}, Word.INCONCLUSIVE),
        ({"in_length_range": False}, Word.INCONCLUSIVE),
        ({"same_model": False}, Word.INCONCLUSIVE),
        ({"n_compared": 10}, Word.INCONCLUSIVE),
    ],
)
def test_verdict_on_one_text(given: dict[str, object], word: Word) -> None:
    usual = {
        "calibration_word": "supported",
        "p": 0.01,
        "alpha": 0.05,
        "in_length_range": True,
        "same_model": True,
        "n_compared": 200,
    }
    assert text_verdict(**(usual | given)).word is word
