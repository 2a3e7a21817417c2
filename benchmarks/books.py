"""How long a book audit takes once the model has read: 100 books of 100 snippets beside 50 + 50 known works.

`python -m benchmarks.books` prints seconds of processor time; `--books 500` tries more, and says how much memory.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import TypeVar

import numpy as np

from auditlib.audits.books import (
    BookSettings,
    Shelf,
    arrange,
    audit_books,
    examine_words,
    judged_with,
    numbers_from_parquet,
    numbers_to_parquet,
)
from auditlib.audits.books.numbers import NumbersMaker, SnippetNumbers
from auditlib.audits.books.reading import with_numbers
from auditlib.core import Capability, Document, ModelIdentity, TokenStats
from auditlib.documents.cutting import Cutting
from auditlib.evidence.arrays import IntArray
from auditlib.scoring import Reading
from benchmarks.evidence import made_up_texts

SEED = 20261121
KNOWN = 50  # works on each reference shelf
SNIPPETS, WORDS, TOKENS = 100, 512, 700
WORDS_A_BOOK = 60_000
SECONDS_ALLOWED = 15.0
SECONDS_FOR_A_CHANGE = 1.0
ALL = frozenset({Capability.TOKEN_LOGPROBS, Capability.FULL_DISTRIBUTION, Capability.RANK})
IDENTITY = ModelIdentity("made up", "made up", None, "0" * 64, "0" * 64, "0" * 64, "float32", "numpy")
Result = TypeVar("Result")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--books", type=int, default=100, help="audited books")
    n_books = parser.parse_args().books
    rng = np.random.default_rng(SEED)
    print(f"{n_books} audited books and {KNOWN} + {KNOWN} known works of {SNIPPETS} snippets of {WORDS} words\n")
    print("| what | seconds of one core |\n|---|---|")
    vocabulary = made_up_texts(rng, 1, WORDS_A_BOOK, WORDS_A_BOOK)[0].split()

    def documents() -> list[tuple[Shelf, Document]]:
        made = []
        for number in range(n_books + 2 * KNOWN):
            text = " ".join(vocabulary[place] for place in rng.integers(len(vocabulary), size=WORDS_A_BOOK))
            title = f"book {number}"
            shelf = Shelf.MEMBERS if number < KNOWN else Shelf.NON_MEMBERS if number < 2 * KNOWN else Shelf.AUDITED
            made.append(
                (shelf, Document(sha256(text.encode()).hexdigest(), title, text, "text/plain", title, group=title))
            )
        return made

    shelves = timed("books cut, sketched and compared by content", lambda: arrange(documents(), cutting()))[0]
    maker = NumbersMaker(len(shelves.snippets), 20.0, ALL)
    drawn = [stats(rng) for _ in range(200)]

    def score_all() -> None:
        for place, snippet in enumerate(shelves.snippets):
            one = drawn[place % len(drawn)]
            maker.add(place, Reading(snippet.text, one, lowercased=drawn[(place + 1) % len(drawn)]))

    timed("every score of every snippet, for 12 k and three lengths", score_all)
    blind, first = timed("the words alone", lambda: examine_words(shelves))
    read = with_numbers(shelves, blind, IDENTITY, ALL, shifted(maker, shelves.work_of, rng))
    found, second = timed("intervals, rates, p-values, verdicts, sensitivity", lambda: audit_books(read, SETTINGS))
    kept, third = timed("numbers kept", lambda: numbers_to_parquet(read.numbers))
    timed("numbers read again", lambda: numbers_from_parquet(kept))
    print(f"| **everything after scoring** (allowed: {SECONDS_ALLOWED:.0f}) | **{first + second + third:.1f}** |")
    for what, changed in (("k", {"k": 40.0}), ("threshold rule", {"rule": 0.05}), ("score", {"score": "loss"})):
        settings = replace(SETTINGS, **changed)
        timed(
            f"another {what} (allowed: {SECONDS_FOR_A_CHANGE:.0f})",
            lambda s=settings: judged_with(read, found, s),  # type: ignore[misc]
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"\nNumbers of {len(shelves.snippets):,} snippets: {len(kept) / 1e6:.0f} MB kept. Peak memory: {peak:.1f} GB."
    )


SETTINGS = BookSettings()


def cutting() -> Cutting:
    """The paper's: 100 snippets of 512 words."""
    return Cutting("sample", SNIPPETS, WORDS)


def stats(rng: np.random.Generator) -> TokenStats:
    """Token statistics of a snippet, out of thin air."""
    places = np.arange(TOKENS, dtype=np.int32)
    logprob = np.minimum(rng.normal(-4, 2, TOKENS), -1e-3).astype(np.float32)
    constant = np.full(TOKENS, -4, dtype=np.float32)
    return TokenStats(places, 4 * places, 4 * places + 4, logprob, constant, -constant, np.ones(TOKENS, dtype=np.int32))


def shifted(maker: NumbersMaker, work_of: IntArray, rng: np.random.Generator) -> SnippetNumbers:
    """The numbers with known members likelier, works and snippets each with their own chance."""
    numbers = maker.numbers()
    own = rng.normal(0, 0.2, int(work_of.max()) + 1)[work_of] + rng.normal(0, 0.3, len(work_of))
    own += 0.5 * (work_of < KNOWN)
    by_score = {
        name: values + own.reshape(-1, *[1] * (values.ndim - 1)) * float(np.abs(values).mean()) / 4
        for name, values in numbers.by_score.items()
    }
    return replace(numbers, by_score=by_score)


def timed(what: str, work: Callable[[], Result]) -> tuple[Result, float]:
    """Does `work`, prints and gives its processor time in seconds."""
    began = time.process_time()
    result = work()
    seconds = time.process_time() - began
    print(f"| {what} | {seconds:.2f} |", flush=True)
    return result, seconds


if __name__ == "__main__":
    main()
