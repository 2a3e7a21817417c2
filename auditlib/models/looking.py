"""What can be said of a model on this machine before it is loaded: from its files' headers and its card."""

from __future__ import annotations

from dataclasses import dataclass

from auditlib.core import Settings
from auditlib.models.card import ModelCard, read_card
from auditlib.models.folders import check_model_folder
from auditlib.models.opening import model_folder
from auditlib.models.placement import MemoryEstimate, chosen_placement, memory_estimate
from auditlib.models.request import ModelRequest


@dataclass(frozen=True)
class ModelLook:
    """Where the model would run, what that takes, and what its publishers say."""

    name: str
    device: str
    dtype: str
    memory: MemoryEstimate
    card: ModelCard


def look_at(request: ModelRequest, settings: Settings) -> ModelLook:
    """Brings the files here if they are not yet, as loading would. Raises `AuditError` where they cannot be used."""
    device, dtype = chosen_placement(request.device, request.dtype, request.quantization, bool(request.adapter))
    folder, name = model_folder(request, settings)
    weights = check_model_folder(folder)
    memory = memory_estimate(weights, device, dtype, request.quantization)
    return ModelLook(name, device, dtype, memory, read_card(folder))
