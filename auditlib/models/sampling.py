"""Which continuations are drawn together, and by what chance: plain arithmetic, no tokens' meaning and no torch.

A draw depends on the seed, the prompt, the number of the sample and the step, and on nothing else: not on what else is
in the batch, nor on which prompts were asked for before. So a seed reproduces a sample wherever it is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from auditlib.core import AuditError, Progress, TargetModel

MOST_SAMPLES = 1000
MOST_NEW_TOKENS = 8192


@dataclass(frozen=True)
class Sampling:
    """How texts are continued. At temperature 1 and top-p 1 tokens come as likely as the model finds them.

    samples         continuations of each prompt
    max_new_tokens  at most so many tokens each; fewer where the model ends its text
    """

    samples: int = 20
    max_new_tokens: int = 256
    seed: int = 0
    temperature: float = 1.0
    top_p: float = 1.0

    def checked(self) -> Sampling:
        """Itself. Raises `AuditError` where it makes no sense."""
        if not 1 <= self.samples <= MOST_SAMPLES:
            raise AuditError(f"{self.samples:,} samples of a prompt cannot be drawn.", f"Choose 1 to {MOST_SAMPLES:,}.")
        if not 1 <= self.max_new_tokens <= MOST_NEW_TOKENS:
            raise AuditError(
                f"A continuation of {self.max_new_tokens:,} tokens cannot be drawn.",
                f"Choose 1 to {MOST_NEW_TOKENS:,}.",
            )
        if not (math.isfinite(self.temperature) and 0 < self.temperature <= 100):
            raise AuditError(
                f"The temperature {self.temperature:g} makes no sense.", "Choose one above 0; 1 is the model's own."
            )
        if not 0 < self.top_p <= 1:
            raise AuditError(f"Top-p is a share above 0 and up to 1, not {self.top_p:g}.", "At 1 nothing is cut off.")
        return self


class GeneratingModel(TargetModel, Protocol):
    """A model that can continue texts: its capabilities have GENERATE."""

    @property
    def window_tokens(self) -> int:
        """Tokens that a prompt and its continuation may have together."""
        ...

    def generate(
        self,
        prompts: Sequence[str],
        sampling: Sampling,
        progress: Progress | None = None,
        names: Sequence[str] | None = None,
    ) -> Iterator[tuple[int, int, str]]:
        """The number of a prompt, of a sample of it, and the text that was drawn, each as soon as it has ended.

        `progress` hears of tokens, of at most so many. Raises `AuditError` before anything is drawn where a prompt and
        its continuation do not fit into the model's window, naming the prompt.
        """
        ...

    def prompt_tokens(self, text: str, name: str = "The prompt") -> int:
        """Tokens that a prompt takes in the model's window. Raises `AuditError` for one that cannot be read."""
        ...


@dataclass(frozen=True)
class Rows:
    """Samples first..last (exclusive) of one prompt: they share what the model makes of it."""

    prompt: int
    first: int
    last: int

    @property
    def count(self) -> int:
        """How many."""
        return self.last - self.first


def step_keys(seed: int, prompt: str, sample: int, n: int) -> NDArray[np.int64]:
    """The number that decides each step's chance (n,); the first m of them are the same whatever n is."""
    text = prompt.encode("utf-8", "surrogatepass")
    key = sha256(f"{seed}:{sample}:".encode() + sha256(text).digest()).digest()
    generator = np.random.Generator(np.random.Philox(key=int.from_bytes(key[:16], "big")))
    return generator.integers(-(2**63), 2**63, size=n, dtype=np.int64)


def sample_batches(
    lengths: Sequence[int], samples: int, new_tokens: int, budget: int, same_length: bool = False
) -> list[list[Rows]]:
    """Batches of samples, prompts of like length together, longest first; each of at most `budget` tokens.

    A row's tokens are those of the batch's longest prompt and its own continuation. One row goes alone where even that
    is more. With `same_length` a batch holds prompts of one length only, for models that take no padding.
    """
    batches: list[list[Rows]] = []
    longest = room = 0
    for prompt in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        first = 0
        while first < samples:
            if not batches or room < 1 or (same_length and lengths[prompt] != longest):
                batches.append([])
                longest = lengths[prompt]
                room = max(1, budget // (longest + new_tokens))
            last = min(samples, first + room)
            batches[-1].append(Rows(prompt, first, last))
            room -= last - first
            first = last
    return batches
