"""The completion test: a chunk's beginning as prompt, and how near the unlearned model's text comes to the rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from auditlib.audits.unlearning.chunks import Chunk, Role
from auditlib.audits.unlearning.screening import Screening
from auditlib.core import AuditError
from auditlib.evidence import Difference, Interval, mean_difference, permutation_p, rank_agreement
from auditlib.models.judge_prompt import HIGHEST, LOWEST, Rating
from auditlib.models.sampling import Sampling
from auditlib.scoring.similarity import compare_texts

SAMPLES = 20
MOST_CHUNKS = 200  # of a role; the paper completed 188
MEASURES = {
    "cosine": "cosine of sentence embeddings",
    "rouge_l": "ROUGE-L",
    "run_words": "longest common run",
    "judge": "rating, 1 to 5",
}
Embed = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True)
class Completion:
    """One sample of one chunk, compared with the true continuation.

    cosine      of the sentence embeddings; None where there is no such model
    run_words   words of the longest run in both
    judge       the judge's rating; None where there is none, for `judge_missing`; empty where no judge was asked
    person      a person's own rating, which counts before the judge's
    """

    chunk: str
    sample: int
    text: str
    cosine: float | None
    rouge_l: float
    rouge_l_recall: float
    run_words: int
    judge: int | None = None
    judge_reason: str = ""
    judge_missing: str = ""
    person: int | None = None

    @property
    def rating(self) -> int | None:
        """The person's, else the judge's."""
        return self.person if self.person is not None else self.judge

    def measure(self, name: str) -> float | None:
        """One of MEASURES."""
        value = self.rating if name == "judge" else getattr(self, name)
        return None if value is None else float(value)


@dataclass(frozen=True)
class Comparison:
    """One measure in two sets of chunks, each chunk counted once by the mean of its samples.

    difference, p   None where they cannot be had, for `missing`; p by permutation
    """

    measure: str
    first: str
    second: str
    n_first: int
    n_second: int
    mean_first: float
    mean_second: float
    difference: Difference | None
    p: float | None
    missing: str = ""

    @property
    def means_text(self) -> str:
        """Both means as people read them; a dash for a set that is empty."""
        first, second = (f"{mean:.2f}" if math.isfinite(mean) else "–" for mean in (self.mean_first, self.mean_second))
        return f"{first} and {second}"


@dataclass(frozen=True)
class Agreement:
    """How far ratings and embeddings put the completions into one order."""

    n: int
    spearman: Interval | None
    missing: str = ""


@dataclass(frozen=True)
class JudgePanel:
    """What the judge gave. `model` is empty where none was set up, and `said` then says how to add one."""

    model: str
    n_rated: int
    n_unrated: dict[str, int]
    n_asked: int
    agreement: Agreement
    said: str = ""


@dataclass(frozen=True)
class CompletionTest:
    """All completions and what they tell. `missing` says why there are none."""

    embedding: str
    sampling: Sampling
    prompt_words: int
    completions: tuple[Completion, ...]
    comparisons: tuple[Comparison, ...]
    panel: JudgePanel
    notes: tuple[str, ...] = ()
    missing: str = ""

    def comparison(self, measure: str, first: str, second: str) -> Comparison | None:
        """One of the comparisons; None where it was not made."""
        wanted = (measure, first, second)
        return next((c for c in self.comparisons if (c.measure, c.first, c.second) == wanted), None)


SUSPICIOUS, OTHERS = "suspicious chunks", "other chunks"
NO_JUDGE = (
    "No judge was set up, so nobody rated the completions. Give the base URL and the name of a chat model behind "
    "OpenAI's interface to have them rated, or rate them yourself; all other tests were made."
)


def chosen_chunks(chunks: Sequence[Chunk], most: int, seed: int) -> tuple[Chunk, ...]:
    """At most `most` chunks of each role, drawn at random, in their order."""
    rng = np.random.default_rng(seed)
    chosen: set[str] = set()
    for role in Role:
        own = [chunk.id for chunk in chunks if chunk.role is role]
        chosen.update(own[i] for i in rng.permutation(len(own))[:most])
    return tuple(chunk for chunk in chunks if chunk.id in chosen)


def compared(
    chunks: Sequence[Chunk], drawn: Mapping[tuple[int, int], str], embed: Embed | None
) -> tuple[Completion, ...]:
    """Drawn texts by (place of the chunk, sample), each compared with its chunk's continuation."""
    order = sorted(drawn)
    truths = [chunks[place].continuation for place, _ in order]
    texts = [drawn[key] for key in order]
    cosines: list[float | None] = [None] * len(order)
    if embed is not None and order:
        ours, theirs = embed(truths).astype(np.float64), embed(texts).astype(np.float64)
        cosines = [float(x) for x in np.clip((ours * theirs).sum(axis=1), -1, 1)]
    found = []
    for (place, sample), truth, text, cosine in zip(order, truths, texts, cosines, strict=True):
        alike = compare_texts(truth, text)
        found.append(
            Completion(
                chunks[place].id,
                sample,
                text,
                cosine,
                alike.rouge_l.f,
                alike.rouge_l.recall,
                alike.run_words,
            )
        )
    return tuple(found)


def with_judge(completions: Sequence[Completion], ratings: Sequence[Rating]) -> tuple[Completion, ...]:
    """The completions with the judge's ratings, in the same order."""
    return tuple(
        replace(
            one,
            judge=rating.score,
            judge_reason=rating.reason,
            judge_missing=rating.missing.value if rating.missing is not None else "",
        )
        for one, rating in zip(completions, ratings, strict=True)
    )


def with_people(completions: Sequence[Completion], ratings: Mapping[tuple[str, int], int]) -> tuple[Completion, ...]:
    """The completions with people's own ratings by chunk and sample. Raises `AuditError` for one that is none."""
    for rating in ratings.values():
        if not LOWEST <= rating <= HIGHEST:
            raise AuditError(f"A rating is a whole number from {LOWEST} to {HIGHEST}, not {rating}.", "Correct it.")
    return tuple(replace(one, person=ratings.get((one.chunk, one.sample), one.person)) for one in completions)


def comparisons(completions: Sequence[Completion], screening: Screening, seed: int) -> tuple[Comparison, ...]:
    """Every measure: suspicious against other chunks of the works that the original was taught, and role by role."""
    lines = {line.id: line for line in screening.lines}
    taught = (Role.FORGET, Role.KEEP)
    pairs: list[tuple[str, str, Callable[[str], bool | None]]] = [
        (SUSPICIOUS, OTHERS, lambda id_: lines[id_].suspicious if lines[id_].role in taught else None)
    ]
    for first, second in ((Role.KEEP, Role.FORGET), (Role.FORGET, Role.HELD_OUT)):
        if {first, second} <= {lines[one.chunk].role for one in completions}:
            pairs.append((first.value, second.value, _by_role(lines, first, second)))
    found = []
    for measure in MEASURES:
        if any(one.measure(measure) is not None for one in completions):
            found += [_compare(completions, measure, *pair, seed) for pair in pairs]
    return tuple(found)


def agreement(completions: Sequence[Completion]) -> Agreement:
    """Ratings against embeddings, over the completions that have both."""
    both = [(one.rating, one.cosine, one.chunk) for one in completions if None not in (one.rating, one.cosine)]
    if not both:
        return Agreement(0, None, "No completion has a rating and an embedding.")
    ratings, cosines, chunks = (list(column) for column in zip(*both, strict=True))
    try:
        return Agreement(len(both), rank_agreement(ratings, cosines, chunks))
    except AuditError as error:
        return Agreement(len(both), None, f"{error.wrong} {error.remedy}")


def rated_again(
    test: CompletionTest, screening: Screening, ratings: Mapping[tuple[str, int], int], seed: int
) -> CompletionTest:
    """The same test with people's ratings, which count before the judge's: asks no model."""
    completions = with_people(test.completions, ratings)
    panel = replace(
        test.panel,
        n_rated=sum(one.rating is not None for one in completions),
        agreement=agreement(completions),
    )
    return replace(test, completions=completions, comparisons=comparisons(completions, screening, seed), panel=panel)


def closest(test: CompletionTest, most: int = 10, measure: str = "") -> tuple[Completion, ...]:
    """The completions that come nearest, one a chunk: by embeddings, or by ROUGE-L where there are none."""
    name = measure or ("cosine" if any(one.cosine is not None for one in test.completions) else "rouge_l")
    ranked = sorted(test.completions, key=lambda one: (-(one.measure(name) or 0.0), one.chunk, one.sample))
    best: dict[str, Completion] = {}
    for one in ranked:
        if one.measure(name) is not None:
            best.setdefault(one.chunk, one)
    return tuple(best.values())[:most]


def _by_role(lines: Mapping[str, object], first: Role, second: Role) -> Callable[[str], bool | None]:
    def side(id_: str) -> bool | None:
        role = lines[id_].role  # type: ignore[attr-defined]
        return True if role is first else False if role is second else None

    return side


def _compare(
    completions: Sequence[Completion],
    measure: str,
    first: str,
    second: str,
    side_of: Callable[[str], bool | None],
    seed: int,
) -> Comparison:
    rows = [
        (value, side, one.chunk)
        for one in completions
        if (value := one.measure(measure)) is not None and (side := side_of(one.chunk)) is not None
    ]
    values = np.array([row[0] for row in rows], dtype=np.float64)
    sides = np.array([row[1] for row in rows], dtype=np.bool_)
    groups = [row[2] for row in rows]
    counts = [len({row[2] for row in rows if row[1] is side}) for side in (True, False)]
    means = [_mean_of_chunks(rows, side) for side in (True, False)]
    difference, p, missing = None, None, ""
    try:
        difference = mean_difference(values, sides, groups)
        p = permutation_p(values, sides, groups, seed=seed)
    except AuditError as error:
        missing = f"{error.wrong} {error.remedy}"
    return Comparison(measure, first, second, counts[0], counts[1], means[0], means[1], difference, p, missing)


def _mean_of_chunks(rows: Sequence[tuple[float, bool, str]], wanted: bool) -> float:
    by_chunk: dict[str, list[float]] = {}
    for value, side, chunk in rows:
        if side is wanted:
            by_chunk.setdefault(chunk, []).append(value)
    return float(np.mean([np.mean(own) for own in by_chunk.values()])) if by_chunk else float("nan")
