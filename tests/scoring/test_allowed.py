"""Which scores a model allows, before anything is read."""

from __future__ import annotations

import pytest

from auditlib.core import Capability
from auditlib.scoring import SCORES, needed_besides, not_allowed_because

ALL = frozenset(Capability)
SERVED = frozenset({Capability.TOKEN_LOGPROBS, Capability.RANK})


def allowed(capabilities: frozenset[Capability], takes_prefixes: bool, vocabulary_size: int) -> set[str]:
    return {
        name
        for name, score in SCORES.items()
        if not_allowed_because(score, capabilities, takes_prefixes, vocabulary_size) is None
    }


def test_model_that_gives_everything_allows_every_score() -> None:
    assert allowed(ALL, True, 400) == set(SCORES)


def test_server_allows_what_needs_log_probabilities_alone_and_a_tokenizer_allows_more() -> None:
    bare = allowed(SERVED, False, 0)
    assert bare == {"loss", "lowercase", "zlib", "min_k", "neighbour", "reference"}
    assert allowed(SERVED, True, 0) - bare == {"recall", "con_recall"}
    assert allowed(SERVED, True, 400) - allowed(SERVED, True, 0) == {"dc_pdd"}


@pytest.mark.parametrize("name", sorted(SCORES))
def test_every_refusal_and_every_need_is_said_in_words(name: str) -> None:
    score = SCORES[name]
    for capabilities, takes, vocabulary in ((frozenset(), True, 9), (SERVED, False, 0)):
        reason = not_allowed_because(score, capabilities, takes, vocabulary)
        assert reason is None or reason.endswith(".")
    assert "Companion" not in needed_besides(score)
