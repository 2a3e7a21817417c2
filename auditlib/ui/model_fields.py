"""A model request as fields in a dialog, and in words; what is chosen is not loaded, a run does that in its turn."""

from __future__ import annotations

import streamlit as st

from auditlib.models.bundled import LANGUAGE_MODEL
from auditlib.models.request import AUTO, BUNDLED, ModelRequest

DEVICES = (AUTO, "cpu", "cuda", "mps")
DTYPES = (AUTO, "float32", "bfloat16", "float16")


def model_words(request: ModelRequest) -> str:
    """Which model was asked for, with all that was said of it."""
    words = [f"the bundled one ({LANGUAGE_MODEL.name})" if request.source == BUNDLED else request.source]
    if request.revision:
        words.append(f"revision {request.revision}")
    if request.adapter:
        words.append(f"with the adapter {request.adapter}")
    if request.dtype != AUTO:
        words.append(f"in {request.dtype}")
    if request.device != AUTO:
        words.append(f"on {request.device}")
    if request.sha256:
        words.append(f"expected to hash to {request.sha256}")
    return ", ".join(words)


def model_fields(request: ModelRequest, key: str, label: str = "Model") -> ModelRequest:
    """Fields filled with `request`, whose widgets' names begin with `key`; what stands in them now."""
    with st.expander(label):
        source = st.text_input(
            "Model", request.source, key=f"{key}_source", help="“bundled”, a folder, a .gguf file, or hub:owner/name"
        )
        revision = st.text_input("Revision (of a model on the hub)", request.revision or "", key=f"{key}_revision")
        adapter = st.text_input("Folder of a PEFT adapter to merge in", request.adapter or "", key=f"{key}_adapter")
        left, right = st.columns(2)
        devices = list(dict.fromkeys([*DEVICES, request.device]))
        dtypes = list(dict.fromkeys([*DTYPES, request.dtype]))
        with left:
            device = st.selectbox(
                "Device", devices, devices.index(request.device), format_func=_auto_label, key=f"{key}_device"
            )
        with right:
            dtype = st.selectbox(
                "Data type", dtypes, dtypes.index(request.dtype), format_func=_auto_label, key=f"{key}_dtype"
            )
        sha256 = st.text_input("Expected SHA-256 of the weights", request.sha256 or "", key=f"{key}_sha256")
    return ModelRequest(
        # An empty field is no model; the one that was there is meant.
        source=source.strip() or request.source,
        device=device,
        dtype=dtype,
        revision=revision.strip() or None,
        sha256=sha256.strip() or None,
        adapter=adapter.strip() or None,
    )


def _auto_label(value: str) -> str:
    return "chosen for the machine" if value == AUTO else value
