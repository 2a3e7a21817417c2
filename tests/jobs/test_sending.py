"""What is said before texts are sent, on numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from auditlib.audits.companions import CompanionSettings
from auditlib.jobs.sending import estimate_sending
from auditlib.models.request import EndpointRequest
from auditlib.ui.companion_fields import readings

URL = "https://far.example/v1"
TEXTS = [("abcd" * 10, 1), ("abcd" * 15, 2)]  # 160 bytes


def test_without_a_count_four_bytes_are_a_token() -> None:
    estimate = estimate_sending(EndpointRequest(URL, "m"), TEXTS)
    assert (estimate.tokens, estimate.cost, estimate.is_within) == (40, None, True)


def test_counted_texts_stand_for_the_others_and_those_that_cannot_be_scored_for_none() -> None:
    asked: list[int] = []

    def count(texts: Sequence[str]) -> list[int | None]:
        asked.append(len(texts))
        return [None if place == 0 else len(text) // 2 for place, text in enumerate(texts)]

    estimate = estimate_sending(EndpointRequest(URL, "m", price=3.0), TEXTS * 500, count)
    assert estimate.tokens == 160 * 500 // 2
    assert estimate.cost == pytest.approx(40_000 * 3 / 1e6)
    assert asked[0] <= 100  # not a thousand texts through the worker


@pytest.mark.parametrize(("limits", "within"), [({"most_tokens": 39}, False), ({"most_tokens": 40}, True)])
def test_budget_that_does_not_hold_it_is_said(limits: dict, within: bool) -> None:
    assert estimate_sending(EndpointRequest(URL, "m", **limits), TEXTS).is_within is within


def test_limit_of_cost_is_one_too() -> None:
    endpoint = EndpointRequest(URL, "m", price=1_000_000.0, most_cost=30.0)
    assert not estimate_sending(endpoint, TEXTS).is_within


def test_no_texts_cost_nothing() -> None:
    assert estimate_sending(EndpointRequest(URL, "m"), []).tokens == 0


def test_what_is_read_besides_is_counted_too() -> None:
    texts = ["abcd" * 10] * 5
    assert readings(texts, CompanionSettings()) == [("abcd" * 10, 2)] * 5
    variants = CompanionSettings(neighbours="own", n_neighbours=25)
    assert estimate_sending(EndpointRequest(URL, "m"), readings(texts, variants)).tokens == 27 * 5 * 10
    prefixes = CompanionSettings(shots=3)  # of 64 words each, six letters a word
    expected = 4 * 5 * 10 + 2 * 5 * 3 * 64 * 6 / 4
    assert estimate_sending(EndpointRequest(URL, "m"), readings(texts, prefixes)).tokens == expected
