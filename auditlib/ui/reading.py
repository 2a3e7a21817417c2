"""A document through the current model, with progress: what the Inspect page keeps until the next one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from auditlib.core import Capability, Document, ModelIdentity
from auditlib.scoring import Reading, read_texts
from auditlib.ui.heatmap import heatmap_payload
from auditlib.ui.messages import duration
from auditlib.ui.models import open_current

ALTERNATIVES_SHOWN = 5


@dataclass(frozen=True)
class Inspection:
    """One document under one model: all that its page shows, whatever k is chosen, without the model."""

    document: Document
    reading: Reading
    token_texts: tuple[str, ...]
    identity: ModelIdentity
    capabilities: frozenset[Capability]
    device: str
    payload: dict[str, Any]


def read_document(document: Document) -> Inspection:
    """Reads `document` with the current model, as it stands and in lower case. Raises `AuditError`."""
    model = open_current()
    n_tokens = 2 * model.tokens_to_read(document.text, document.source_name)
    rate = model.tokens_per_second
    expected = f", about {duration(n_tokens / rate)}" if rate else ""
    bar = st.progress(0.0, text=f"Reading {n_tokens:,} tokens{expected} …")

    def progress(done: int, total: int) -> None:
        left = f", {duration((total - done) / model.tokens_per_second)} left" if model.tokens_per_second else ""
        bar.progress(done / total, text=f"Read {done:,} of {total:,} tokens{left} …")

    ((_, reading),) = read_texts(
        model, [document.text], top=ALTERNATIVES_SHOWN, progress=progress, names=[document.source_name]
    )
    bar.empty()
    return Inspection(
        document=document,
        reading=reading,
        token_texts=tuple(model.token_text(reading.stats.token_ids.tolist())),
        identity=model.identity,
        capabilities=model.capabilities,
        device=str(model.device),
        payload=heatmap_payload(model, reading),
    )
