"""The test of a score over the words, against a closed form and statsmodels, and where it could go wrong."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from auditlib.evidence import adds_to_blind, auc_difference, auc_over_blind
from auditlib.evidence.over_blind import _firth
from tests.evidence.made_up import made_up


def test_firth_with_one_yes_or_no_variable_adds_half_a_text_to_each_cell() -> None:
    """Known in closed form (Heinze and Schemper 2002, section 2): log((a + .5)(d + .5)/((b + .5)(c + .5)))."""
    variable = np.repeat([1.0, 1.0, 0.0, 0.0], [12, 3, 0, 20])  # 12 and 0 members: separated in one cell
    is_member = np.repeat([True, False, True, False], [12, 3, 0, 20])
    design = np.stack([np.ones(35), variable], axis=1)
    coefficients, _ = _firth(design, is_member, np.arange(2))
    assert coefficients[1] == pytest.approx(np.log(12.5 * 20.5 / (3.5 * 0.5)), abs=1e-5)


def test_with_many_texts_it_is_the_likelihood_ratio_test_of_statsmodels() -> None:
    rng = np.random.default_rng(1)
    blind, score = rng.normal(size=(2, 4000))
    labels = rng.random(4000) < 1 / (1 + np.exp(-blind - 0.1 * score))
    null = sm.Logit(labels.astype(float), sm.add_constant(blind)).fit(disp=0)
    full = sm.Logit(labels.astype(float), sm.add_constant(np.stack([blind, score], axis=1))).fit(disp=0)
    found = adds_to_blind(labels, score, blind)
    assert found.statistic == pytest.approx(2 * (full.llf - null.llf), rel=0.02)
    assert found.direction == 1.0


def test_perfect_separation_stays_finite() -> None:
    labels = np.arange(60) < 30
    rng = np.random.default_rng(2)
    for blind in (rng.normal(size=60), labels + 0.0):
        found = adds_to_blind(labels, labels + 0.01 * rng.normal(size=60), blind)
        assert np.isfinite(found.statistic)
        assert 0 <= found.p <= 1
    assert adds_to_blind(labels, labels + 0.0, rng.normal(size=60)).p < 1e-10


def test_a_copy_of_the_words_adds_nothing() -> None:
    labels, blind, group = made_up(np.random.default_rng(3), 50, 2, 0.3, 0.9)
    assert adds_to_blind(labels, blind, blind).p > 0.5
    assert adds_to_blind(labels, blind, blind, group).p > 0.5
    assert adds_to_blind(labels, np.zeros(200), blind).p == 1.0


def test_a_score_that_speaks_against_membership_says_so() -> None:
    labels, score, group = made_up(np.random.default_rng(4), 40, 5, 0.2, 0.9)
    blind = np.random.default_rng(5).normal(size=400)
    for groups in (None, group):
        found = adds_to_blind(labels, -score, blind, groups)
        assert found.direction == -1.0
        assert found.p < 0.01


@pytest.mark.parametrize("size", [1, 10])
def test_p_is_uniform_where_the_score_adds_nothing(size: int) -> None:
    rng = np.random.default_rng(6)
    within = 0.5 if size > 1 else 0.0
    ps = []
    for _ in range(400):
        labels, blind, group = made_up(rng, 20, size, within, 0.7)
        noise = made_up(rng, 20, size, within)[1]
        ps.append(adds_to_blind(labels, blind + 2 * noise, blind, group).p)
    assert np.mean(np.array(ps) <= 0.05) <= 0.085
    assert np.mean(ps) == pytest.approx(0.5, abs=0.07)


def test_snippets_of_few_books_are_not_so_many_witnesses() -> None:
    rng = np.random.default_rng(7)
    labels, score, group = made_up(rng, 6, 100, 0.9)
    blind = rng.normal(size=1200)
    assert adds_to_blind(labels, score, blind, group).p > 20 * adds_to_blind(labels, score, blind).p


def test_the_difference_from_the_words_is_wider_than_the_plain_one() -> None:
    rng = np.random.default_rng(8)
    labels, score, _ = made_up(rng, 50, 1, 0.0, 0.8)
    blind = rng.normal(size=100)
    plain, wider = auc_difference(labels, score, blind), auc_over_blind(labels, score, blind)
    assert wider.estimate == plain.estimate
    assert wider.low < plain.low < plain.high < wider.high
    assert wider.p == pytest.approx(2 * stats.norm.sf(wider.estimate / wider.standard_error))
