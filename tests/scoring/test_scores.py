"""Each score against a calculation by hand. The numbers beside the formulas can be checked with a pocket calculator."""

from __future__ import annotations

import math
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditlib.core import AuditError, Capability, TokenStats
from auditlib.scoring import SCORES, Companion, FrequencyTable, Neighbours, Reading, all_scores, checked_k
from auditlib.scoring.loss import perplexity
from auditlib.scoring.min_k import bottom_count, bottom_mask, bottom_mean
from auditlib.scoring.min_k_plus_plus import standardized_logprob

EVERYTHING = frozenset(Capability)
LOGPROB = [-1.0, -4.0, -2.0, -0.5, -8.0]  # mean -3.1


def stats_of(
    logprob: list[float], expected: list[float] | None = None, variance: list[float] | None = None
) -> TokenStats:
    n = len(logprob)
    return TokenStats(
        token_ids=np.arange(n, dtype=np.int32),
        start=np.arange(n, dtype=np.int32),
        end=np.arange(1, n + 1, dtype=np.int32),
        logprob=np.array(logprob, dtype=np.float32),
        expected=None if expected is None else np.array(expected, dtype=np.float32),
        variance=None if variance is None else np.array(variance, dtype=np.float32),
        rank=None,
    )


def reading_of(k: float = 20, text: str = "Abcde", lowercased: list[float] | None = None) -> Reading:
    stats = stats_of(LOGPROB, expected=[-2.0] * 5, variance=[4.0, 4.0, 1.0, 0.25, 9.0])
    return Reading(text, stats, k, None if lowercased is None else stats_of(lowercased))


def test_loss_is_the_mean_log_probability_and_perplexity_its_exponential() -> None:
    assert SCORES["loss"].compute(reading_of()) == pytest.approx(-3.1)
    assert perplexity(np.array(LOGPROB, dtype=np.float32)) == pytest.approx(math.exp(3.1))


def test_perplexity_beyond_all_numbers_is_infinite() -> None:
    assert perplexity(np.array([-9970.0], dtype=np.float32)) == math.inf


def test_zlib_divides_by_the_compressed_bytes_of_the_utf8_text() -> None:
    text = "Zürich " * 30
    compressed = len(zlib.compress(text.encode(), 6))
    assert SCORES["zlib"].compute(reading_of(text=text)) == pytest.approx(-3.1 / compressed)


def test_lowercase_is_minus_the_ratio_of_the_losses() -> None:
    assert SCORES["lowercase"].compute(reading_of(lowercased=[-6.2, -6.2])) == pytest.approx(-0.5)
    assert SCORES["lowercase"].compute(reading_of(lowercased=LOGPROB)) == pytest.approx(-1.0)


@pytest.mark.parametrize(
    ("k", "mean"),
    [(20, -8.0), (39.9, -8.0), (40, -6.0), (60, -14 / 3), (100, -3.1), (1, -8.0)],
)
def test_min_k_is_the_mean_of_the_lowest_k_percent(k: float, mean: float) -> None:
    assert SCORES["min_k"].compute(reading_of(k)) == pytest.approx(mean)


def test_min_k_plus_plus_is_the_mean_of_the_lowest_standardized_log_probabilities() -> None:
    # (logprob + 2) / sd = 0.5, -1, 0, 3, -2
    np.testing.assert_allclose(standardized_logprob(reading_of().stats), [0.5, -1, 0, 3, -2])
    assert SCORES["min_k_plus_plus"].compute(reading_of(20)) == pytest.approx(-2.0)
    assert SCORES["min_k_plus_plus"].compute(reading_of(40)) == pytest.approx(-1.5)


@pytest.mark.parametrize(
    ("n", "k", "count"),
    [(1, 20, 1), (4, 20, 1), (5, 20, 1), (9, 20, 1), (10, 20, 2), (100, 29, 29), (3, 100, 3), (2, 1, 1)],
)
def test_bottom_count_is_the_floor_and_never_none(n: int, k: float, count: int) -> None:
    """29% of 100 is 29, though int(100 * 0.29) is 28 in floating point."""
    assert bottom_count(n, k) == count


@given(st.lists(st.floats(-30, 0, width=32), min_size=1, max_size=80), st.integers(1, 100))
def test_bottom_mean_is_the_mean_of_the_sorted_head(values: list[float], k: int) -> None:
    array = np.array(values, dtype=np.float32)
    head = sorted(values)[: bottom_count(len(values), k)]
    assert bottom_mean(array, k) == pytest.approx(sum(head) / len(head), abs=1e-6)
    marked = array[bottom_mask(array, k)]
    assert sorted(marked.tolist()) == head


@pytest.mark.parametrize("name", list(SCORES))
def test_text_that_the_model_foresaw_better_scores_higher(name: str) -> None:
    """The orientation that every later statistic rests on: higher = member."""

    def reading(shift: float) -> Reading:
        known = [value + shift for value in LOGPROB]
        return Reading(
            "The Same Text",
            stats_of(known, [-1.5] * 5, [1.0] * 5),
            20,
            lowercased=stats_of([-9.0] * 5),
            reference=9.0,
            neighbours=Neighbours((9.0, 8.0), "a test"),
            after_non_members=stats_of([-9.0] * 6).logprob,
            after_members=stats_of([-1.0] * 6).logprob,
            frequencies=FrequencyTable("a test", np.array([5, 4, 3, 2, 1])),
        )

    assert SCORES[name].compute(reading(0.4)) > SCORES[name].compute(reading(0.0))


def test_score_that_needs_more_than_the_model_gives_is_unavailable_with_the_reason() -> None:
    reading = Reading("text", stats_of(LOGPROB))
    only_logprobs = frozenset({Capability.TOKEN_LOGPROBS})
    scores = all_scores(reading, only_logprobs)
    assert scores["min_k_plus_plus"] is None
    assert scores["lowercase"] is None
    assert scores["min_k"] == pytest.approx(-8.0)
    reason = SCORES["min_k_plus_plus"].unavailable_because(reading, only_logprobs)
    assert reason == "This model does not give the full distribution over the vocabulary."
    assert SCORES["lowercase"].unavailable_because(reading, EVERYTHING)


@pytest.mark.parametrize("k", [0, -1, 101, float("nan")])
def test_k_outside_its_range_is_refused(k: float) -> None:
    with pytest.raises(AuditError, match="k is a percentage"):
        checked_k(k)
    with pytest.raises(ValueError, match="k must be"):
        bottom_count(10, k)


def test_reference_is_the_difference_of_the_two_losses_whatever_the_tokens() -> None:
    # NLL 3.1 under the model, (2 + 6) / 2 = 4 under a reference with two tokens
    reading = replace(reading_of(), reference=4.0)
    assert SCORES["reference"].compute(reading) == pytest.approx(0.9)


def test_neighbour_is_the_mean_loss_of_the_neighbours_less_the_texts_own() -> None:
    reading = replace(reading_of(), neighbours=Neighbours((3.0, 4.0, 6.5), "a test"))
    assert SCORES["neighbour"].compute(reading) == pytest.approx(4.5 - 3.1)  # mean 4.5; the best neighbour has 3.0


def test_recall_is_the_ratio_of_the_log_likelihoods_over_the_same_tokens() -> None:
    # After the prefix the first token is scored too, with -100, and does not count: LL = -31 / 5 = -6.2
    after = stats_of([-100.0, -6.0, -7.0, -8.0, -5.0, -5.0]).logprob
    assert SCORES["recall"].compute(replace(reading_of(), after_non_members=after)) == pytest.approx(2.0)
    same = replace(reading_of(), after_non_members=stats_of(LOGPROB).logprob)
    assert SCORES["recall"].compute(same) == pytest.approx(1.0)


def test_con_recall_takes_half_of_the_members_away() -> None:
    # (-6.2 - 0.5 * -1.55) / -3.1 = 1.75
    reading = replace(
        reading_of(),
        after_non_members=stats_of([-6.2] * 5).logprob,
        after_members=stats_of([-9.0, *[-1.55] * 5]).logprob,
    )
    assert SCORES["con_recall"].compute(reading) == pytest.approx(1.75)


def test_prefixed_reading_of_other_tokens_is_no_reading_of_the_same_text() -> None:
    with pytest.raises(ValueError, match="4 tokens after the prefix and 5"):
        SCORES["recall"].compute(replace(reading_of(), after_non_members=stats_of([-1.0] * 4).logprob))


def test_dc_pdd_counts_first_occurrences_and_clips_each() -> None:
    # Frequencies (count + 1) / (6 + 4): 0.4, 0.3, 0.2, 0.1. Tokens 3 2 3 0, so the second 3 does not count.
    table = FrequencyTable("a test", np.array([3, 2, 1, 0]))
    stats = replace(
        stats_of([math.log(0.001), math.log(0.5), math.log(0.9), math.log(0.002)]),
        token_ids=np.array([3, 2, 3, 0], dtype=np.int32),
    )
    by_hand = [0.001 * -math.log(0.1), 0.01, 0.002 * -math.log(0.4)]  # the middle one, 0.5 * 1.609, is clipped
    score = SCORES["dc_pdd"].compute(Reading("text", stats, frequencies=table))
    assert score == pytest.approx(sum(by_hand) / 3)
    assert table.total == 6


def test_token_that_the_corpus_lacks_is_rare_and_not_impossible() -> None:
    table = FrequencyTable("a test", np.array([9, 0]))
    np.testing.assert_allclose(table.log_frequency(np.array([1])), [math.log(1 / 11)])


def test_surp_is_the_mean_of_unlikely_tokens_where_the_model_was_sure() -> None:
    # The 20th percentile of ten values lies between the second and the third lowest: -9 and -7 are below it.
    # At -9 the entropy is 2.5, so only -7 counts; at the other sure places the tokens were likely.
    logprob = [-9.0, -7.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0]
    expected = [-2.5, -1.9, -0.5, -0.5, -0.5, -0.5, -0.5, -0.5, -0.5, -3.0]
    assert SCORES["surp"].compute(Reading("text", stats_of(logprob, expected))) == pytest.approx(-7.0)
    sure = Reading("text", stats_of(logprob, [-1.0, *expected[1:]]))
    assert SCORES["surp"].compute(sure) == pytest.approx(-8.0)


def test_surp_of_a_text_without_surprises_is_zero() -> None:
    assert SCORES["surp"].compute(Reading("text", stats_of([-1.0] * 5, [-0.5] * 5))) == 0.0
    assert SCORES["surp"].compute(Reading("text", stats_of(LOGPROB, [-2.0] * 5))) == 0.0  # 2 is not below 2


@pytest.mark.parametrize("companion", list(Companion))
def test_score_whose_companion_was_not_read_is_unavailable_with_the_reason(companion: Companion) -> None:
    needing = [score for score in SCORES.values() if companion in score.reads]
    assert needing
    for score in needing:
        reason = score.unavailable_because(reading_of(), EVERYTHING)
        assert reason
        assert reason.endswith(".")
        with pytest.raises(ValueError, match="not|no "):
            score.compute(reading_of())


def test_every_score_says_what_it_measures_and_how_to_read_it() -> None:
    for name, score in SCORES.items():
        assert score.name == name
        assert score.label
        assert score.unit
        assert score.meaning.endswith(".")
        assert score.direction.startswith("Higher")
