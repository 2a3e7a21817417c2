"""Others go first in the middle of a forward pass, and nobody's numbers change by it."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from auditlib.models.local import LocalModel
from tests.tiny import byte_level_tokenizer, llama_config, local_model

LONG = "The ferry was late and nobody on the quay was surprised. " * 12
SHORT = "She counted the apples twice."


@pytest.fixture(scope="module")
def model() -> LocalModel:
    return local_model(llama_config(context=512), byte_level_tokenizer())


def logprobs(model: LocalModel, text: str) -> np.ndarray:
    ((_, stats),) = model.token_stats([text])
    return stats.logprob


def test_a_question_is_answered_in_the_middle_of_a_pass_and_both_numbers_stay(model: LocalModel) -> None:
    alone = {text: logprobs(model, text) for text in (LONG, SHORT)}
    answers: list[np.ndarray] = []

    def let_the_question_go_first() -> None:
        # In a thread of its own, as the worker has it; the pass that is interrupted holds no lock meanwhile.
        asking = threading.Thread(target=lambda: answers.append(logprobs(model, SHORT)))
        asking.start()
        asking.join(60)
        assert not asking.is_alive()

    with model.giving_way(let_the_question_go_first):
        among = logprobs(model, LONG)
    assert len(answers) >= 2  # once a layer
    assert np.array_equal(among, alone[LONG])
    assert all(np.array_equal(answer, alone[SHORT]) for answer in answers)


def test_a_pass_is_ended_from_within_and_the_model_reads_on(model: LocalModel) -> None:
    class Ended(BaseException):
        pass

    def end() -> None:
        raise Ended

    with pytest.raises(Ended), model.giving_way(end):
        logprobs(model, LONG)
    assert len(logprobs(model, SHORT))


def test_who_did_not_ask_to_be_interrupted_is_not(model: LocalModel) -> None:
    def refuse() -> None:
        raise AssertionError("called")

    with model.giving_way(refuse):
        pass
    assert len(logprobs(model, LONG))
