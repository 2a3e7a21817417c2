"""The demo's unlearning audit by the shell: the book that was unlearned, and the one that was left alone."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from typer.testing import CliRunner

from auditlib.cli import app


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    began = time.monotonic()
    result = CliRunner().invoke(app, ["unlearning", "--demo", "--json"])
    assert result.exit_code == 0, result.stderr
    print(f"the demo took {time.monotonic() - began:.0f} s")
    made: dict[str, Any] = json.loads(result.stdout)
    return made


def counts(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {count["role"]: count for count in found["screening"]["counts"]}


@pytest.mark.bundled
def test_the_unlearned_book_and_the_one_left_alone_come_out_on_their_right_sides(found: dict[str, Any]) -> None:
    forgotten, kept = counts(found)["to be forgotten"], counts(found)["to be kept"]
    assert forgotten["share"]["high"] < 0.5 < kept["share"]["low"]
    ratios = {
        role: [line["ratio"] for line in found["screening"]["lines"] if line["role"] == role]
        for role in ("to be forgotten", "to be kept")
    }
    assert min(ratios["to be forgotten"]) > max(ratios["to be kept"])
    assert found["verdict"]["over_forgetting"] == []


@pytest.mark.bundled
def test_completions_of_the_two_books_differ_by_an_interval_over_chunks_that_excludes_0(
    found: dict[str, Any],
) -> None:
    pairs = {(one["measure"], one["first"], one["second"]): one for one in found["completions"]["comparisons"]}
    books = pairs["cosine", "to be kept", "to be forgotten"]
    assert books["difference"]["low"] > 0
    assert books["p"] < 0.05
    assert books["n_first"] + books["n_second"] <= 28  # chunks, of which there are several samples each
    suspicious = pairs["cosine", "suspicious chunks", "other chunks"]
    assert suspicious["difference"]["low"] > 0


@pytest.mark.bundled
def test_the_model_knew_the_book_before_and_knows_it_less_after(found: dict[str, Any]) -> None:
    own = found["forgetting"]["forgotten"]
    assert own["original"]["low"] > 0.5
    assert own["fall"]["low"] > 0
