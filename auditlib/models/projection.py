"""A causal model taken in two steps: the body gives hidden states, the head turns some of them into logits.

Taken whole, a forward pass makes an array of [batch, length, vocabulary]; taken apart, only a slice of
positions ever has its logits in memory. Architectures differ in what they do to logits after the head, so
the split is checked against the model's own forward pass when a model is loaded, never assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

PROBE_TOKENS = 9
# What rounding alone may do, relative to the largest logit: bfloat16 keeps 8 bits, float16 keeps 11.
TOLERANCE = {torch.float32: 1e-4, torch.float16: 2e-3, torch.bfloat16: 8e-3}


@dataclass(frozen=True)
class Projection:
    """`states(ids (b, l))` -> (b, l, d), and `logits(states (m, d), out)` -> (m, V) float32.

    `states_with(ids, cache)` is the same behind tokens whose keys and values are in `cache`, which may take up more.

    `out`, a float32 array of m rows or more, may be written into and handed back: allocating the largest array
    there is anew for every slice costs a CPU some percent of the whole. `takes_out` says whether it would be used.
    """

    states: Callable[[Tensor], Tensor]
    logits: Callable[[Tensor, Tensor | None], Tensor]
    states_with: Callable[[Tensor, Any], Tensor]
    is_sliced: bool
    takes_out: bool = False


def find_projection(model: PreTrainedModel) -> Projection:
    """The split that gives this model's own logits; the one with the smallest error where several would do.

    Where no known split does, the whole forward pass is used: right, but with more memory.
    """
    whole = Projection(
        states=lambda ids: model(input_ids=ids, use_cache=False).logits,
        logits=lambda logits, out: logits.float(),
        states_with=lambda ids, cache: model(input_ids=ids, past_key_values=cache, use_cache=True).logits,
        is_sliced=False,
    )
    ids = _probe_ids(model)
    with torch.inference_mode():
        truth = _logits(whole, ids)
        if not torch.isfinite(truth).all():
            return whole  # a broken model is reported where it is used, with the text's name
        splits = [(_error(_logits(split, ids), truth), split) for split in _splits(model)]
    error, best = min(splits, key=lambda pair: pair[0], default=(float("inf"), whole))
    return best if error <= TOLERANCE[model.dtype] else whole


def reads_left_to_right(model: PreTrainedModel, projection: Projection) -> bool:
    """Whether later tokens leave earlier positions alone, be they others or more of them.

    True for a causal model; it is also what makes a text's numbers independent of the padding of its batch.
    """
    ids = _probe_ids(model)
    kept = PROBE_TOKENS // 2
    others = ids.clone()
    others[:, kept:] = ids[:, kept:].flip(1)
    with torch.inference_mode():
        alone = _logits(projection, ids[:, :kept])
        among = [_logits(projection, longer, kept) for longer in (ids, others)]
    return not any(_error(found, alone) > TOLERANCE[model.dtype] for found in among)


def _logits(projection: Projection, ids: Tensor, first: int | None = None) -> Tensor:
    """Logits of the first positions of each row, or of all, as (positions, V)."""
    return projection.logits(projection.states(ids)[:, :first].flatten(0, 1), None)


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
    head: Any = model.get_output_embeddings()
    body = model.get_decoder() if hasattr(model, "get_decoder") else getattr(model, "base_model", None)
    if head is None or body is None or body is model:
        return []
    config = model.config.get_text_config()
    weight = head.weight if isinstance(head, nn.Linear) and getattr(head, "bias", None) is None else None
    takes_out = weight is not None and weight.dtype == torch.float32

    def states(ids: Tensor) -> Tensor:
        hidden: Tensor = body(input_ids=ids, use_cache=False).last_hidden_state
        return hidden

    def states_with(ids: Tensor, cache: Any) -> Tensor:
        hidden: Tensor = body(input_ids=ids, past_key_values=cache, use_cache=True).last_hidden_state
        return hidden

    def head_logits(hidden: Tensor, out: Tensor | None) -> Tensor:
        if out is not None and takes_out and weight is not None:
            return torch.mm(hidden, weight.t(), out=out[: len(hidden)])
        return torch.as_tensor(head(hidden)).float()

    def after(change: Callable[[Tensor], Tensor]) -> Projection:
        return Projection(states, lambda hidden, out: change(head_logits(hidden, out)), states_with, True, takes_out)

    splits = [after(lambda logits: logits)]
    cap = getattr(config, "final_logit_softcapping", None) or getattr(config, "logits_soft_cap", None)
    if cap:  # Gemma 2, RecurrentGemma
        splits.append(after(lambda logits: logits.div_(cap).tanh_().mul_(cap)))
    if divisor := getattr(config, "logits_scaling", None):  # Granite
        splits.append(after(lambda logits: logits.div_(divisor)))
    if factor := getattr(config, "logit_scale", None):  # Cohere
        splits.append(after(lambda logits: logits.mul_(factor)))
    return splits
