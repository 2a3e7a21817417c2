"""From logits to what is kept of each position, without a second array of the vocabulary's size.

The reductions run over a few rows at a time, so that on a CPU each row is still in cache for the next one,
and overwrite the logits as they go.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

ROWS_IN_CACHE = 8
VARIANCE_FLOOR = 1e-6
# Some models mask unused vocabulary entries with -inf. exp() of either value is exactly 0, but 0 * -inf is NaN.
LOWEST_SHIFTED_LOGIT = -1e4


@dataclass(frozen=True)
class PositionStatistics:
    """m positions; float32 in nats, rank int32, alternatives (m, top) or None."""

    logprob: Tensor
    expected: Tensor
    variance: Tensor
    rank: Tensor
    top_ids: Tensor | None
    top_logprob: Tensor | None


def position_statistics(logits: Tensor, targets: Tensor, top: int = 0) -> PositionStatistics:
    """Statistics of each row of `logits` at its target token.

    logits (m, V) float32, overwritten; targets (m,) int64. With L = log_softmax(logits):
    logprob = L[target]; expected = sum p L; variance = sum p L^2 - expected^2, at least 1e-6 (computed
    around the mean, so that nothing cancels); rank = 1 + #{L > L[target]}.
    """
    rows = ROWS_IN_CACHE if logits.device.type == "cpu" else len(logits)
    blocks = [_block(logits[i : i + rows], targets[i : i + rows], top) for i in range(0, len(logits), rows)]
    columns = [torch.cat(column) for column in zip(*blocks, strict=True)]
    return PositionStatistics(*columns[:4], *(columns[4:] if top else (None, None)))


def _block(logits: Tensor, targets: Tensor, top: int) -> tuple[Tensor, ...]:
    target = logits.gather(1, targets[:, None])
    best = logits.topk(top, dim=1) if top else None
    largest = logits.amax(1, keepdim=True)
    # Counting through the sign is exact (an IEEE difference is positive only where the left side is larger)
    # and three times as fast on a CPU as summing booleans.
    work = torch.sub(logits, target)
    rank = work.sign_().clamp_(min=0).sum(1).to(torch.int32) + 1

    shifted = logits.sub_(largest).clamp_(min=LOWEST_SHIFTED_LOGIT)
    weights = torch.exp(shifted)
    total = weights.sum(1, keepdim=True)
    log_total = total.log()
    mean = torch.mul(weights, shifted, out=work).sum(1, keepdim=True) / total
    squared_deviation = shifted.sub_(mean).square_()
    variance = torch.mul(weights, squared_deviation, out=work).sum(1) / total.squeeze(1)

    columns = (
        (target - largest - log_total).squeeze(1),
        (mean - log_total).squeeze(1),
        variance.clamp_(min=VARIANCE_FLOOR),
        rank,
    )
    if best is None:
        return columns
    return (*columns, best.indices.to(torch.int32), best.values - largest - log_total)
