"""Sets that no model has read: texts of made-up words, token statistics from numpy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256

import numpy as np

from auditlib.audits.sets import LabelledSets, ReadSets, labelled_sets
from auditlib.core import Capability, Label, ModelIdentity, Progress, Snippet, TokenStats
from auditlib.scoring import Reading
from tests.planted import made_up
from tests.tiny import identity_of

ALL = frozenset({Capability.TOKEN_LOGPROBS, Capability.FULL_DISTRIBUTION, Capability.RANK})
IDENTITY = replace(identity_of("made"), weights_sha256="a" * 64)


def snippet(text: str, label: Label, group: str | None = None) -> Snippet:
    """A whole text; a group of its own where none is given."""
    own = sha256(text.encode()).hexdigest()
    return Snippet(own, own, group or own[:12], text, 0, 0, len(text.split()), label)


def made_sets(
    n_members: int, n_non_members: int, words: int = 30, per_group: int = 1, lengths: Sequence[int] | None = None
) -> LabelledSets:
    """Both sets from one pool of texts; `per_group` texts of a set share a group. `lengths` are taken in turn."""
    made = []
    for i in range(n_members + n_non_members):
        label = Label.MEMBER if i < n_members else Label.NON_MEMBER
        length = words if lengths is None else lengths[i % len(lengths)]
        made.append(snippet(made_up(i, length), label, f"{label.value} group {i // per_group}"))
    return labelled_sets(made, drop_shared=False)


def made_stats(seed: int, n_tokens: int, shift: float = 0.0) -> TokenStats:
    """Log-probabilities about -4 nats, higher by `shift`; never above 0."""
    rng = np.random.default_rng(seed)
    logprob = np.minimum(rng.normal(-4 + shift, 1.0, n_tokens), -1e-3).astype(np.float32)
    places = np.arange(n_tokens, dtype=np.int32)
    return TokenStats(
        token_ids=places,
        start=places,
        end=places + 1,
        logprob=logprob,
        expected=np.full(n_tokens, -4.0, dtype=np.float32),
        variance=np.ones(n_tokens, dtype=np.float32),
        rank=np.ones(n_tokens, dtype=np.int32),
    )


def made_reading(sets: LabelledSets, shift: float, spread: float = 0.5, seed: int = 0) -> ReadSets:
    """As read by a model that finds members likelier by `shift` nats a token, texts differing by `spread`."""
    rng = np.random.default_rng(seed)
    readings = []
    for i, (one, is_member) in enumerate(zip(sets.snippets, sets.is_member, strict=True)):
        own = shift * is_member + rng.normal(0, spread)
        stats = made_stats(10_000 * seed + i, one.word_count, own)
        readings.append(Reading(one.text, stats, lowercased=made_stats(10_000 * seed + i + 5000, one.word_count)))
    return ReadSets(sets, tuple(readings), IDENTITY, ALL)


class CountingModel:
    """A `TargetModel` that makes its numbers up from the text, and counts how often it is asked."""

    capabilities = ALL
    context_length = 512
    vocabulary_size = 400

    def __init__(self, identity: ModelIdentity = IDENTITY) -> None:
        self.identity = identity
        self.asked: list[str] = []

    def token_stats(
        self,
        texts: Sequence[str],
        top: int = 0,
        progress: Progress | None = None,
        names: Sequence[str] | None = None,
    ) -> Iterator[tuple[int, TokenStats]]:
        self.asked += texts
        for index, text in reversed(list(enumerate(texts))):
            yield index, made_stats(int(sha256(text.encode()).hexdigest()[:8], 16), len(text.split()))

    def tokens_to_read(self, text: str, name: str = "The text") -> int:
        return len(text.split())

    def token_text(self, token_ids: Sequence[int]) -> list[str]:
        return [str(i) for i in token_ids]
