"""What page and worker say to each other: JSON only, arrays as base64 of their bytes, so that nothing is ever run."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from auditlib.core import Alternatives, AuditError, TokenStats
from auditlib.jobs.plain import from_plain
from auditlib.models.request import ModelRequest
from auditlib.store.packing import pack, unpack

LARGEST_QUESTION_BYTES = 64 << 20


def stats_to_wire(stats: TokenStats) -> dict[str, Any]:
    """Every bit of a text's statistics."""
    value: dict[str, Any] = {"stats": _encoded(pack(stats))}
    if stats.alternatives is not None:
        ids, logprob = stats.alternatives.ids, stats.alternatives.logprob
        value |= {
            "top": ids.shape[1],
            "ids": _encoded(ids.astype("<i4").tobytes()),
            "logprob": _encoded(logprob.astype("<f4").tobytes()),
        }
    return value


def stats_from_wire(value: Mapping[str, Any]) -> TokenStats:
    """What `stats_to_wire` was given. Raises `ValueError` for anything else."""
    stats = unpack(_decoded(value["stats"]))
    if "top" not in value:
        return stats
    shape = (stats.n_tokens, int(value["top"]))
    ids = np.frombuffer(_decoded(value["ids"]), "<i4").reshape(shape).astype(np.int32, copy=False)
    logprob = np.frombuffer(_decoded(value["logprob"]), "<f4").reshape(shape).astype(np.float32, copy=False)
    return replace(stats, alternatives=Alternatives(ids, logprob))


def request_to_wire(request: ModelRequest) -> dict[str, Any]:
    """Plain fields."""
    return asdict(request)


def request_from_wire(value: Any) -> ModelRequest:
    """A request out of its fields. Raises `ValueError`."""
    return from_plain(ModelRequest, value)


def error_to_wire(error: AuditError) -> dict[str, Any]:
    """Both sentences."""
    return {"error": [error.wrong, error.remedy]}


def error_from_wire(value: Mapping[str, Any]) -> AuditError:
    """The error again."""
    wrong, remedy = value["error"]
    return AuditError(str(wrong), str(remedy))


def _encoded(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def _decoded(data: str) -> bytes:
    return b64decode(data, validate=True)
