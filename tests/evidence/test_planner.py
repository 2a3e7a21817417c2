"""What sets of a size can show: published standard errors, and simulated power."""

from __future__ import annotations

import numpy as np
import pytest

from auditlib.core import AuditError
from auditlib.evidence import delong, plan, power_to_see
from auditlib.evidence.planner import auc_standard_error
from tests.evidence.made_up import made_up


def test_standard_error_is_the_one_hanley_and_mcneil_print() -> None:
    # 1982, their table II and page 34: 51 abnormal and 58 normal images, area 0.893, standard error 0.032.
    assert auc_standard_error(0.893, 51, 58) == pytest.approx(0.032, abs=0.001)


@pytest.mark.parametrize(("auc", "n"), [(0.6, 60), (0.7, 30), (0.65, 100)])
def test_power_is_what_simulation_finds(auc: float, n: int) -> None:
    rng = np.random.default_rng(1)
    seen = np.mean([delong(*made_up(rng, n, auc=auc)[:2]).low > 0.5 for _ in range(400)])
    assert power_to_see(auc, n, n) == pytest.approx(seen, abs=0.08)


def test_expected_width_is_near_the_found_one() -> None:
    rng = np.random.default_rng(2)
    widths = [i.high - i.low for i in (delong(*made_up(rng, 100, auc=0.8)[:2]) for _ in range(50))]
    assert plan(100, 100).auc_widths[0.8] == pytest.approx(np.mean(widths), rel=0.1)


def test_groups_needed_are_enough_and_one_fewer_is_not() -> None:
    needed = plan(100, 100).groups_for_power
    assert power_to_see(0.7, needed, needed) >= 0.8 > power_to_see(0.7, needed - 1, needed - 1)


def test_snippets_of_a_book_are_worth_less_than_texts_of_their_own() -> None:
    assert plan(1000, 1000, 10, 10).auc_widths[0.7] > 3 * plan(1000, 1000).auc_widths[0.7]
    assert plan(1000, 1000, 10, 10, within_group=0.0).auc_widths[0.7] == pytest.approx(plan(1000, 1000).auc_widths[0.7])


def test_a_shelf_of_a_hundred_against_fifty_books() -> None:
    found = plan(5000, 5000, 50, 50, n_audited=100)
    # 1/51 each: Benjamini-Hochberg needs r with (1/51) * 100 / r <= 0.05, so r = 40.
    assert (found.smallest_p, found.works_at_smallest_p) == (pytest.approx(1 / 51), 40)
    assert "at least 40 of them" in found.sentences[-1]


def test_ten_books_can_carry_no_verdict_and_the_plan_says_so() -> None:
    found = plan(1000, 1000, 10, 10, n_audited=5)
    assert found.works_at_smallest_p is None
    assert "no audited work can reach 0.05; 19 non-member groups could" in found.sentences[-1]


def test_one_work_against_nineteen_books_can_just_reach_five_percent() -> None:
    assert plan(190, 190, 19, 19).works_at_smallest_p == 1


def test_half_of_the_non_members_resolve_the_fpr() -> None:
    assert plan(100, 100).smallest_fpr == pytest.approx(0.02)


def test_sets_that_cannot_be_are_refused() -> None:
    with pytest.raises(AuditError, match="at least 2 groups"):
        plan(1, 100)
    with pytest.raises(AuditError, match="no more groups than texts"):
        plan(10, 10, 20, 5)
