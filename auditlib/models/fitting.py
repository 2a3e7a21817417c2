"""Whether weights and configuration belong together: a model that half fits would give numbers all the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from transformers import AutoModelForCausalLM, PretrainedConfig

from auditlib.core import AuditError

# Some architectures compute a few parameters that no file holds; a configuration made up to fill this machine's
# memory asks for many times what the files hold.
MOST_UNSTORED = 1.5
# Quantized files pack up to eight weights into one stored number.
MOST_PACKED = 16


def refuse_ill_fitting(report: Mapping[str, Any], name: str) -> None:
    """`AuditError` where the files lack a weight (it was made up at random) or hold one that found no place.

    `report` is what `from_pretrained(output_loading_info=True)` gives beside the model.
    """
    missing = sorted(map(str, [*report["missing_keys"], *report["mismatched_keys"]]))
    left_over = sorted(map(str, report["unexpected_keys"]))
    for keys, what in ((missing, "are missing or of another shape"), (left_over, "have no place in the model")):
        if keys:
            raise AuditError(
                f"The weights of {name} do not fit its configuration: {len(keys)} {what} ({keys[0][:80]}).",
                "Fetch the model again; the configuration and the weights must come from the same publisher.",
            )


def check_size(config: PretrainedConfig, name: str, stored: int) -> None:
    """Refuses a configuration that asks for far more memory than `stored` numbers could fill."""
    with torch.device("meta"):
        empty = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    asked = sum(tensor.numel() for tensor in (*empty.parameters(), *empty.buffers()))
    is_quantized = getattr(config, "quantization_config", None) is not None
    if asked > stored * (MOST_PACKED if is_quantized else MOST_UNSTORED):
        raise AuditError(
            f"The configuration of {name} describes {asked:,} numbers, far more than its files hold ({stored:,}).",
            "Fetch the model again; the configuration and the weights must come from the same publisher.",
        )
