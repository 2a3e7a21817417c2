"""A real vLLM server that holds the bundled model in float32. `make test-servers` runs these; see the Makefile."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from auditlib.core import AuditError, Capability, Settings
from auditlib.models.checks import Outcome
from auditlib.models.endpoint.connecting import connect, examine
from auditlib.models.local import LocalModel
from auditlib.models.request import EndpointRequest
from benchmarks.endpoint import compare, texts_of_the_demo
from tests.tiny import HARD_TEXTS

pytestmark = [pytest.mark.servers, pytest.mark.bundled]

URL = os.environ.get("AUDIT_TEST_SERVER", "")
NAME = os.environ.get("AUDIT_TEST_SERVER_MODEL", "target")
SETTINGS = Settings(endpoint_seconds=300)


@pytest.fixture(scope="module")
def request_for_server() -> EndpointRequest:
    if not URL:
        pytest.skip("no server: give AUDIT_TEST_SERVER=http://127.0.0.1:8311/v1")
    return EndpointRequest(URL, NAME)


def test_every_check_is_passed_and_the_local_copy_agrees(
    request_for_server: EndpointRequest, bundled_model: LocalModel
) -> None:
    connection = examine(request_for_server, SETTINGS, local=bundled_model)
    for check in connection.checks:
        print(f"  {check.outcome}: {check.name}. {check.sentence}")
    assert connection.problem is None
    assert not [check for check in connection.checks if check.outcome is Outcome.FAILED]
    (agreement,) = [check for check in connection.checks if check.name == "Agrees with a local copy"]
    assert agreement.outcome is Outcome.PASSED
    assert connection.model is not None
    assert Capability.RANK in connection.model.capabilities


def test_min_k_of_200_texts_is_that_of_transformers(
    request_for_server: EndpointRequest, bundled_model: LocalModel
) -> None:
    agreement = compare(connect(request_for_server, SETTINGS), bundled_model, texts_of_the_demo())
    print(f"  {agreement}")
    assert agreement.n_texts == 200
    assert agreement.min_k < 1e-3
    assert agreement.same_tokens


def test_hard_letters_and_long_texts_are_read_as_here(
    request_for_server: EndpointRequest, bundled_model: LocalModel
) -> None:
    served = connect(request_for_server, SETTINGS)
    local = LocalModel(
        bundled_model._model, bundled_model._encoder, bundled_model.identity, window_tokens=served.context_length - 1
    )
    long = " ".join(texts_of_the_demo(20))
    texts = [*HARD_TEXTS, long]
    assert served.tokens_to_read(long) > served.context_length
    ours, own = dict(served.token_stats(texts, top=3)), dict(local.token_stats(texts, top=3))
    for index in range(len(texts)):
        np.testing.assert_allclose(ours[index].logprob, own[index].logprob, atol=1e-3)
        np.testing.assert_array_equal(ours[index].end, own[index].end)
        np.testing.assert_allclose(ours[index].alternatives.logprob, own[index].alternatives.logprob, atol=1e-3)


def test_echo_of_the_same_server_gives_the_same_numbers(
    request_for_server: EndpointRequest, bundled_model: LocalModel
) -> None:
    served = connect(replace(request_for_server, style="openai"), SETTINGS)
    texts = texts_of_the_demo(8)
    ours, own = dict(served.token_stats(texts)), dict(bundled_model.token_stats(texts))
    for index in range(len(texts)):
        np.testing.assert_allclose(ours[index].logprob, own[index].logprob, atol=1e-3)
        np.testing.assert_array_equal(ours[index].end, own[index].end)


def test_wrong_model_name_is_said(request_for_server: EndpointRequest) -> None:
    with pytest.raises(AuditError, match="has no model 'no-such-model'. It has"):
        connect(replace(request_for_server, model="no-such-model"), SETTINGS)
