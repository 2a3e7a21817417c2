"""Variants of a text with some words replaced by others that fit: by a masked language model, or by the model itself.

A variant keeps everything but a share of its words: punctuation, numbers, capitals at the beginning of a word. Which
words are replaced follows from the seed and the text alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

from auditlib.core import AuditError, Settings, TargetModel
from auditlib.models.failures import explained
from auditlib.models.fitting import refuse_ill_fitting
from auditlib.models.folders import check_model_folder
from auditlib.models.opening import model_folder
from auditlib.models.request import ModelRequest

N_NEIGHBOURS = 25
SHARE = 0.15  # of a text's words, at least one
CANDIDATES = 10  # likeliest words among which the replacement is drawn
WINDOW_WORDS = 150  # that a masked model sees at once
MOST_TOKENS = 480
WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class _Word:
    start: int
    end: int


class MaskedNeighbours:
    """Words filled in by a masked language model (BERT and its kin)."""

    def __init__(
        self,
        network: PreTrainedModel,
        tokenizer: Any,
        name: str,
        n: int = N_NEIGHBOURS,
        seed: int = 0,
        share: float = SHARE,
    ) -> None:
        """See `masked_neighbours`, which loads one."""
        self.made_by = f"the masked language model {name}"
        self._network = network.eval()
        self._tokenizer = tokenizer
        self._n, self._seed, self._share = n, seed, share
        self._kept_key: tuple[object, ...] = ()  # one pass fills in all words of a variant that lie together
        self._kept: dict[int, list[str]] = {}

    def of(self, text: str) -> list[str]:
        """Variants of `text`; none where it has no word."""
        words = _words(text)
        if not words:
            return []
        made = []
        for j in range(self._n):
            generator = _generator(self._seed, j, text)
            chosen = _drawn(len(words), self._share, generator)
            made.append(_replaced(text, {i: self._fill(text, words, i, chosen, generator) for i in chosen}, words))
        return made

    def _fill(self, text: str, words: Sequence[_Word], i: int, chosen: Sequence[int], generator: random.Random) -> str:
        """A word for place `i`, where all chosen words around it are hidden too."""
        first = i - i % WINDOW_WORDS
        last = min(first + WINDOW_WORDS, len(words)) - 1
        near = [c for c in chosen if first <= c <= last]
        low, high = words[first].start, words[last].end
        key = (text, low, high, tuple(near))
        if self._kept_key != key:
            self._kept_key, self._kept = key, self._candidates(text, words, near, low, high)
        original = text[words[i].start : words[i].end]
        fitting = [word for word in self._kept.get(i, []) if word.lower() != original.lower()]
        return _cased_like(generator.choice(fitting[:CANDIDATES]), original) if fitting else original

    @torch.inference_mode()
    def _candidates(
        self, text: str, words: Sequence[_Word], hidden: Sequence[int], low: int, high: int
    ) -> dict[int, list[str]]:
        """The likeliest words for each hidden place, best first."""
        mask = self._tokenizer.mask_token
        pieces, at = [], low
        for place in hidden:
            pieces += [text[at : words[place].start].replace(mask, ""), mask]
            at = words[place].end
        with explained("A text cannot be read by the masked language model"):
            encoded = self._tokenizer(
                "".join([*pieces, text[at:high].replace(mask, "")]),
                return_tensors="pt",
                truncation=True,
                max_length=MOST_TOKENS,
            )
            logits = self._network(**encoded.to(self._network.device)).logits[0]
        places = (encoded["input_ids"][0] == self._tokenizer.mask_token_id).nonzero().flatten().tolist()
        best = logits[places].topk(4 * CANDIDATES, dim=-1).indices.tolist() if places else []
        found = [[self._tokenizer.decode([token]).strip() for token in row] for row in best]
        return {
            place: [word for word in row if WORD.fullmatch(word)] for place, row in zip(hidden, found, strict=False)
        }


class OwnNeighbours:
    """Words replaced by what the audited model itself found likely there; for where no masked model is at hand.

    A causal model chooses by what stands before a word and not by what follows, so variants fit less well.
    """

    made_by = "the audited model's own likely alternatives, as no masked language model was given"

    def __init__(self, model: TargetModel, n: int = N_NEIGHBOURS, seed: int = 0, share: float = SHARE) -> None:
        self._model = model
        self._n, self._seed, self._share = n, seed, share

    def of(self, text: str) -> list[str]:
        """Variants of `text`; none where no word has an alternative. Raises `AuditError` where it cannot be read."""
        fitting = self._alternatives(text)
        words = sorted(fitting, key=lambda word: word.start)
        if not words:
            return []
        made = []
        for j in range(self._n):
            generator = _generator(self._seed, j, text)
            chosen = _drawn(len(words), self._share, generator)
            made.append(_replaced(text, {i: generator.choice(fitting[words[i]]) for i in chosen}, words))
        return made

    def _alternatives(self, text: str) -> dict[_Word, list[str]]:
        """For every word that is one token, other whole words that were likely in its place."""
        ((_, stats),) = self._model.token_stats([text], top=2 * CANDIDATES)
        if stats.alternatives is None:
            raise AuditError(
                f"{self._model.identity.name} names no likely alternatives, so no variants can be made of them.",
                "Give a masked language model.",
            )
        spans = {(word.start, word.end): word for word in _words(text)}
        found: dict[_Word, list[str]] = {}
        for start, end, ids in zip(stats.start.tolist(), stats.end.tolist(), stats.alternatives.ids, strict=True):
            lead = len(text[start:end]) - len(text[start:end].lstrip())
            word = spans.get((start + lead, end))
            if word is None or not lead:
                continue
            own = text[word.start : word.end]
            others = [one for one in self._model.token_text(ids.tolist()) if one[:1].isspace()]
            bare = [one.strip() for one in others]
            fitting = [one for one in bare if WORD.fullmatch(one) and one.lower() != own.lower()]
            if fitting:
                found[word] = fitting[:CANDIDATES]
        return found


def masked_neighbours(
    source: str, settings: Settings, n: int = N_NEIGHBOURS, seed: int = 0, share: float = SHARE
) -> MaskedNeighbours:
    """Variants by the masked language model in a folder or on the hub. Raises `AuditError` where it cannot be loaded.

    As of any stranger's model: safetensors only, no code of its own, no weight made up.
    """
    folder, name = model_folder(ModelRequest(source=source), settings)
    check_model_folder(folder, MODEL_FOR_MASKED_LM_MAPPING_NAMES, "masked language model (such as BERT or RoBERTa)")
    tokenizer, network = _load(folder, name)
    if tokenizer.mask_token is None:
        raise AuditError(f"The tokenizer of {name} has no mask.", "Choose a masked language model (such as BERT).")
    return MaskedNeighbours(network, tokenizer, name, n, seed, share)


def _load(folder: Path, name: str) -> tuple[Any, PreTrainedModel]:
    with explained(f"The masked language model {name} could not be loaded"):
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        network, report = AutoModelForMaskedLM.from_pretrained(
            folder,
            dtype=torch.float32,
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
    # A masked model is often published with heads for other tasks; what it lacks would be made up, so that is refused.
    refuse_ill_fitting({**report, "unexpected_keys": []}, name)
    return tokenizer, network


def _words(text: str) -> list[_Word]:
    return [_Word(match.start(), match.end()) for match in WORD.finditer(text)]


def _generator(seed: int, j: int, text: str) -> random.Random:
    return random.Random(sha256(f"{seed} {j} {text}".encode("utf-8", "surrogatepass")).digest())  # noqa: S311


def _drawn(n_words: int, share: float, generator: random.Random) -> list[int]:
    return sorted(generator.sample(range(n_words), max(1, round(share * n_words))))


def _replaced(text: str, by: dict[int, str], words: Sequence[_Word]) -> str:
    parts, at = [], 0
    for i in sorted(by):
        parts += [text[at : words[i].start], by[i]]
        at = words[i].end
    return "".join([*parts, text[at:]])


def _cased_like(word: str, original: str) -> str:
    if original.isupper():
        return word.upper()
    return word[0].upper() + word[1:] if original[0].isupper() else word.lower() if original.islower() else word
