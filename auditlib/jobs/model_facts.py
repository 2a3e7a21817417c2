"""What a page knows of models: those that the worker holds, what it found out about a server or a folder of files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from auditlib.core import AuditError, Capability, ModelIdentity
from auditlib.jobs.plain import from_plain
from auditlib.jobs.wire import request_from_wire
from auditlib.models.checks import Check
from auditlib.models.request import ModelRequest


@dataclass(frozen=True)
class LoadedModel:
    """A model in the worker's memory, or connected by it.

    takes_prefixes    whether it can read texts after other texts, as some scores need
    vocabulary_size   0 where a server does not tell it
    """

    request: ModelRequest
    identity: ModelIdentity
    device: str
    memory_bytes: int
    context_length: int
    tokens_per_second: float | None
    capabilities: frozenset[Capability]
    takes_prefixes: bool
    vocabulary_size: int


@dataclass(frozen=True)
class Card:
    """What a model's publishers say of it: strangers' words, to be shown as text."""

    licence: tuple[str, ...] = ()
    base_model: tuple[str, ...] = ()
    training_data: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class ModelFilesLook:
    """A model that is not loaded: where it would run and what that takes, in bytes. `available` is None if unknown."""

    name: str
    device: str
    dtype: str
    weights: int
    needed: int
    available: int | None
    fits: bool
    card: Card


@dataclass(frozen=True)
class ServerExamination:
    """Every check of a server that was made, and why it cannot be used; `problem` is None where it can."""

    checks: tuple[Check, ...]
    problem: AuditError | None


@dataclass(frozen=True)
class KeyState:
    """Whether a key goes to an address; `said` tells where it comes from or why none does, `remedy` what to do."""

    is_sent: bool
    said: str
    remedy: str


def loaded_from_wire(facts: Mapping[str, Any]) -> LoadedModel:
    """Raises `KeyError`, `TypeError` or `ValueError` for what a worker of another version says."""
    return LoadedModel(
        request_from_wire(facts["request"]),
        ModelIdentity(**facts["identity"]),
        facts["device"],
        facts["memory_bytes"],
        facts["context_length"],
        facts["tokens_per_second"],
        frozenset(Capability(one) for one in facts["capabilities"]),
        facts["takes_prefixes"],
        facts["vocabulary_size"],
    )


def look_from_wire(value: Mapping[str, Any]) -> ModelFilesLook:
    """Raises as `loaded_from_wire` does."""
    memory = value["memory"]
    return ModelFilesLook(
        value["name"],
        value["device"],
        value["dtype"],
        memory["weights"],
        value["needed"],
        memory["available"],
        value["fits"],
        from_plain(Card, value["card"]),
    )


def examination_from_wire(value: Mapping[str, Any]) -> ServerExamination:
    """Raises as `loaded_from_wire` does."""
    problem = value["problem"]
    return ServerExamination(
        from_plain(tuple[Check, ...], value["checks"]), None if problem is None else AuditError(*problem)
    )
