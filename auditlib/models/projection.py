"""A causal model taken in two steps: the body gives hidden states, the head turns some of them into logits.

Taken whole, a forward pass makes an array of [batch, length, vocabulary]; taken apart, only a slice of
positions ever has its logits in memory. Architectures differ in what they do to logits after the head, so
the split is checked against the model's own forward pass when a model is loaded, never assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

PROBE_TOKENS = 9
# What rounding alone may do, relative to the largest logit: bfloat16 keeps 8 bits, float16 keeps 11.
TOLERANCE = {torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 3e-2}


@dataclass(frozen=True)
class Projection:
    """`states(ids (b, l))` -> (b, l, d); `logits(states (m, d))` -> (m, V) float32."""

    states: Callable[[Tensor], Tensor]
    logits: Callable[[Tensor], Tensor]
    is_sliced: bool


def find_projection(model: PreTrainedModel) -> Projection:
    """The split that gives this model's own logits; the one with the smallest error where several would do.

    Where no known split does, the whole forward pass is used: right, but with more memory.
    """
    whole = Projection(
        states=lambda ids: model(input_ids=ids, use_cache=False).logits,
        logits=lambda logits: logits.float(),
        is_sliced=False,
    )
    ids = _probe_ids(model)
    with torch.inference_mode():
        truth = whole.logits(whole.states(ids).flatten(0, 1))
        if not torch.isfinite(truth).all():
            return whole  # a broken model is reported where it is used, with the text's name
        splits = [(_error(split.logits(split.states(ids).flatten(0, 1)), truth), split) for split in _splits(model)]
    error, best = min(splits, key=lambda pair: pair[0], default=(float("inf"), whole))
    return best if error <= TOLERANCE[model.dtype] else whole


def reads_left_to_right(model: PreTrainedModel, projection: Projection) -> bool:
    """Whether later tokens leave earlier positions alone.

    True for a causal model; it is also what makes a text's numbers independent of the padding of its batch.
    """
    ids = _probe_ids(model)
    changed = ids.clone()
    changed[:, PROBE_TOKENS // 2 :] = ids[:, PROBE_TOKENS // 2 :].flip(1)
    before = slice(0, PROBE_TOKENS // 2)
    with torch.inference_mode():
        a = projection.logits(projection.states(ids)[:, before].flatten(0, 1))
        b = projection.logits(projection.states(changed)[:, before].flatten(0, 1))
    return not _error(a, b) > TOLERANCE[model.dtype]


def _probe_ids(model: PreTrainedModel) -> Tensor:
    vocabulary = model.get_input_embeddings().weight.shape[0]
    ids = torch.arange(1, 2 * PROBE_TOKENS + 1) * 7919 % vocabulary
    device: torch.device = model.device
    return torch.as_tensor(ids.view(2, PROBE_TOKENS), device=device)


def _error(a: Tensor, b: Tensor) -> float:
    """Largest difference, relative to the largest logit."""
    if a.shape != b.shape:
        return float("inf")
    return float((a - b).abs().max() / b.abs().max().clamp(min=1.0))


def _splits(model: PreTrainedModel) -> list[Projection]:
    head = model.get_output_embeddings()
    body = model.get_decoder() if hasattr(model, "get_decoder") else getattr(model, "base_model", None)
    if head is None or body is None or body is model:
        return []
    config = model.config.get_text_config()

    def states(ids: Tensor) -> Tensor:
        hidden: Tensor = body(input_ids=ids, use_cache=False).last_hidden_state
        return hidden

    def after(change: Callable[[Tensor], Tensor]) -> Projection:
        return Projection(states, lambda hidden: change(head(hidden).float()), is_sliced=True)

    splits = [after(lambda logits: logits)]
    if cap := getattr(config, "final_logit_softcapping", None):  # Gemma 2
        splits.append(after(lambda logits: logits.div_(cap).tanh_().mul_(cap)))
    if divisor := getattr(config, "logits_scaling", None):  # Granite
        splits.append(after(lambda logits: logits.div_(divisor)))
    if factor := getattr(config, "logit_scale", None):  # Cohere
        splits.append(after(lambda logits: logits.mul_(factor)))
    return splits
