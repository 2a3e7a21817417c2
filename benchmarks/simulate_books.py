"""Made-up shelves of books whose truth is known: what rates, p-values and verdicts promise, tried 500 times each.

`python -m benchmarks.simulate_books` prints the tables in some minutes on one core; `--write FILE` keeps them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from auditlib.evidence import (
    BookFindings,
    Correction,
    Reason,
    Verdict,
    Word,
    book_verdict,
    called_out_of_fold,
    detector_errors,
    rate_given_errors,
    shelf_ps,
    smallest_p,
)
from auditlib.evidence.arrays import FloatArray, IntArray

SEED = 20261121
RATES = (0.0, 0.1, 0.3, 0.6, 1.0)
SNIPPETS = 100
SHIFT = 1.6  # of members, in standard deviations: best accuracy then calls about 80% of them and 20% of the others
LEAST_COVERED = 0.93
MOST_FALSE = 0.05
SUPPORTED = Verdict(Word.SUPPORTED, (Reason(True, "made up"),), 0.0, {})


@dataclass(frozen=True)
class Pool:
    """How scores of works come about: a share `alike` of the variance belongs to the work, the rest to the snippet."""

    alike: float
    said: str

    def draw(self, rng: np.random.Generator, sizes: IntArray, members: FloatArray) -> tuple[FloatArray, IntArray]:
        """Scores and works of snippets; `members` (works,) is the share of each work's snippets that were seen."""
        works = np.repeat(np.arange(len(sizes)), sizes)
        seen = rng.random(len(works)) < members[works]
        noise = np.sqrt(self.alike) * rng.normal(size=len(sizes))[works]
        noise += np.sqrt(1 - self.alike) * rng.normal(size=len(works))
        return noise + SHIFT * seen, works


INDEPENDENT = Pool(0.0, "snippets independent")
ALIKE = Pool(0.2, "snippets of a work alike (0.2 of the variance)")


@dataclass(frozen=True)
class RateRow:
    """How the rates of books with one true rate came out over all draws."""

    truth: float
    covered: float
    mean_raw: float
    mean_corrected: float
    mean_width: float
    none: float


def rates(pool: Pool, n_works: int, draws: int, seed: int = SEED) -> list[RateRow]:
    """A shelf of one book for each of RATES, judged by `n_works` member and as many non-member works, again and again.

    The threshold is the most accurate one of the known works; its errors are of folds that it was chosen without.
    """
    rng = np.random.default_rng(seed)
    sizes = np.full(2 * n_works, SNIPPETS)
    of_member = np.repeat([1.0, 0.0], n_works)
    hits, raw, corrected, widths, none = (np.zeros((draws, len(RATES))) for _ in range(5))
    for draw in range(draws):
        scores, works = pool.draw(rng, sizes, of_member)
        is_member = works < n_works
        calls = called_out_of_fold(is_member, scores, works, seed=draw)
        errors = detector_errors(
            calls.called[is_member], calls.called[~is_member], works[is_member], works[~is_member], seed=draw
        )
        for place, truth in enumerate(RATES):
            # So many snippets of the book were seen, not so many on average: this book's rate is the question.
            book = pool.draw(rng, np.array([SNIPPETS]), np.zeros(1))[0]
            book[: round(truth * SNIPPETS)] += SHIFT
            found = rate_given_errors(book >= calls.threshold, errors, seed=draw)
            raw[draw, place] = found.raw.estimate
            if found.corrected is None:
                none[draw, place] = 1
                continue
            hits[draw, place] = found.corrected.low <= truth <= found.corrected.high
            corrected[draw, place] = found.corrected.estimate
            widths[draw, place] = found.corrected.high - found.corrected.low
    return [
        RateRow(
            truth,
            float(hits[:, place].mean()),
            float(raw[:, place].mean()),
            float(corrected[:, place].mean()),
            float(widths[:, place].mean()),
            float(none[:, place].mean()),
        )
        for place, truth in enumerate(RATES)
    ]


def any_supported(
    pool: Pool, n_works: int, book_sizes: IntArray, draws: int, correction: Correction = "bh", seed: int = SEED
) -> float:
    """Share of shelves with a `supported` book where no book was seen, by `n_works` known non-member works.

    Whatever else a verdict asks for is taken as given here, so that p alone stands between a book and the word.
    """
    rng = np.random.default_rng(seed)
    sizes = np.concatenate([np.full(n_works, SNIPPETS), book_sizes])
    false = 0
    for draw in range(draws):
        scores, works = pool.draw(rng, sizes, np.zeros(len(sizes)))
        known = works < n_works
        books = np.split(scores[~known], np.cumsum(book_sizes)[:-1])
        found = shelf_ps(books, scores[known], works[known], correction, seed=draw)
        lowest = smallest_p(n_works, len(books), correction)[1]
        false += any(
            book_verdict(
                BookFindings(
                    SUPPORTED, p, q, n_works, len(books), correction, lowest, size, 500.0, (1.0, 1000.0), True, 1.0, {}
                )
            ).word
            is Word.SUPPORTED
            for p, q, size in zip(found.p, found.corrected, book_sizes.tolist(), strict=True)
        )
    return false / draws


def seen_supported(pool: Pool, n_works: int, n_books: int, rate: float, draws: int, seed: int = SEED) -> float:
    """Share of seen books that come out supported, on shelves where half of the books were seen to `rate`."""
    rng = np.random.default_rng(seed)
    sizes = np.full(n_works + n_books, SNIPPETS)
    of_member = np.concatenate([np.zeros(n_works + n_books // 2), np.full(n_books - n_books // 2, rate)])
    reached = []
    for draw in range(draws):
        scores, works = pool.draw(rng, sizes, of_member)
        known = works < n_works
        found = shelf_ps(list(scores[~known].reshape(n_books, SNIPPETS)), scores[known], works[known], seed=draw)
        reached.append(float(np.mean(found.corrected[n_books // 2 :] <= MOST_FALSE)))
    return float(np.mean(reached))


def lines(draws: int) -> Iterator[str]:
    """The tables, line by line as they are found."""
    yield "| true rate | within its 95% interval | raw rate | corrected rate | width of the interval | no rate |"
    yield "|---|---|---|---|---|---|"
    for pool, n_works in ((INDEPENDENT, 50), (ALIKE, 50), (ALIKE, 20)):
        yield f"| *{pool.said}, {n_works} + {n_works} known works* | | | | | |"
        for row in rates(pool, n_works, draws):
            yield (
                f"| {row.truth:.0%} | {row.covered:.1%}{'' if row.covered >= LEAST_COVERED else ' TOO FEW'} | "
                f"{row.mean_raw:.1%} | {row.mean_corrected:.1%} | {row.mean_width:.2f} | {row.none:.0%} |"
            )
    yield ""
    yield "| nothing to find: 100 books of | known non-members | correction | shelves with any supported | at most 5% |"
    yield "|---|---|---|---|---|"
    whole, mixed = np.full(100, SNIPPETS), np.tile([100, 60, 20, 5], 25)
    for said, sizes in (("100 snippets", whole), ("100, 60, 20 or 5 snippets", mixed)):
        for n_works in (50, 200, 2000):
            found = any_supported(ALIKE, n_works, sizes, draws)
            yield f"| {said} | {n_works:,} | BH | {found:.1%} | {'yes' if found <= MOST_FALSE else 'NO'} |"
    found = any_supported(ALIKE, 2000, whole, draws, "by")
    yield f"| 100 snippets | 2,000 | BY | {found:.1%} | {'yes' if found <= MOST_FALSE else 'NO'} |"
    yield ""
    yield "| half of the shelf was seen, to | books | known non-members | of the seen books supported |"
    yield "|---|---|---|---|"
    for rate, n_books, n_works in ((1.0, 4, 40), (1.0, 20, 50), (1.0, 100, 50), (0.3, 100, 50), (0.3, 100, 500)):
        found = seen_supported(ALIKE, n_works, n_books, rate, max(1, draws // 5))
        yield f"| {rate:.0%} | {n_books} | {n_works} | {found:.0%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=500, help="made-up shelves of each kind")
    parser.add_argument("--write", type=Path, help="write the tables to this file as well")
    options = parser.parse_args()
    printed = []
    for line in lines(options.draws):
        print(line, flush=True)
        printed.append(line)
    if options.write is not None:
        options.write.write_text("\n".join(printed) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
