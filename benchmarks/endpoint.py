"""A served model against the same model in this process: how far apart the numbers are, and how fast they come.

`python -m benchmarks.endpoint http://127.0.0.1:8311/v1 target` for a server that holds the bundled model in float32;
`make test-servers` asserts what is printed here. Takes minutes where server and this process share two cores.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np

from auditlib.audits.demo import demo_books, demo_passages
from auditlib.core import TokenStats, settings
from auditlib.models.endpoint.connecting import connect
from auditlib.models.endpoint.model import EndpointModel
from auditlib.models.local import LocalModel
from auditlib.models.opening import load_model
from auditlib.models.request import EndpointRequest, ModelRequest
from auditlib.scoring.base import DEFAULT_K
from auditlib.scoring.min_k import bottom_mean

N_TEXTS = 200
WORDS = 64


@dataclass(frozen=True)
class Agreement:
    """Largest differences over all texts; nats, and seconds for reading all of them."""

    n_texts: int
    n_tokens: int
    min_k: float
    logprob: float
    n_other_ranks: int
    same_tokens: bool
    served_seconds: float
    local_seconds: float


def texts_of_the_demo(n: int = N_TEXTS, words: int = WORDS) -> list[str]:
    """The first words of each passage, and then overlapping pieces of the books."""
    pieces = [" ".join(document.text.split()[:words]) for document in demo_passages()]
    for book in demo_books():
        of_book = book.text.split()
        pieces += [" ".join(of_book[at : at + words]) for at in range(0, len(of_book) - words, words // 2)]
    return pieces[:n]


def compare(served: EndpointModel, local: LocalModel, texts: list[str]) -> Agreement:
    """Both readings of the same texts, one after the other."""
    began = time.perf_counter()
    ours = dict(served.token_stats(texts))
    between = time.perf_counter()
    own = dict(local.token_stats(texts))
    ended = time.perf_counter()
    pairs: list[tuple[TokenStats, TokenStats]] = [(ours[i], own[i]) for i in range(len(texts))]
    return Agreement(
        n_texts=len(texts),
        n_tokens=sum(b.n_tokens for _, b in pairs),
        min_k=max(abs(bottom_mean(a.logprob, DEFAULT_K) - bottom_mean(b.logprob, DEFAULT_K)) for a, b in pairs),
        logprob=max(float(np.abs(a.logprob - b.logprob).max()) for a, b in pairs),
        n_other_ranks=sum(
            int(np.count_nonzero(a.rank != b.rank)) for a, b in pairs if a.rank is not None and b.rank is not None
        ),
        same_tokens=all(np.array_equal(a.token_ids, b.token_ids) and np.array_equal(a.end, b.end) for a, b in pairs),
        served_seconds=between - began,
        local_seconds=ended - between,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("model")
    parser.add_argument("--tokenizer", help="folder with the model's tokenizer")
    options = parser.parse_args()
    local = load_model(ModelRequest(), settings())
    served = connect(EndpointRequest(options.url, options.model, tokenizer=options.tokenizer), settings(), local=local)
    for check in served.checks:
        print(f"  {check.outcome}: {check.name}. {check.sentence}")
    print(compare(served, local, texts_of_the_demo()))


if __name__ == "__main__":
    main()
