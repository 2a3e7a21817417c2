"""Our whole scoring path against the bare forward pass and against the loop that public implementations use.

`python -m benchmarks.scoring` prints the ratios in a few minutes and then the peak memory at several text
lengths; the longest takes about half an hour on two cores (`--words 300 3000` measures these lengths only).
"""

from __future__ import annotations

import argparse
import random
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import torch

from auditlib.core import settings
from auditlib.models.local import BATCH_TOKENS, LocalModel
from auditlib.models.opening import load_model
from auditlib.models.request import ModelRequest
from auditlib.models.windows import batches_of
from auditlib.scoring import all_scores, read_texts

SEED = 20261121
N_TEXTS = 32
ROUNDS = 3
WORDS_FOR_MEMORY = (300, 3_000, 30_000, 100_000)
EXAMPLES = Path(__file__).parents[1] / "assets" / "examples"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-speed", action="store_true", help="memory only")
    parser.add_argument("--words", type=int, nargs="*", default=WORDS_FOR_MEMORY, help="lengths to measure memory at")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    options = parser.parse_args()
    model = load_model(ModelRequest(device=options.device, dtype=options.dtype), settings())
    print(f"{model.identity.name}, {model.identity.dtype} on {model.device}, {torch.get_num_threads()} threads")
    if not options.no_speed:
        print_speed(model)
    for words in options.words:
        print_memory(model, words)


def made_up_text(n_words: int, rng: random.Random) -> str:
    """Words of the example texts in random order: of no meaning, but with the lengths of real tokens."""
    words = " ".join(f.read_text(encoding="utf-8") for f in sorted(EXAMPLES.glob("*.txt"))).split()
    return " ".join(rng.choices(words, k=n_words))


def print_speed(model: LocalModel) -> None:
    rng = random.Random(SEED)
    texts = [made_up_text(rng.randint(150, 370), rng) for _ in range(N_TEXTS)]
    rows = [model._encoder.encode(text).token_ids.tolist() for text in texts]
    n_tokens = sum(map(len, rows))
    print(f"{N_TEXTS} texts of {min(map(len, rows))} to {max(map(len, rows))} tokens, {n_tokens:,} in all")

    def ours() -> None:
        for _, reading in read_texts(model, texts, lowercase=False):
            all_scores(reading, model.capabilities)

    ways: dict[str, Callable[[], None]] = {
        "ours": ours,
        "bare forward": lambda: bare_forward(model, rows),
        "public loop": lambda: public_loop(model, rows),
    }
    for way in ways.values():
        way()  # once unmeasured: caches and allocators settle
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            if model.device.type == "cuda":
                torch.cuda.synchronize()
            seconds[name].append(time.perf_counter() - began)
    for name in ways:
        print(f"  {name:<14}{n_tokens / statistics.median(seconds[name]):10,.0f} tokens/s (median of {ROUNDS})")
    for name in ("bare forward", "public loop"):
        ratios = [other / own for own, other in zip(seconds["ours"], seconds[name], strict=True)]
        print(
            f"  ours / {name}: {statistics.median(ratios):.2f} (median; {min(ratios):.2f} to {max(ratios):.2f})",
            flush=True,
        )


@torch.inference_mode()
def bare_forward(model: LocalModel, rows: list[list[int]]) -> None:
    """The model's own forward pass over the same batches, its logits thrown away."""
    budget = BATCH_TOKENS[model.device.type]
    for indices in batches_of([len(row) for row in rows], budget):
        longest = max(len(rows[i]) for i in indices)
        ids = torch.zeros(len(indices), longest, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for place, i in enumerate(indices):
            ids[place, : len(rows[i])] = torch.tensor(rows[i])
            mask[place, : len(rows[i])] = 1
        model._model(input_ids=ids.to(model.device), attention_mask=mask.to(model.device))


@torch.no_grad()
def public_loop(model: LocalModel, rows: list[list[int]]) -> None:
    """One text at a time, softmax and log-softmax over the whole vocabulary, as published scripts do."""
    for row in rows:
        ids = torch.tensor([row], device=model.device)
        logits = model._model(ids, labels=ids).logits[0, :-1]
        p, log_p = torch.softmax(logits, dim=-1), torch.log_softmax(logits, dim=-1)
        targets = ids[0, 1:, None]
        token_log_p = log_p.gather(-1, targets).squeeze(-1)
        mu = (p * log_p).sum(-1)
        sigma = (p * log_p.square()).sum(-1) - mu.square()
        for values in (token_log_p, (token_log_p - mu) / sigma.sqrt()):
            values.cpu().sort().values[: max(1, len(values) // 5)].mean()


def print_memory(model: LocalModel, n_words: int) -> None:
    """Highest resident memory while one text is scored, over that of the loaded model."""
    text = made_up_text(n_words, random.Random(SEED))
    process = psutil.Process()
    before = process.memory_info().rss
    peak, reading = before, True

    def watch() -> None:
        nonlocal peak
        while reading:
            peak = max(peak, process.memory_info().rss)
            time.sleep(0.005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    ((_, result),) = read_texts(model, [text], lowercase=False)
    seconds = time.perf_counter() - began
    reading = False
    watcher.join()
    on_device = f", {torch.cuda.max_memory_allocated() / 1e6:,.0f} MB on the GPU" if model.device.type == "cuda" else ""
    print(
        f"  {n_words:>7,} words ({result.stats.n_tokens:,} tokens, {seconds:,.0f} s): peak "
        f"{(peak - before) / 1e6:,.0f} MB over the loaded model{on_device}",
        flush=True,
    )


if __name__ == "__main__":
    main()
