"""What is tried on connecting: servers whose numbers look well and mean nothing must not come through."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from auditlib.core import AuditError, Settings
from auditlib.models.checks import Outcome
from auditlib.models.endpoint.connecting import connect, examine
from auditlib.models.endpoint.patience import Patience
from auditlib.models.local import LocalModel
from auditlib.models.request import EndpointRequest
from tests.models.endpoint_server import CONTEXT, NAME, served, tiny_model
from tests.tiny import byte_level_tokenizer, llama_config, llama_tokenizer, local_model, save_folder

QUICK = Patience(tries=3, first_wait=0.005, longest_wait=0.01)
SETTINGS = Settings(endpoint_seconds=5)
EVERY_CHECK = [
    "Completions",
    "Limit of alternatives",
    "Longest context",
    "Text comes back",
    "Log-probabilities of the prompt",
    "Not all zero",
    "First token absent",
    "Probabilities add up",
    "Same text, same numbers",
    "Offsets match the text",
    "Letters of all kinds",
    "Agrees with a local copy",
]


@pytest.fixture(scope="module")
def local() -> LocalModel:
    return tiny_model()


@pytest.mark.parametrize("vllm", [True, False], ids=["vllm", "openai"])
def test_good_server_passes_every_check(local: LocalModel, vllm: bool) -> None:
    with served(local, vllm=vllm) as server:
        connection = examine(EndpointRequest(server.url, NAME), SETTINGS, QUICK, local)
    assert connection.problem is None
    assert connection.model is not None
    assert [check.name for check in connection.checks] == EVERY_CHECK
    assert not [check for check in connection.checks if check.outcome is Outcome.FAILED]
    not_checked = {check.name for check in connection.checks if check.outcome is Outcome.NOT_CHECKED}
    assert not_checked == ({"Text comes back"} if vllm else {"Longest context"})
    assert all(check.sentence.endswith(".") for check in connection.checks)


def every_number(answer: dict, change: Callable[[float], float]) -> dict:
    choice = answer["choices"][0]
    for told in choice.get("prompt_logprobs") or []:
        for facts in (told or {}).values():
            facts["logprob"] = change(facts["logprob"])
    if choice["logprobs"]:
        numbers = choice["logprobs"]
        numbers["token_logprobs"] = [None if p is None else change(p) for p in numbers["token_logprobs"]]
        numbers["top_logprobs"] = [t and {k: change(p) for k, p in t.items()} for t in numbers["top_logprobs"]]
    return answer


def all_zero(answer: dict) -> dict:
    return every_number(answer, lambda _: 0.0)


def noisy(answer: dict) -> dict:
    return every_number(answer, lambda p: p - random.random())


def flat(answer: dict) -> dict:
    return every_number(answer, lambda _: -0.7)


def first_token_too(answer: dict) -> dict:
    choice = answer["choices"][0]
    if choice["logprobs"]:
        choice["logprobs"]["token_logprobs"][0] = -3.0
    else:
        choice["prompt_logprobs"][0] = choice["prompt_logprobs"][1]
    return answer


def without_numbers(answer: dict) -> dict:
    choice = answer["choices"][0]
    choice["logprobs"] = choice["prompt_logprobs"] = None
    return answer


def half(answer: dict) -> dict:
    choice = answer["choices"][0]
    if choice["logprobs"]:
        for name, values in choice["logprobs"].items():
            choice["logprobs"][name] = values[: len(values) // 2]
    else:
        choice["prompt_logprobs"] = choice["prompt_logprobs"][: len(choice["prompt_logprobs"]) // 2]
    return answer


@pytest.mark.parametrize("vllm", [True, False], ids=["vllm", "openai"])
@pytest.mark.parametrize(
    ("change", "name", "said"),
    [
        (without_numbers, "Log-probabilities of the prompt", "gives none"),
        (all_zero, "Not all zero", "All of them are 0.0"),
        (noisy, "Same text, same numbers", "differs by"),
        (flat, "Probabilities add up", "it can be 1 at most"),
        (half, "Log-probabilities of the prompt", ""),
    ],
)
def test_server_whose_numbers_mean_nothing_is_refused_with_the_reason(
    local: LocalModel, vllm: bool, change: object, name: str, said: str
) -> None:
    with served(local, vllm=vllm, change=change) as server:
        connection = examine(EndpointRequest(server.url, NAME), SETTINGS, QUICK)
    assert connection.model is None
    assert connection.problem is not None
    failed = [check for check in connection.checks if check.outcome is Outcome.FAILED]
    assert name in [check.name for check in failed]
    assert said in " ".join(check.sentence for check in failed)
    assert "cannot be used for audits" in connection.problem.wrong


@pytest.mark.parametrize("vllm", [True, False], ids=["vllm", "openai"])
def test_number_for_the_first_token_is_a_reason_to_refuse(local: LocalModel, vllm: bool) -> None:
    with served(local, vllm=vllm, change=first_token_too) as server:
        connection = examine(EndpointRequest(server.url, NAME), SETTINGS, QUICK)
    assert connection.model is None


def test_server_that_ignores_echo_is_refused_with_the_reason(local: LocalModel) -> None:
    with served(local, vllm=False, echo=False) as server, pytest.raises(AuditError, match="ignores `echo`"):
        connect(EndpointRequest(server.url, NAME), SETTINGS, QUICK)


@pytest.mark.parametrize("listed", [True, False])
def test_chat_only_service_is_refused_with_the_reason(local: LocalModel, listed: bool) -> None:
    with (
        served(local, always="chat", listed=listed) as server,
        pytest.raises(AuditError, match="as services for chat only do"),
    ):
        connect(EndpointRequest(server.url, NAME), SETTINGS, QUICK)


def test_longest_context_that_the_server_does_not_tell_is_found(local: LocalModel) -> None:
    with served(local, says_context=False) as server:
        connection = examine(EndpointRequest(server.url, NAME), SETTINGS, QUICK)
        assert connection.problem is not None  # a tiny window, shorter than any that is tried
        model = connect(EndpointRequest(server.url, NAME, context_length=CONTEXT), SETTINGS, QUICK)
        assert model.context_length == CONTEXT


def test_context_longer_than_the_server_takes_is_refused(local: LocalModel) -> None:
    with served(local) as server, pytest.raises(AuditError, match="does not read 512 tokens at once"):
        connect(EndpointRequest(server.url, NAME, context_length=512), SETTINGS, QUICK)


def test_another_model_than_the_local_copy_is_refused(local: LocalModel) -> None:
    other = local_model(llama_config(context=CONTEXT, rope_theta=50.0, initializer_range=0.5), byte_level_tokenizer())
    for parameter in other._model.parameters():
        parameter.data.mul_(1.3)
    with served(local) as server:
        connection = examine(EndpointRequest(server.url, NAME), SETTINGS, QUICK, other)
    assert connection.problem is not None
    assert "another model" in connection.problem.wrong


def test_tokenizer_of_another_model_is_refused(local: LocalModel, tmp_path: Path) -> None:
    folder = save_folder(tmp_path / "llama", llama_config(context=CONTEXT), llama_tokenizer())
    for vllm in (True, False):
        with (
            served(local, vllm=vllm) as server,
            pytest.raises(AuditError, match="tokenizer that was given is not the model's"),
        ):
            connect(EndpointRequest(server.url, NAME, tokenizer=str(folder)), SETTINGS, QUICK)


def test_wrong_offsets_are_said_and_not_used(local: LocalModel) -> None:
    def shifted(answer: dict) -> dict:
        numbers = answer["choices"][0]["logprobs"]
        numbers["text_offset"] = [2 * at for at in numbers["text_offset"]]
        return answer

    with served(local, vllm=False, change=shifted) as server:
        connection = examine(EndpointRequest(server.url, NAME), SETTINGS, QUICK)
        (check,) = [check for check in connection.checks if check.name == "Offsets match the text"]
        assert check.outcome is Outcome.FAILED
        assert connection.model is not None
        text = "She counted the apples twice."
        ((_, stats),) = connection.model.token_stats([text])
        ((_, own),) = local.token_stats([text])
    assert stats.start.tolist() == own.start.tolist()


def test_model_with_a_bos_has_its_first_word_scored(tmp_path: Path) -> None:
    """A tokenizer that puts a BOS in front: the number of the first word counts, the BOS has none."""
    local = local_model(llama_config(context=CONTEXT), llama_tokenizer(), window_tokens=CONTEXT - 1)
    text = "The ferry was late, and nobody was surprised."
    ((_, own),) = local.token_stats([text])
    folder = save_folder(tmp_path / "llama", llama_config(context=CONTEXT), llama_tokenizer())
    for vllm in (True, False):
        for tokenizer in (None, str(folder)):
            with served(local, vllm=vllm) as server:
                server.without_eos()
                model = connect(EndpointRequest(server.url, NAME, tokenizer=tokenizer), SETTINGS, QUICK)
                ((_, stats),) = model.token_stats([text])
            assert stats.n_tokens == own.n_tokens
            assert stats.logprob.tolist() == pytest.approx(own.logprob.tolist(), abs=1e-5)
            assert stats.end[-1] == len(text)
