"""What must be true of a model folder before anything in it is loaded. The folder is a stranger's.

Weights come from safetensors only: pickled ones can run code. Code that a folder brings along is never run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from math import prod
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from auditlib.core import AuditError

CAUSAL = "causal language model (such as GPT, Llama, Pythia or SmolLM)"
WEIGHTS = "model.safetensors"
WEIGHTS_INDEX = "model.safetensors.index.json"
PICKLED_SUFFIXES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".msgpack", ".h5")
LARGEST_JSON_BYTES = 64 * 2**20
# Far above any published model; a configuration beyond it is a mistake or an attack on this machine's memory.
MOST_LAYERS = 2048
LARGEST_NUMBER = 2**27


def stored_elements(weights: list[Path]) -> int:
    """How many numbers the weight files hold, by their headers."""
    total = 0
    for file in weights:
        with safe_open(file, framework="pt") as tensors:
            total += sum(prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118
    return total


def check_model_folder(
    folder: Path, kinds: Collection[str] = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, wanted: str = CAUSAL
) -> list[Path]:
    """The folder's weight files, or `AuditError` saying why it must not or cannot be loaded.

    `kinds` are the `model_type`s that will do, `wanted` what they are called.
    """
    if not folder.is_dir():
        raise AuditError(f"There is no model folder {folder}.", "Check the path: the page's own machine is meant.")
    if not (folder / "config.json").is_file():
        if (folder / "adapter_config.json").is_file():
            raise AuditError(
                f"{folder} holds an adapter, not a whole model.",
                "Give the base model that it was made for, and this folder as the adapter.",
            )
        raise AuditError(
            f"{folder} has no config.json, so it is not a Transformers model folder.",
            "Give the folder that holds config.json, the tokenizer and the .safetensors weights, or a .gguf file.",
        )
    if (folder / "adapter_config.json").is_file():
        raise AuditError(
            f"{folder} holds a model and an adapter side by side, so it is not clear which is meant.",
            "Move the adapter's files into a folder of their own and give both.",
        )
    _check_config(folder, kinds, wanted)
    weights = weight_files(folder)
    for file in weights:
        check_safetensors(file)
    return weights


def read_json(file: Path) -> dict[str, Any]:
    """A JSON object from a stranger's file."""
    try:
        if file.stat().st_size > LARGEST_JSON_BYTES:
            raise ValueError("it is too large")
        value = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(value, dict):
            raise ValueError("it is not an object")
    except (OSError, ValueError, RecursionError) as error:
        raise AuditError(
            f"{file.name} in {file.parent} cannot be read ({error}).",
            "Fetch the model again; this copy is damaged.",
        ) from error
    return value


def _check_config(folder: Path, kinds: Collection[str], wanted: str) -> None:
    config = read_json(folder / "config.json")
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in kinds:
        if "auto_map" in config:
            raise AuditError(
                f"The model in {folder} wants to run code of its own, which is never done here.",
                "Use a model that Transformers supports by itself, or a version of this one converted to such.",
            )
        raise AuditError(
            f"The model in {folder} is of a kind ({str(kind)[:40]!r}) that is not a known {wanted.partition(' (')[0]}.",
            f"Choose a {wanted}.",
        )
    if "transformers_weights" in config:
        raise AuditError(
            f"config.json in {folder} names a weight file of its own, so what is hashed need not be what runs.",
            "Fetch the model again from where it was published.",
        )
    for name, value in _numbers(config):
        if value > (MOST_LAYERS if re.search(r"(layers?|blocks?)$", name) else LARGEST_NUMBER):
            raise AuditError(
                f"config.json in {folder} asks for {name} = {value}, which no real model has.",
                "Fetch the model again from where it was published.",
            )


def _numbers(config: dict[str, Any]) -> list[tuple[str, int]]:
    found = []
    for name, value in config.items():
        if isinstance(value, int) and not isinstance(value, bool):
            found.append((name, value))
        elif isinstance(value, dict):
            found += _numbers(value)
    return found


def weight_files(folder: Path) -> list[Path]:
    """The weight files, safetensors only. Raises `AuditError` where there are none or some are missing."""
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if (folder / WEIGHTS_INDEX).is_file():
        shards = read_json(folder / WEIGHTS_INDEX).get("weight_map")
        names = set(shards.values()) if isinstance(shards, dict) else set()
        if not names or not all(isinstance(n, str) and re.fullmatch(r"[\w.-]+\.safetensors", n) for n in names):
            raise AuditError(
                f"{WEIGHTS_INDEX} in {folder} does not name weight files of that folder.",
                "Fetch the model again from where it was published.",
            )
        files = [folder / name for name in sorted(names)]
        missing = [file.name for file in files if not file.is_file()]
        if missing:
            raise AuditError(
                f"{folder} lacks {len(missing)} of its {len(files)} weight files ({missing[0]}).",
                "Fetch the model again; the copy is not complete.",
            )
        return files
    if pickled := sorted(f.name for f in folder.iterdir() if f.suffix.lower() in PICKLED_SUFFIXES):
        raise AuditError(
            f"{folder} has its weights pickled only ({pickled[0][:80]}), and pickled files can run code when opened.",
            "Use a safetensors or GGUF version of this model; most publishers offer one.",
        )
    raise AuditError(
        f"{folder} has no weights in safetensors form.",
        "Give a folder with model.safetensors, or a .gguf file.",
    )


def check_safetensors(file: Path) -> None:
    """Opens the file's header, which the library checks against the file's length."""
    try:
        with safe_open(file, framework="pt") as tensors:
            names = list(tensors.keys())
    except (SafetensorError, OSError, ValueError) as error:
        raise AuditError(
            f"The weight file {file.name} in {file.parent} is damaged ({str(error)[:120]}).",
            "Fetch the model again; this copy is not complete.",
        ) from error
    if not names:
        raise AuditError(f"The weight file {file.name} in {file.parent} is empty.", "Fetch the model again.")
