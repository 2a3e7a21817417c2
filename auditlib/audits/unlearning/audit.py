"""A whole unlearning audit: what it was asked for, and all that it found."""

from __future__ import annotations

from dataclasses import dataclass

from auditlib.audits.calibration import checked_alpha
from auditlib.audits.unlearning.chunks import PROMPT_WORDS, WORDS, check_lengths
from auditlib.audits.unlearning.completions import MOST_CHUNKS, SAMPLES, CompletionTest
from auditlib.audits.unlearning.forgetting import MARGIN, Forgetting
from auditlib.audits.unlearning.questions import ANSWER_TOKENS, QuestionTest
from auditlib.audits.unlearning.screening import FACTOR, Screening, checked_factor
from auditlib.audits.unlearning.verdict import UnlearningVerdict
from auditlib.core import AuditError, ModelIdentity
from auditlib.models.sampling import Sampling
from auditlib.scoring import DEFAULT_K, SCORES, checked_k

AUTO_TOKENS = 0  # as many new tokens as the longest true continuation has


@dataclass(frozen=True)
class UnlearningSettings:
    """All numbers that decide an audit; the paper's where it names one.

    new_tokens   of a completion; 0 for as many as the longest true continuation has, at most 1,024
    most_chunks  of each role that are completed, drawn at random where there are more
    margin       difference of AUCs that would still not matter
    """

    chunk_words: int = WORDS
    prompt_words: int = PROMPT_WORDS
    score: str = "min_k"
    k: float = DEFAULT_K
    factor: float = FACTOR
    samples: int = SAMPLES
    new_tokens: int = AUTO_TOKENS
    answer_tokens: int = ANSWER_TOKENS
    temperature: float = 1.0
    top_p: float = 1.0
    most_chunks: int = MOST_CHUNKS
    margin: float = MARGIN
    alpha: float = 0.05
    seed: int = 0

    def sampling(self, new_tokens: int) -> Sampling:
        """How texts are drawn, with so many new tokens each."""
        return Sampling(self.samples, new_tokens, self.seed, self.temperature, self.top_p)


# The demo's books have some 1,800 words each: 14 chunks of 128. No more of those that nobody ever saw are continued.
DEMO_SETTINGS = UnlearningSettings(chunk_words=128, prompt_words=50, samples=4, new_tokens=48, most_chunks=14)


@dataclass(frozen=True)
class UnlearningResult:
    """Everything that a finished audit shows, without the works' texts."""

    original: ModelIdentity
    unlearned: ModelIdentity
    reference: ModelIdentity | None
    settings: UnlearningSettings
    screening: Screening
    completions: CompletionTest
    questions: QuestionTest | None
    forgetting: Forgetting
    verdict: UnlearningVerdict
    notes: tuple[str, ...]


def checked_unlearning(settings: UnlearningSettings) -> UnlearningSettings:
    """`settings`, or `AuditError` where they make no sense."""
    check_lengths(settings.chunk_words, settings.prompt_words)
    if settings.score not in SCORES:
        raise AuditError(f"There is no score {settings.score[:40]!r}.", f"Choose one of {', '.join(SCORES)}.")
    checked_k(settings.k)
    checked_factor(settings.factor)
    checked_alpha(settings.alpha)
    settings.sampling(settings.new_tokens or 1).checked()
    settings.sampling(settings.answer_tokens).checked()
    if settings.most_chunks < 2:
        raise AuditError("At least 2 chunks of each role must be completed.", "Choose more.")
    if not 0 < settings.margin < 0.5:
        raise AuditError(f"The margin is between 0 and 0.5, not {settings.margin:g}.", "0.1 is usual.")
    return settings
