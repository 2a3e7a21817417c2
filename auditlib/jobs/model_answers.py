"""What the worker says of models as plain values: facts, files, checks of a server, and whether it has a key.

A key comes in and never goes out: no answer holds one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

from auditlib.core import Settings
from auditlib.jobs.plain import to_plain
from auditlib.models.endpoint.keys import KEYS
from auditlib.models.request import ModelRequest

if TYPE_CHECKING:
    from auditlib.models.endpoint.connecting import Connection
    from auditlib.models.endpoint.model import EndpointModel
    from auditlib.models.opening import HeldModel, ModelShelf


def is_served(model: HeldModel) -> TypeGuard[EndpointModel]:
    """Whether a server holds it, and texts leave this machine when it reads."""
    return hasattr(model, "server")  # its class is in a module that takes seconds to import


def facts_of(model: HeldModel) -> dict[str, Any]:
    """What a page shows of a loaded model."""
    tokenizer = model.tokens if is_served(model) else model
    return {
        "identity": model.identity.as_dict(),
        "capabilities": sorted(model.capabilities),
        "context_length": model.context_length,
        "vocabulary_size": model.vocabulary_size,
        "device": str(model.device),
        "memory_bytes": model.memory_bytes,
        "tokens_per_second": model.tokens_per_second,
        "takes_prefixes": tokenizer is not None,
    }


def looked_at(request: ModelRequest, settings: Settings) -> dict[str, Any]:
    """What can be said of a model that is not loaded. Raises `AuditError`."""
    from auditlib.models.looking import look_at

    look = look_at(request, settings)
    value: dict[str, Any] = to_plain(look)
    return value | {"needed": look.memory.needed, "fits": look.memory.fits}


def examined(connection: Connection) -> dict[str, Any]:
    """Every check that was made, and the model's facts or the problem."""
    problem = connection.problem
    return {
        "checks": to_plain(connection.checks),
        "problem": None if problem is None else [problem.wrong, problem.remedy],
        "facts": None if connection.model is None else facts_of(connection.model),
    }


def key_of(base_url: str, variable: str) -> dict[str, Any]:
    """Whether a key goes to this address, and where it comes from. Raises `AuditError`."""
    found = KEYS.find(base_url, variable)
    return {"is_sent": found.secret is not None, "said": found.said, "remedy": found.remedy}


def remember_key(shelf: ModelShelf, base_url: str, key: str) -> None:
    """Keeps a typed key in memory, and has the address connected anew. Raises `AuditError`."""
    KEYS.remember(base_url, key)
    shelf.disconnect(base_url)


def forget_key(shelf: ModelShelf, base_url: str) -> None:
    """Drops a typed key, and every connection that was made with it. Raises `AuditError`."""
    KEYS.forget(base_url)
    shelf.disconnect(base_url)
