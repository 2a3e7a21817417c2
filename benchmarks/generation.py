"""Continuations of many prompts: ours, all side by side, against one prompt and one sample at a time.

`python -m benchmarks.generation` prints tokens a second of both, and of the library's own `generate` on one row.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from functools import partial

import torch

from auditlib.core import settings
from auditlib.models.local import LocalModel
from auditlib.models.opening import load_model
from auditlib.models.request import ModelRequest
from auditlib.models.sampling import Sampling
from benchmarks.scoring import made_up_text

SEED = 20261121
N_PROMPTS = 8
PROMPT_WORDS = 50
SAMPLES = 4
NEW_TOKENS = 48
ONE_AT_A_TIME = 3  # rows: a rate of all of them would take minutes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    model = load_model(ModelRequest(device=options.device), settings())
    # The end of a text would make rows of different lengths, and rates that say nothing.
    model._model.generation_config.eos_token_id = model._model.config.eos_token_id = None
    rng = random.Random(SEED)
    prompts = [made_up_text(PROMPT_WORDS, rng) for _ in range(N_PROMPTS)]
    print(f"{model.identity.name} on {model.device}, {torch.get_num_threads()} threads")
    print(f"{N_PROMPTS} prompts of {PROMPT_WORDS} words, {SAMPLES} samples each, {NEW_TOKENS} tokens")
    sampling = Sampling(SAMPLES, NEW_TOKENS, SEED)
    ways: dict[str, tuple[int, Callable[[], object]]] = {
        "side by side": (N_PROMPTS * SAMPLES, lambda: list(model.generate(prompts, sampling))),
        "one at a time": (
            ONE_AT_A_TIME,
            lambda: [list(model.generate([p], Sampling(1, NEW_TOKENS, SEED))) for p in prompts[:ONE_AT_A_TIME]],
        ),
        "the library's, one at a time": (
            ONE_AT_A_TIME,
            lambda: list(map(partial(library, model), prompts[:ONE_AT_A_TIME])),
        ),
    }
    best: dict[str, float] = {}
    for _ in range(options.rounds):
        for name, (rows, way) in ways.items():
            began = time.perf_counter()
            way()
            rate = rows * NEW_TOKENS / (time.perf_counter() - began)
            best[name] = max(best.get(name, 0.0), rate)
    for name, rate in best.items():
        print(f"  {name:30s} {rate:8.1f} tokens/s  (side by side: {best['side by side'] / rate:.1f} times)")


def library(model: LocalModel, prompt: str) -> None:
    ids = torch.tensor([model._encoder.prompt_ids(prompt)], device=model.device)
    model._model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=True, top_k=0, max_new_tokens=NEW_TOKENS, pad_token_id=0
    )


if __name__ == "__main__":
    main()
