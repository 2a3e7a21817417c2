"""Adapters (PEFT): a folder of small weights that changes a base model, checked like a model folder and merged in.

Merged, the model runs as fast as its base, and everything that reads it stays as it is. The adapter's hash is part of
the model's identity.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from peft import AdaLoraConfig, IA3Config, LoraConfig, PeftConfig, get_peft_model, set_peft_model_state_dict
from peft.utils.save_and_load import get_peft_model_state_dict
from safetensors.torch import load_file
from transformers import PreTrainedModel

from auditlib.core import AuditError
from auditlib.models.failures import explained
from auditlib.models.folders import LARGEST_NUMBER, PICKLED_SUFFIXES, check_safetensors, read_json
from auditlib.models.hashes import file_sha256

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
KINDS: dict[str, type[PeftConfig]] = {"LORA": LoraConfig, "ADALORA": AdaLoraConfig, "IA3": IA3Config}
LARGEST_RANK = 4096
LONGEST_PATTERN = 200

# Of a stranger's configuration only what decides the numbers is taken over; and what would decide them in a way not
# known here is refused, so that no adapter is half applied.
_DECIDING = (
    "r",
    "lora_alpha",
    "target_modules",
    "exclude_modules",
    "fan_in_fan_out",
    "use_rslora",
    "use_dora",
    "rank_pattern",
    "alpha_pattern",
    "layers_to_transform",
    "layers_pattern",
    "modules_to_save",
    "target_r",
    "init_r",
    "total_step",
    "feedforward_modules",
)
_ABOUT_TRAINING = (
    "auto_mapping",
    "base_model_name_or_path",
    "beta1",
    "beta2",
    "deltaT",
    "ensure_weight_tying",
    "inference_mode",
    "init_ia3_weights",
    "init_lora_weights",
    "lora_dropout",
    "orth_reg_weight",
    "peft_type",
    "peft_version",
    "qalora_group_size",
    "revision",
    "task_type",
    "tfinal",
    "tinit",
)
_PLAIN_STARTS = (True, "gaussian", "orthogonal", None)


@dataclass(frozen=True)
class AdapterFiles:
    """A checked adapter folder; `sha256` is of its weights and of what its configuration says."""

    folder: Path
    name: str
    sha256: str


def find_adapter(folder: Path) -> AdapterFiles:
    """The adapter in `folder`, checked but not loaded. Raises `AuditError`."""
    if not folder.is_dir():
        raise AuditError(f"There is no adapter folder {folder}.", "Check the path: the page's own machine is meant.")
    if not (folder / CONFIG).is_file():
        raise AuditError(f"{folder} has no {CONFIG}, so it is no adapter.", "Give the folder that PEFT saved it in.")
    weights = folder / WEIGHTS
    if not weights.is_file():
        pickled = any(file.suffix.lower() in PICKLED_SUFFIXES for file in folder.iterdir())
        why = "has its weights pickled only, and pickled files can run code" if pickled else f"has no {WEIGHTS}"
        raise AuditError(f"The adapter {folder} {why}.", "Save it again as safetensors, which is PEFT's default.")
    config = _checked_config(folder)
    check_safetensors(weights)
    said = json.dumps({name: config[name] for name in sorted(config)}, sort_keys=True)
    digest = sha256(f"{file_sha256(weights)} {sha256(said.encode()).hexdigest()}".encode()).hexdigest()
    return AdapterFiles(folder, folder.resolve().name, digest)


def with_adapter(model: PreTrainedModel, adapter: AdapterFiles, base_name: str) -> PreTrainedModel:
    """`model` with the adapter merged into its weights; `model` itself must not be used again.

    Raises `AuditError` where the adapter was made for another model.
    """
    config = _checked_config(adapter.folder)
    kind = KINDS[config.pop("peft_type")]
    what = f"The adapter {adapter.name} does not fit {base_name}"
    remedy = "Give it with the base model that it was made for; its adapter_config.json names it."
    with explained(what, remedy):
        weights = load_file(adapter.folder / WEIGHTS)
        if not all(bool(torch.isfinite(tensor).all()) for tensor in weights.values()):
            raise AuditError(f"The adapter {adapter.name} holds numbers that are not finite.", "Fetch it again.")
        adapted = get_peft_model(model, kind(**config, task_type="CAUSAL_LM", inference_mode=True))
        expected = get_peft_model_state_dict(adapted)
        astray = sorted(set(weights) ^ set(expected)) or sorted(
            name for name, tensor in weights.items() if tensor.shape != expected[name].shape
        )
        if astray:
            raise AuditError(f"{what}: {len(astray)} of its weights have no place ({astray[0][:100]}).", remedy)
        set_peft_model_state_dict(adapted, weights)
        merged: PreTrainedModel = adapted.merge_and_unload()
    return merged


def _checked_config(folder: Path) -> dict[str, Any]:
    """What of adapter_config.json decides the numbers, with `peft_type`; all else is known not to."""
    config = read_json(folder / CONFIG)
    kind = config.get("peft_type")
    if kind not in KINDS:
        raise AuditError(
            f"The adapter {folder} is of a kind ({str(kind)[:40]!r}) that cannot be merged into a model.",
            f"Use one of the kinds {', '.join(KINDS)}, or merge it with the tool that made it.",
        )
    start = config.get("init_lora_weights", True)
    usual = KINDS[kind]().to_dict()
    unknown = [
        name
        for name, value in config.items()
        if name not in (*_DECIDING, *_ABOUT_TRAINING) and value not in (usual.get(name), None, False, {}, [], "none")
    ]
    if kind == "LORA" and start not in _PLAIN_STARTS:
        unknown.append("init_lora_weights")
    if unknown:
        raise AuditError(
            f"The adapter {folder} uses {unknown[0][:60]!r}, which is not supported here and would change its numbers.",
            "Convert it to a plain LoRA adapter, or merge it into its base model and give that.",
        )
    found = {name: config[name] for name in _DECIDING if config.get(name) is not None}
    for name, value in found.items():
        _check_value(folder, name, value)
    return found | {"peft_type": kind}


def _check_value(folder: Path, name: str, value: Any) -> None:
    wrong = AuditError(
        f"{CONFIG} in {folder} gives {name} a value that makes no sense.", "Fetch the adapter again from its publisher."
    )
    limit = LARGEST_RANK if name in ("r", "target_r", "init_r", "rank_pattern") else LARGEST_NUMBER
    for one in _leaves(value):
        if isinstance(one, str):
            # PEFT takes these for regular expressions; a repeated group can keep one busy for ever.
            if len(one) > LONGEST_PATTERN or re.search(r"\)\s*[*+{]", one):
                raise wrong
        elif not isinstance(one, int | float) or not -limit <= one <= limit:
            raise wrong


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for pair in value.items() for part in pair for leaf in _leaves(part)]
    if isinstance(value, list):
        return [leaf for one in value for leaf in _leaves(one)]
    return [value]
