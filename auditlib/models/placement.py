"""Where a model's weights go and how much room they take: one device, all GPUs together, or packed into fewer bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from transformers import BitsAndBytesConfig

from auditlib.core import AuditError
from auditlib.models.folders import stored_elements
from auditlib.models.request import AUTO

ALL_GPUS = "all-gpus"
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
BITS = {"8bit": 8, "4bit": 4}
# Over the weights: activations and the logits of a slice, by what was measured for models of 0.1 to 8 GB.
WORKING_SHARE = 0.2
WORKING_BYTES = 300_000_000


def available_devices() -> list[str]:
    """Devices of this machine, the best first."""
    devices = [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    if len(devices) > 1:
        devices.append(ALL_GPUS)
    if torch.backends.mps.is_available():
        devices.append("mps")
    return [*devices, "cpu"]


def available_dtypes(device: str) -> list[str]:
    """Data types that `device` computes in, the one to take by default first.

    On a CPU that is float32 (bfloat16 works there, many times slower); on an accelerator the 16-bit type
    that models are trained in.
    """
    if device.startswith("cuda") or device == ALL_GPUS:
        return ["bfloat16", "float16", "float32"] if torch.cuda.is_bf16_supported() else ["float16", "float32"]
    if device == "mps":
        return ["float16", "bfloat16", "float32"]
    return ["float32", "bfloat16"]


def chosen_placement(device: str, dtype: str, quantization: str | None, has_adapter: bool) -> tuple[str, str]:
    """Device and data type for what was asked, which may be "auto". Raises `AuditError` where there is no such."""
    found = _chosen("device", device, available_devices())
    kind = _chosen("data type", dtype, available_dtypes(found))
    check_quantization(quantization, found, has_adapter)
    return found, kind


def _chosen(what: str, wanted: str, available: list[str]) -> str:
    if wanted == AUTO:
        return available[0]
    matching = [a for a in available if a == wanted or a.startswith(f"{wanted}:")]
    if not matching:
        raise AuditError(f"This machine does not offer the {what} {wanted[:40]!r}.", f"Choose {', '.join(available)}.")
    return matching[0]


def check_quantization(quantization: str | None, device: str, has_adapter: bool) -> None:
    """Raises `AuditError` where weights cannot be packed into fewer bits, saying what is missing."""
    if quantization is None:
        return
    if quantization not in BITS:
        raise AuditError(
            f"Weights cannot be packed as {quantization[:40]!r}.", f"Choose of {', '.join(BITS)}, or none."
        )
    if not (device.startswith("cuda") or device == ALL_GPUS):
        raise AuditError(
            f"{BITS[quantization]}-bit weights need an NVIDIA GPU, and the model is to run on {device}.",
            "Choose a GPU, or a data type of 16 or 32 bits.",
        )
    if find_spec("bitsandbytes") is None:
        raise AuditError(
            f"{BITS[quantization]}-bit weights need the package bitsandbytes, which is not installed.",
            "Install it beside the other requirements (`pip install bitsandbytes`), or choose another data type.",
        )
    if has_adapter:
        raise AuditError(
            f"An adapter cannot be merged into {BITS[quantization]}-bit weights.",
            "Load the model in 16 or 32 bits, or without the adapter.",
        )


def loading_options(device: str, dtype: str, quantization: str | None) -> dict[str, Any]:
    """What `from_pretrained` is told of device and data type; "device_map" is in it where that places the weights."""
    options: dict[str, Any] = {"dtype": DTYPES[dtype]}
    if device == ALL_GPUS:
        options["device_map"] = "auto"
    elif quantization is not None:
        options["device_map"] = {"": device}
    if quantization == "8bit":
        options["quantization_config"] = BitsAndBytesConfig(load_in_8bit=True)
    elif quantization == "4bit":
        options["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=DTYPES[dtype]
        )
    return options


@dataclass(frozen=True)
class MemoryEstimate:
    """What a model will take, in bytes, and what there is. `available` is None where this machine does not tell."""

    weights: int
    working: int
    available: int | None

    @property
    def needed(self) -> int:
        """Weights, and what reading takes besides."""
        return self.weights + self.working

    @property
    def fits(self) -> bool:
        """Whether all of it has room; True where nobody knows."""
        return self.available is None or self.needed <= self.available


def memory_estimate(
    weights: Sequence[Path], device: str, dtype: str, quantization: str | None = None
) -> MemoryEstimate:
    """By the headers of the weight files alone, before anything is loaded."""
    n = stored_elements(list(weights))
    bits = BITS[quantization] if quantization else 8 * torch.empty(0, dtype=DTYPES[dtype]).element_size()
    n_bytes = n * bits // 8
    return MemoryEstimate(n_bytes, WORKING_BYTES + int(WORKING_SHARE * n_bytes), available_bytes(device))


def refuse_what_cannot_fit(estimate: MemoryEstimate, name: str, device: str) -> None:
    """Raises `AuditError` where not even the weights have room: loading would only take the machine down."""
    if estimate.available is None or estimate.weights <= estimate.available:
        return
    raise AuditError(
        f"{name} takes {estimate.weights / 1e9:,.1f} GB and {device} has {estimate.available / 1e9:,.1f} GB left.",
        "Unload another model, choose a smaller data type or all GPUs together, or have a server hold the model.",
    )


def available_bytes(device: str) -> int | None:
    """Memory of a device that is free now."""
    if device.startswith("cuda"):
        return int(torch.cuda.mem_get_info(torch.device(device))[0])
    if device == ALL_GPUS:
        return sum(int(torch.cuda.mem_get_info(i)[0]) for i in range(torch.cuda.device_count()))
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        told = dict(line.split(":", 1) for line in lines)
        return int(told["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None  # not Linux
