"""A prefix read once for all texts, against prefix and text read afresh: how much faster, and how much apart.

`python -m benchmarks.prefix` takes a quarter of an hour on one core, with `--rounds 1` a third of that.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time

import numpy as np
import torch

from auditlib.core import settings
from auditlib.models.local import LocalModel
from auditlib.models.opening import load_model
from auditlib.models.prefixed import PrefixedModel
from auditlib.models.request import ModelRequest
from benchmarks.scoring import made_up_text

SEED = 20261121
PREFIX_TOKENS = 500
N_TEXTS = 24
WORDS = (32, 64, 128)  # of WikiMIA's lengths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--words", type=int, nargs="*", default=WORDS, help="lengths of the texts")
    options = parser.parse_args()
    model = load_model(ModelRequest(device=options.device, dtype=options.dtype), settings())
    rng = random.Random(SEED)
    prefix = prefix_of(model, rng)
    print(
        f"{model.identity.name}, {model.identity.dtype} on {model.device}, {torch.get_num_threads()} threads; a prefix "
        f"of {len(model.token_ids(prefix))} tokens before {N_TEXTS} texts"
    )
    for n_words in options.words:
        print_ratio(model, prefix, [made_up_text(n_words, rng) for _ in range(N_TEXTS)], n_words, options.rounds)


def prefix_of(model: LocalModel, rng: random.Random) -> str:
    """Words up to `PREFIX_TOKENS` tokens and not one more."""
    words = made_up_text(PREFIX_TOKENS, rng).split()
    while len(model.token_ids(" ".join(words))) > PREFIX_TOKENS:
        words.pop()
    return " ".join(words)


def print_ratio(model: LocalModel, prefix: str, texts: list[str], n_words: int, rounds: int) -> None:
    kept = model.after(prefix)
    # On a CPU that others use too, seconds on the wall say little; these are seconds of work.
    clock = time.process_time if model.device.type == "cpu" else time.perf_counter
    encoded = [kept._tokens.encode(text) for text in texts]
    names = [""] * len(texts)

    def once() -> dict[int, np.ndarray]:
        anew: PrefixedModel = model.after(prefix)  # reading the prefix counts
        return {index: stats.logprob for index, stats in anew.token_stats(texts)}

    def afresh() -> dict[int, np.ndarray]:
        return {index: stats.logprob for index, stats in model.stats_afresh(encoded, names, 0, None)}

    dict(kept.token_stats(texts[:2]))  # unmeasured: allocators settle
    ratios, difference = [], 0.0
    for _ in range(rounds):
        began = clock()
        ours = once()
        between = clock()
        truth = afresh()
        ratios.append((clock() - between) / (between - began))
        difference = max(difference, *(float(np.abs(ours[i] - truth[i]).max()) for i in truth))
    n_tokens = sum(len(text.token_ids) for text in encoded)
    print(
        f"  {n_words:>4} words ({n_tokens / len(texts):.0f} tokens): {statistics.median(ratios):.1f} times as fast "
        f"(median of {rounds}; {min(ratios):.1f} to {max(ratios):.1f}), largest difference {difference:.1e} nats",
        flush=True,
    )


if __name__ == "__main__":
    main()
