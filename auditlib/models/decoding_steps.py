"""A batch of rows through a causal model token by token, each prompt read once whatever the number of its samples.

Rows of different lengths are padded on the left. Not every architecture takes that well, and what one does with its
padding cannot be read off its name: it is tried, once a model, and compared with the same rows read alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from auditlib.models.projection import TOLERANCE

PROBE_LENGTHS = (3, 7)
PROBE_STEPS = 2


class Steps:
    """The rows of one batch. Logits are (rows, V), float32.

    The cache of keys and values grows with each step; a model that gives none reads its rows anew.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self._model = model
        self._limits_logits = "logits_to_keep" in inspect.signature(model.forward).parameters
        self._past: Any = None
        self._ids = torch.empty(0, 0, dtype=torch.long)  # (rows, all tokens), padding included
        self._mask: Tensor | None = None  # (rows, all tokens); None where no row is padded

    def start(self, prompts: Sequence[Sequence[int]]) -> Tensor:
        """Reads prompts, a row each, and gives the logits of what comes next."""
        longest = max(map(len, prompts))
        ids = torch.zeros(len(prompts), longest, dtype=torch.long)
        mask = torch.zeros(len(prompts), longest, dtype=torch.long)
        for row, prompt in enumerate(prompts):
            ids[row, longest - len(prompt) :] = torch.tensor(prompt, dtype=torch.long)
            mask[row, longest - len(prompt) :] = 1
        self._ids = ids.to(self._model.device)
        self._mask = None if all(len(prompt) == longest for prompt in prompts) else mask.to(self._model.device)
        return self._forward(self._ids)

    def keep(self, rows: Sequence[int]) -> None:
        """Goes on with these rows only, in this order; one may be named several times."""
        index = torch.tensor(rows, device=self._ids.device)
        self._ids = self._ids[index]
        if self._mask is not None:
            self._mask = self._mask[index]
        if self._past is not None:
            self._past.batch_select_indices(index)

    def step(self, tokens: Tensor) -> Tensor:
        """Appends one token (rows,) to each row, and gives the logits of what comes next."""
        self._ids = torch.cat([self._ids, tokens[:, None]], dim=1)
        if self._mask is not None:
            self._mask = torch.cat([self._mask, torch.ones_like(tokens)[:, None]], dim=1)
        return self._forward(self._ids if self._past is None else tokens[:, None])

    @torch.inference_mode()
    def _forward(self, ids: Tensor) -> Tensor:
        told: dict[str, Any] = {"logits_to_keep": 1} if self._limits_logits else {}
        if self._mask is not None:
            places = (self._mask.cumsum(dim=1) - 1).clamp(min=0)
            told |= {"attention_mask": self._mask, "position_ids": places[:, -ids.shape[1] :]}
        if self._past is not None:
            told["past_key_values"] = self._past
        out = self._model(input_ids=ids, use_cache=True, **told)
        past = getattr(out, "past_key_values", None)
        self._past = past if hasattr(past, "batch_select_indices") else None
        logits: Tensor = out.logits[:, -1].float()
        return logits


def takes_padding(model: PreTrainedModel) -> bool:
    """Whether rows of different lengths give, side by side and repeated, what each gives alone."""
    vocabulary = model.get_input_embeddings().weight.shape[0]
    rows = [[(1 + place + 31 * length) % vocabulary for place in range(length)] for length in PROBE_LENGTHS]
    then = torch.tensor([row[0] for row in rows], device=model.device)
    try:
        together = _probed(model, rows, then)
        alone = [_probed(model, [row], then[place : place + 1]) for place, row in enumerate(rows)]
    except Exception:  # whatever a strange architecture throws at padding: it is then given none
        return False
    worst = max(
        float((side - own[0]).abs().max() / own.abs().max().clamp(min=1.0))
        for step, values in enumerate(together)
        for side, own in zip(values, [steps[step] for steps in alone], strict=True)
    )
    return worst <= TOLERANCE[model.dtype]  # NaN fails this too


def _probed(model: PreTrainedModel, rows: Sequence[Sequence[int]], then: Tensor) -> list[Tensor]:
    """Logits after the prompt and after each of some steps, with the rows rearranged on the way and back."""
    steps = Steps(model)
    found = [steps.start(rows)]
    back = list(range(len(rows)))[::-1]
    for _ in range(PROBE_STEPS):
        steps.keep(back)
        steps.keep(back)
        found.append(steps.step(then))
    return found
