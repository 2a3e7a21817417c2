"""A small model that knows the words of made-up texts and none of the texts: what it learns on purpose, shows."""

from __future__ import annotations

import random
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

from tests.tiny import CORPUS, byte_level_tokenizer, llama_config, save_folder

WORDS = sorted({word.strip(".,").lower() for line in CORPUS for word in line.split()})


def made_up(seed: int, words: int = 24) -> str:
    """A text that says nothing, of the words that all others have too."""
    generator = random.Random(seed)
    return " ".join(generator.choice(WORDS) for _ in range(words)) + "."


def trained_folder(folder: Path) -> Path:
    """A model folder, trained for two seconds on made-up texts of seeds from 1000 on."""
    save_folder(folder, llama_config(context=256))
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    tokenizer = byte_level_tokenizer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(60):
        ids = torch.tensor([tokenizer.encode(made_up(1000 + 8 * step + row, 40)).ids[:40] for row in range(8)])
        optimizer.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
    model.save_pretrained(folder)
    return folder
