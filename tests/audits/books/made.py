"""Shelves that no model has read: texts of made-up words, token statistics from numpy, and works of known origin."""

from __future__ import annotations

import random
from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from auditlib.audits.books import ReadBooks, Shelf, Shelves, arrange, examine_words
from auditlib.audits.books.numbers import NumbersMaker
from auditlib.audits.books.reading import with_numbers
from auditlib.core import Document
from auditlib.documents.cutting import Cutting
from auditlib.scoring import Reading
from tests.audits.made import ALL, IDENTITY, made_stats

WORDS = [f"word{number}" for number in range(4000)]
CUTTING = Cutting("sample", 6, 40)


def book(title: str, words: int = 400, seed: int | None = None, year: int | None = None, author: str = "") -> Document:
    """A text of random words; another title or seed gives another text."""
    rng = random.Random(f"{title}{seed}")
    text = " ".join(rng.choices(WORDS, k=words))
    return document(title, text, year, author)


def document(title: str, text: str, year: int | None = None, author: str = "") -> Document:
    return Document(
        sha256(text.encode()).hexdigest(),
        title,
        text,
        "text/plain",
        f"{title}.txt",
        group=title,
        author=author,
        year=year,
    )


def shelved(
    members: int = 20, non_members: int = 20, audited: int = 4, words: int = 400, years: bool = False
) -> list[tuple[Shelf, Document]]:
    """Books of random words on three shelves; with `years`, from the same decades on both."""
    made = []
    for shelf, n in ((Shelf.MEMBERS, members), (Shelf.NON_MEMBERS, non_members), (Shelf.AUDITED, audited)):
        for number in range(n):
            year = 1900 + 7 * (number % 13) if years else None
            made.append((shelf, book(f"{shelf.value} {number}", words, year=year)))
    return made


def shelves(*documents: tuple[Shelf, Document], cutting: Cutting = CUTTING) -> Shelves:
    return arrange(documents or shelved(), cutting)


def read(
    arranged: Shelves,
    seen: Sequence[float] = (1.0, 0.0, 1.0, 0.0),
    shift: float = 1.5,
    between: float = 0.3,
    seed: int = 0,
    tokens_a_word: float = 1.0,
) -> ReadBooks:
    """As read by a model that finds seen snippets likelier by `shift` nats a token.

    seen     share of the snippets of each audited book, in turn, that the model has seen
    between  how far works differ among themselves, nats a token
    """
    rng = np.random.default_rng(seed)
    maker = NumbersMaker(len(arranged.snippets), 20.0, ALL)
    audited = arranged.on(Shelf.AUDITED)
    own = rng.normal(0, between, len(arranged.works))
    for place, (snippet, work) in enumerate(zip(arranged.snippets, arranged.work_of.tolist(), strict=True)):
        where = arranged.works[work].shelf
        share = float(where is Shelf.MEMBERS)
        if where is Shelf.AUDITED:
            share = seen[audited.index(work) % len(seen)]
        known = shift * (rng.random() < share)
        n_tokens = int(snippet.word_count * tokens_a_word)
        stats = made_stats(100_000 * seed + place, n_tokens, known + own[work] + rng.normal(0, 0.3))
        lowered = made_stats(100_000 * seed + place + 50_000, n_tokens)
        maker.add(place, Reading(snippet.text, stats, lowercased=lowered))
    has_reference = arranged.on(Shelf.MEMBERS) and arranged.on(Shelf.NON_MEMBERS)
    words = examine_words(arranged) if has_reference else None
    return with_numbers(arranged, words, IDENTITY, ALL, maker.numbers())
