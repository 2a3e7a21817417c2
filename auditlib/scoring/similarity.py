"""How alike two texts are by their words: what a model wrote against what stands in the work.

Not scores of membership: they compare a text with a text, and look at no log-probability.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rouge_score.rouge_scorer import RougeScorer

# Letters and figures of any script, an apostrophe within; each sign of a script that puts no spaces between words.
_UNSPACED = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:['’][^\W_{_UNSPACED}]+)*")
FEWEST_IN_RUN = 3


@dataclass(frozen=True)
class RougeL:
    """Longest common subsequence of words (Lin 2004), 0 to 1: as share of the reference, of the candidate, and both.

    `f` is their harmonic mean. All are 0 where one of the texts has no word.
    """

    recall: float
    precision: float
    f: float


@dataclass(frozen=True)
class CommonRun:
    """Words in a row that stand in both texts, and between which characters of each. Case and signs do not count."""

    n_words: int
    reference_start: int
    reference_end: int
    candidate_start: int
    candidate_end: int


@dataclass(frozen=True)
class TextSimilarity:
    """All that the words of two texts tell. `longest_run` is None where they have no word in common."""

    rouge_l: RougeL
    longest_run: CommonRun | None

    @property
    def run_words(self) -> int:
        """Words of the longest common run."""
        return self.longest_run.n_words if self.longest_run else 0


def words_of(text: str) -> list[str]:
    """The words as they are compared: in lower case, with no sign between them."""
    return [word.casefold() for word, _, _ in _spans(text)]


def rouge_l(reference: str, candidate: str) -> RougeL:
    """ROUGE-L by the `rouge-score` library, with words of all scripts (its own tokenizer drops what is not ASCII)."""
    found = _scorer().score(reference, candidate)["rougeL"]
    return RougeL(float(found.recall), float(found.precision), float(found.fmeasure))


def longest_run(reference: str, candidate: str) -> CommonRun | None:
    """The longest run of words in both texts, the first of several; None where no word is in both."""
    ours, theirs = _spans(reference), _spans(candidate)
    match = _matcher(ours, theirs).find_longest_match()
    return _run(ours, theirs, match.a, match.b, match.size) if match.size else None


def shared_runs(reference: str, candidate: str, fewest: int = FEWEST_IN_RUN) -> tuple[CommonRun, ...]:
    """Runs of at least `fewest` words that both texts have in the same order, for marking them."""
    ours, theirs = _spans(reference), _spans(candidate)
    blocks = _matcher(ours, theirs).get_matching_blocks()
    return tuple(_run(ours, theirs, a, b, size) for a, b, size in blocks if size >= max(1, fewest))


def compare_texts(reference: str, candidate: str) -> TextSimilarity:
    """ROUGE-L and the longest common run."""
    return TextSimilarity(rouge_l(reference, candidate), longest_run(reference, candidate))


class _Words:
    """The library's tokenizer interface over our words."""

    def tokenize(self, text: str) -> list[str]:
        return words_of(text)


@lru_cache(maxsize=1)
def _scorer() -> RougeScorer:
    # Here and not above: the library brings NLTK, which takes a second that no page should wait for.
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"], tokenizer=_Words())


_Span = tuple[str, int, int]


def _spans(text: str) -> list[_Span]:
    return [(match.group(), match.start(), match.end()) for match in _WORD.finditer(text)]


def _matcher(ours: Sequence[_Span], theirs: Sequence[_Span]) -> SequenceMatcher[str]:
    our_words, their_words = ([word.casefold() for word, _, _ in side] for side in (ours, theirs))
    return SequenceMatcher(None, our_words, their_words, autojunk=False)


def _run(ours: Sequence[_Span], theirs: Sequence[_Span], a: int, b: int, size: int) -> CommonRun:
    return CommonRun(size, ours[a][1], ours[a + size - 1][2], theirs[b][1], theirs[b + size - 1][2])
