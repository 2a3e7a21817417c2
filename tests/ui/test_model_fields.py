"""A model as fields: what was asked for comes back as it was, whatever kind it is."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from auditlib.jobs.wire import request_from_wire, request_to_wire
from auditlib.models.request import EndpointRequest, ModelRequest
from auditlib.ui.model_fields import model_words

FAR = EndpointRequest(
    "https://far.example/v1", "m", "vllm", "/tokenizer", 2048, 4, 1.5, 10_000, 3.0, key_variable="AUDIT_MY_KEY"
)


def fields(request: ModelRequest) -> ModelRequest:
    """What the fields of a copied run give when nobody changes them."""
    script = f"""
import json, streamlit as st
from auditlib.jobs.wire import request_from_wire, request_to_wire
from auditlib.ui.model_fields import model_fields
asked = request_from_wire(json.loads({json.dumps(json.dumps(request_to_wire(request)))}))
st.text(json.dumps(request_to_wire(model_fields(asked, "copy"))))
"""
    page = AppTest.from_string(script).run()
    assert not page.exception
    return request_from_wire(json.loads(page.text[0].value))


@pytest.mark.parametrize(
    "request_",
    [
        ModelRequest(),
        ModelRequest("hub:owner/name", "cuda:1", "float16", "main", "0" * 64, "/adapter"),
        ModelRequest("/folder", "all-gpus", quantization="4bit"),
        ModelRequest(endpoint=FAR),
        ModelRequest(endpoint=EndpointRequest("http://127.0.0.1:8000/v1", "m")),
    ],
    ids=["bundled", "hub", "packed", "server", "plain server"],
)
def test_fields_that_nobody_changes_give_what_was_asked_for(request_: ModelRequest) -> None:
    assert fields(request_) == request_


def test_words_say_all_that_decides_what_is_read_and_what_it_costs() -> None:
    words = model_words(ModelRequest(endpoint=FAR))
    for part in (
        "m behind https://far.example/v1",
        "vllm",
        "/tokenizer",
        "2,048",
        "1.5",
        "10,000 tokens a run",
        "3 a run",
    ):
        assert part in words
    assert "4 bits" in model_words(ModelRequest("/folder", quantization="4bit"))
