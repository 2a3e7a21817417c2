"""The fused reductions against the textbook formulas in float64."""

from __future__ import annotations

import pytest
import torch

from auditlib.models.statistics import ROWS_IN_CACHE, position_statistics

N = 3 * ROWS_IN_CACHE + 1


def textbook(logits: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, ...]:
    log_p = torch.log_softmax(logits.double(), dim=1)
    p = log_p.exp()
    # 0 * -inf is 0 here: a token of no probability adds nothing to an expectation.
    weighted = torch.where(p > 0, p * log_p, 0.0)
    mean = weighted.sum(1)
    variance = torch.where(p > 0, weighted * log_p, 0.0).sum(1) - mean**2
    target = logits.gather(1, targets[:, None])
    return log_p.gather(1, targets[:, None])[:, 0], mean, variance.clamp(min=1e-6), (logits > target).sum(1) + 1


@pytest.mark.parametrize("spread", [0.01, 3.0, 30.0])
def test_statistics_equal_the_textbook_formulas(spread: float) -> None:
    generator = torch.Generator().manual_seed(5)
    logits = torch.randn(N, 5000, generator=generator) * spread
    targets = torch.randint(0, 5000, (N,), generator=generator)
    expected = textbook(logits, targets)
    found = position_statistics(logits.clone(), targets)
    torch.testing.assert_close(found.logprob.double(), expected[0], atol=1e-4, rtol=0)
    torch.testing.assert_close(found.expected.double(), expected[1], atol=2e-4, rtol=0)
    torch.testing.assert_close(found.variance.double(), expected[2], atol=1e-3, rtol=1e-3)
    assert torch.equal(found.rank.long(), expected[3])


def test_equally_likely_tokens_share_the_better_rank() -> None:
    logits = torch.tensor([[2.0, 2.0, 1.0, 2.0], [5.0, 0.0, 0.0, 0.0]])
    ranks = [position_statistics(logits.clone(), torch.tensor([t, t])).rank.tolist() for t in (0, 2)]
    assert ranks == [[1, 1], [4, 2]]


def test_variance_never_falls_below_its_floor() -> None:
    certain = torch.full((1, 100), -1000.0)
    certain[0, 7] = 1000.0
    found = position_statistics(certain, torch.tensor([7]))
    assert found.variance.item() == pytest.approx(1e-6)
    assert found.logprob.item() == pytest.approx(0.0, abs=1e-6)


def test_masked_vocabulary_entries_do_not_make_the_rest_undefined() -> None:
    logits = torch.randn(4, 50, generator=torch.Generator().manual_seed(1))
    logits[:, 40:] = -torch.inf
    targets = torch.tensor([0, 1, 2, 3])
    expected = textbook(logits, targets)
    found = position_statistics(logits.clone(), targets)
    torch.testing.assert_close(found.expected.double(), expected[1], atol=1e-5, rtol=0)
    torch.testing.assert_close(found.variance.double(), expected[2], atol=1e-4, rtol=0)


def test_alternatives_are_the_likeliest_tokens_best_first() -> None:
    logits = torch.randn(N, 300, generator=torch.Generator().manual_seed(2))
    log_p = torch.log_softmax(logits, dim=1)
    found = position_statistics(logits.clone(), torch.zeros(N, dtype=torch.long), top=5)
    assert found.top_ids is not None
    assert torch.equal(found.top_ids.long(), log_p.topk(5, dim=1).indices)
    torch.testing.assert_close(found.top_logprob, log_p.topk(5, dim=1).values, atol=1e-5, rtol=0)


def test_no_alternatives_unless_asked_for() -> None:
    found = position_statistics(torch.randn(3, 10), torch.zeros(3, dtype=torch.long))
    assert found.top_ids is None
    assert found.top_logprob is None
