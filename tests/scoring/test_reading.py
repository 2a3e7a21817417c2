"""Texts through a model to readings, and readings to rows."""

from __future__ import annotations

import numpy as np
import pytest

from auditlib.core import AuditError
from auditlib.models.local import LocalModel
from auditlib.scoring import all_scores, read_texts
from auditlib.scoring.min_k import bottom_mask
from auditlib.scoring.token_table import token_table
from tests.tiny import byte_level_tokenizer, llama_config, local_model

TEXTS = ["The Ferry was late.", "She counted the apples twice and wrote it Down. " * 4, "no capitals in this one"]


@pytest.fixture(scope="module")
def model() -> LocalModel:
    return local_model(llama_config(context=256), byte_level_tokenizer(), batch_tokens=64)


def test_each_text_comes_back_once_with_its_own_lower_case(model: LocalModel) -> None:
    readings = dict(read_texts(model, TEXTS))
    lowered = dict(model.token_stats([text.lower() for text in TEXTS]))
    assert sorted(readings) == [0, 1, 2]
    for index, text in enumerate(TEXTS):
        assert readings[index].text == text
        assert readings[index].lowercased is not None
        np.testing.assert_allclose(readings[index].lowercased.logprob, lowered[index].logprob, atol=1e-4)


def test_text_without_capitals_has_lowercase_score_of_minus_one(model: LocalModel) -> None:
    readings = dict(read_texts(model, TEXTS))
    assert all_scores(readings[2], model.capabilities)["lowercase"] == pytest.approx(-1.0, abs=1e-5)


def test_without_lowercase_each_text_is_read_once(model: LocalModel) -> None:
    totals: list[int] = []
    for lowercase in (True, False):
        list(read_texts(model, TEXTS, lowercase=lowercase, progress=lambda _, total: totals.append(total)))
    assert totals[-1] < totals[0]


def test_text_too_short_in_lower_case_only_goes_without_that_score(model: LocalModel) -> None:
    in_capitals = "THE"
    with pytest.raises(AuditError):
        model.tokens_to_read(in_capitals.lower())
    readings = dict(read_texts(model, [in_capitals, TEXTS[1]]))
    assert readings[0].lowercased is None
    assert all_scores(readings[0], model.capabilities)["lowercase"] is None
    assert all_scores(readings[0], model.capabilities)["min_k"] is not None
    assert readings[1].lowercased is not None


def test_text_that_cannot_be_scored_is_named(model: LocalModel) -> None:
    with pytest.raises(AuditError, match="^a.txt is empty"):
        list(read_texts(model, ["", TEXTS[1]], names=["a.txt", "b.txt"]))


def test_token_table_has_a_row_for_each_token_that_points_into_the_text(model: LocalModel) -> None:
    ((_, reading),) = read_texts(model, [TEXTS[1]])
    table = token_table(reading, model.token_text(reading.stats.token_ids.tolist()))
    assert len(table) == reading.stats.n_tokens
    for row in table.itertuples():
        assert TEXTS[1][row.start : row.end] == row.text
    assert table["in_bottom_k"].sum() == bottom_mask(reading.stats.logprob, 20).sum()
    np.testing.assert_allclose(table["probability"], np.exp(table["logprob"]))
    np.testing.assert_allclose(table["entropy"], -reading.stats.expected)
