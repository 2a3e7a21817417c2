"""Adapters (PEFT): a folder of small weights that changes a base model, checked like a model folder and merged in.

Merged, the model runs as fast as its base, and everything that reads it stays as it is. The adapter's hash is part of
the model's identity.
"""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import MISSING, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from peft import AdaLoraConfig, IA3Config, LoraConfig, PeftConfig, PeftModel, get_peft_model, set_peft_model_state_dict
from peft.utils.save_and_load import get_peft_model_state_dict
from safetensors.torch import load_file
from transformers import PreTrainedModel

from auditlib.core import AuditError
from auditlib.models.failures import explained, is_out_of_memory
from auditlib.models.folders import LARGEST_NUMBER, PICKLED_SUFFIXES, check_safetensors, read_json
from auditlib.models.hashes import file_sha256

# Libraries talking to each other: of a name that PEFT still uses, and of tied weights, which `_untie` sees to.
warnings.filterwarnings("ignore", message="`is_gradient_checkpointing` is deprecated")
warnings.filterwarnings("ignore", message="Model has `tie_word_embeddings=True`")

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
KINDS: dict[str, type[PeftConfig]] = {"LORA": LoraConfig, "ADALORA": AdaLoraConfig, "IA3": IA3Config}
LARGEST_RANK = 4096
LONGEST_PATTERN = 200
MOST_REPEATS = 6
DEEPEST_NESTING = 4

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
    try:
        is_folder = folder.is_dir()
    except (OSError, ValueError):  # a name too long, or with a NUL in it
        is_folder = False
    if not is_folder:
        raise AuditError(
            f"There is no adapter folder {str(folder)[:200]}.", "Check the path: the page's own machine is meant."
        )
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
    try:
        with explained(*_misfit(adapter, base_name)):
            merged: PreTrainedModel = beside(model, adapter, base_name).merge_and_unload()
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise AuditError(
            f"{base_name} with the adapter {adapter.name} does not fit into the memory of {model.device}.",
            "Choose a smaller data type or another device.",
        ) from error
    return merged


def beside(model: PreTrainedModel, adapter: AdapterFiles, base_name: str) -> PeftModel:
    """`model` with the adapter's weights beside its own, none of them trainable. Raises `AuditError` likewise."""
    config = _checked_config(adapter.folder)
    kind = KINDS[config.pop("peft_type")]
    what, remedy = _misfit(adapter, base_name)
    with explained(what, remedy):
        weights = load_file(adapter.folder / WEIGHTS)
        if not all(bool(torch.isfinite(tensor).all()) for tensor in weights.values()):
            raise AuditError(f"The adapter {adapter.name} holds numbers that are not finite.", "Fetch it again.")
        _untie(model, weights)
        adapted = get_peft_model(model, kind(**config, task_type="CAUSAL_LM", inference_mode=True))
        expected = get_peft_model_state_dict(adapted)
        astray = sorted(set(weights) ^ set(expected)) or sorted(
            name for name, tensor in weights.items() if tensor.shape != expected[name].shape
        )
        if astray:
            raise AuditError(f"{what}: {len(astray)} of its weights have no place ({astray[0][:100]}).", remedy)
        set_peft_model_state_dict(adapted, weights)
    return adapted


def _misfit(adapter: AdapterFiles, base_name: str) -> tuple[str, str]:
    return (
        f"The adapter {adapter.name} does not fit {base_name}",
        "Give it with the base model that it was made for; its adapter_config.json names it.",
    )


def _untie(model: PreTrainedModel, weights: dict[str, torch.Tensor]) -> None:
    """Gives input and output their own copies where they share one and the adapter adds to one of them only.

    Merged into the shared matrix, it would change the other too, and give other numbers than it was trained with.
    """
    head, embedding = model.get_output_embeddings(), model.get_input_embeddings()
    if head is None or head.weight is not embedding.weight:
        return
    shared = [name for name, module in model.named_modules() if module is head or module is embedding]
    added = tuple(f"base_model.model.{name}.{part}_" for name in shared for part in ("lora", "ia3"))
    if any(name.startswith(added) for name in weights):
        head.weight = torch.nn.Parameter(head.weight.detach().clone())
        model.config.tie_word_embeddings = False


def _checked_config(folder: Path) -> dict[str, Any]:
    """What of adapter_config.json decides the numbers, with `peft_type`; all else is known not to."""
    config = read_json(folder / CONFIG)
    kind = config.get("peft_type")
    if not isinstance(kind, str) or kind not in KINDS:
        said = kind[:40] if isinstance(kind, str) else "not a word"
        raise AuditError(
            f"The adapter {folder} is of a kind ({said!r}) that cannot be merged into a model.",
            f"Use one of the kinds {', '.join(KINDS)}, or merge it with the tool that made it.",
        )
    start = config.get("init_lora_weights", True)
    usual = _defaults(KINDS[kind])
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


def _defaults(kind: type[PeftConfig]) -> dict[str, Any]:
    """What a configuration says where it says nothing. (A bare AdaLoRA one cannot be made.)"""
    return {
        field.name: field.default_factory() if field.default_factory is not MISSING else field.default
        for field in fields(kind)
    }


def _check_value(folder: Path, name: str, value: Any) -> None:
    wrong = AuditError(
        f"{CONFIG} in {folder} gives {name} a value that makes no sense.", "Fetch the adapter again from its publisher."
    )
    limit = LARGEST_RANK if name in ("r", "target_r", "init_r", "rank_pattern") else LARGEST_NUMBER
    for one in _leaves(value, DEEPEST_NESTING):
        if isinstance(one, str):
            if not _is_quick(one):
                raise wrong
        elif not isinstance(one, int | float) or not -limit <= one <= limit:
            raise wrong


def _is_quick(pattern: str) -> bool:
    """Whether a search for what PEFT takes as a regular expression is sure to end soon.

    A repeated group can keep one busy for ever, and so can many repeats in a row: each multiplies the ways to match.
    """
    if len(pattern) > LONGEST_PATTERN or re.search(r"\)\s*[*+{]", pattern):
        return False
    plain = re.sub(r"\\.|\(\?", "", pattern)  # escaped characters repeat nothing, nor does the mark of a group
    return len(re.findall(r"[*+?{]\??", plain)) <= MOST_REPEATS


def _leaves(value: Any, depth: int) -> list[Any]:
    """All that is no list and no dict; what is nested deeper than `depth` as it is."""
    if isinstance(value, dict) and depth:
        return [leaf for pair in value.items() for part in pair for leaf in _leaves(part, depth - 1)]
    if isinstance(value, list) and depth:
        return [leaf for one in value for leaf in _leaves(one, depth - 1)]
    return [value]
