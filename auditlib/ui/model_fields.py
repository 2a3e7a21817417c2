"""A model request as fields, and in words; what is chosen is not loaded, whoever uses it does that."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import streamlit as st

from auditlib.models.bundled import LANGUAGE_MODEL
from auditlib.models.request import AUTO, BUNDLED, HUB_PREFIX, ModelRequest
from auditlib.ui.server_fields import server_fields, server_words

DEVICES = (AUTO, "cpu", "cuda", "mps")
DTYPES = (AUTO, "float32", "bfloat16", "float16")
PACKED = {None: "not packed", "8bit": "8 bits (NVIDIA GPU)", "4bit": "4 bits (NVIDIA GPU)"}
SERVER = "server"
SOURCES = {
    "bundled": f"The bundled model ({LANGUAGE_MODEL.name})",
    "here": "A folder or .gguf file on the machine this page runs on",
    "hub": "A model of the Hugging Face hub",
    SERVER: "A model behind a server (vLLM, or any that speaks OpenAI's completions)",
}


def model_words(request: ModelRequest) -> str:
    """Which model was asked for, with all that was said of it."""
    if request.endpoint is not None:
        return server_words(request.endpoint)
    words = [f"the bundled one ({LANGUAGE_MODEL.name})" if request.source == BUNDLED else request.source]
    if request.revision:
        words.append(f"revision {request.revision}")
    if request.adapter:
        words.append(f"with the adapter {request.adapter}")
    if request.dtype != AUTO:
        words.append(f"in {request.dtype}")
    if request.quantization:
        words.append(f"packed into {PACKED.get(request.quantization, request.quantization)}")
    if request.device != AUTO:
        words.append(f"on {request.device}")
    if request.sha256:
        words.append(f"expected to hash to {request.sha256}")
    return ", ".join(words)


def model_fields(request: ModelRequest, key: str, label: str = "Model") -> ModelRequest:
    """Fields filled with `request`, whose widgets' names begin with `key`; what stands in them now.

    Raises `AuditError` where that makes no sense.
    """
    with st.expander(label):
        if request.endpoint is not None:
            return ModelRequest(endpoint=server_fields(request.endpoint, key)())
        source = st.text_input(
            "Model", request.source, key=f"{key}_source", help="“bundled”, a folder, a .gguf file, or hub:owner/name"
        )
        revision = st.text_input("Revision (of a model on the hub)", request.revision or "", key=f"{key}_revision")
        placed = _placing_fields(request, key, DEVICES, dict.fromkeys(DEVICES, DTYPES[1:]))
    # An empty field is no model; the one that was there is meant.
    return replace(placed, source=source.strip() or request.source, revision=revision.strip() or None)


def chosen_source(
    now: ModelRequest, key: str, kind: str, devices: Mapping[str, Sequence[str]]
) -> Callable[[], ModelRequest]:
    """The fields of one of `SOURCES`, filled with `now` where that is of this kind; gives what they make.

    Calling it raises `AuditError` where that makes no sense.
    """
    same = now if kind == kind_of(now) else ModelRequest()
    if kind == SERVER:
        endpoint = server_fields(same.endpoint, key)
        return lambda: ModelRequest(endpoint=endpoint())
    source, revision = BUNDLED, ""
    if kind == "here":
        named = st.text_input(
            "Folder or .gguf file", value="" if same.source == BUNDLED else same.source, key=f"{key}_here"
        )
        # An absolute path is never taken for a name on the hub: who chooses this machine stays on it.
        source = os.path.abspath(os.path.expanduser(named.strip())) if named.strip() else ""
        st.caption("Weights as safetensors or GGUF. Pickled weights and code that comes with a model are never run.")
    elif kind == "hub":
        known = same.source.removeprefix(HUB_PREFIX) if same.source != BUNDLED else ""
        source = HUB_PREFIX + st.text_input("Hub id", placeholder="owner/name", value=known, key=f"{key}_hub").strip()
        revision = st.text_input("Revision (optional)", value=same.revision or "", key=f"{key}_revision")
        st.caption("The model is fetched to this machine. Your texts are not sent anywhere.")
    with st.expander("Adapter, device, data type, expected hash"):
        placed = _placing_fields(same, key, [AUTO, *devices], devices)
    return lambda: replace(placed, source=source.strip(), revision=revision.strip() or None)


def kind_of(request: ModelRequest) -> str:
    """Which of `SOURCES` a request is."""
    if request.endpoint is not None:
        return SERVER
    if request.source == BUNDLED:
        return "bundled"
    return "hub" if request.source.startswith(HUB_PREFIX) else "here"


def _placing_fields(
    now: ModelRequest, key: str, devices: Sequence[str], dtypes_of: Mapping[str, Sequence[str]]
) -> ModelRequest:
    adapter = st.text_input("Folder of a PEFT adapter to merge in (optional)", now.adapter or "", key=f"{key}_adapter")
    left, middle, right = st.columns(3)
    known = list(dict.fromkeys([*devices, now.device]))
    device: str = left.selectbox("Device", known, known.index(now.device), format_func=_auto, key=f"{key}_device")
    best = next((one for one in dtypes_of if one != AUTO), AUTO)
    offered = dtypes_of.get(best if device == AUTO else device, DTYPES[1:])
    dtypes = list(dict.fromkeys([AUTO, *offered, now.dtype]))
    dtype: str = middle.selectbox("Data type", dtypes, dtypes.index(now.dtype), format_func=_auto, key=f"{key}_dtype")
    packed: str | None = right.selectbox(
        "Weights", list(PACKED), list(PACKED).index(now.quantization), format_func=PACKED.__getitem__, key=f"{key}_bits"
    )
    sha256 = st.text_input("Expected SHA-256 of the weights (optional)", now.sha256 or "", key=f"{key}_sha256")
    return ModelRequest(
        device=device, dtype=dtype, sha256=sha256.strip() or None, adapter=adapter.strip() or None, quantization=packed
    )


def _auto(value: str) -> str:
    return "chosen for the machine" if value == AUTO else value
