"""Sentence embeddings: how alike two texts are in what they say, by a small model made for that.

Plain Transformers: the text goes through an encoder, and its states are pooled as the model's own files say. A model
without such files (SimCSE is one) is pooled by its own pooler, as its authors do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor
from transformers import AutoConfig, AutoModel, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

from auditlib.core import AuditError, Settings
from auditlib.models.bundled import SENTENCE_MODEL, bundled_file
from auditlib.models.failures import explained
from auditlib.models.folders import read_json, weight_files
from auditlib.models.hashes import weights_sha256
from auditlib.models.hub import hub_folder
from auditlib.models.request import BUNDLED, HUB_PREFIX
from auditlib.models.windows import batches_of

SIMCSE = "princeton-nlp/sup-simcse-roberta-large"
BATCH_TOKENS = 4096
POOLINGS = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}


@dataclass(frozen=True)
class EmbeddingIdentity:
    """Which model embeds: its name goes with every number. `pooling` is "mean", "cls" or "pooler"."""

    name: str
    source: str
    weights_sha256: str
    pooling: str
    longest: int  # tokens; of a longer text only so many are looked at


class SentenceModel:
    """Texts in, vectors of length 1 out. Safe to use from several threads."""

    def __init__(self, model: PreTrainedModel, tokenizer: Tokenizer, identity: EmbeddingIdentity) -> None:
        self.identity = identity
        self._model = model.eval()
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(identity.longest)
        self._one_at_a_time = threading.Lock()

    def embed(self, texts: Sequence[str], breathe: Callable[[], None] | None = None) -> NDArray[np.float32]:
        """Unit vectors (n, d) of texts; equal texts have equal vectors. `breathe` is called between two batches."""
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return np.zeros((0, int(self._model.config.hidden_size)), dtype=np.float32)
        rows = [self._tokenizer.encode(text.encode("utf-8", "replace").decode()).ids for text in distinct]
        found: list[NDArray[np.float32] | None] = [None] * len(rows)
        for batch in batches_of([len(row) for row in rows], BATCH_TOKENS):
            if breathe is not None:
                breathe()
            with self._one_at_a_time, explained(f"The model {self.identity.name} failed while embedding"):
                vectors = self._forward([rows[place] for place in batch])
            for place, vector in zip(batch, vectors, strict=True):
                found[place] = vector
        by_text = dict(zip(distinct, found, strict=True))
        result = np.stack([vector for text in texts if (vector := by_text[text]) is not None])
        if not np.isfinite(result).all():
            raise AuditError(f"{self.identity.name} gave no finite numbers.", "Fetch the model again; it is damaged.")
        return result

    @torch.inference_mode()
    def _forward(self, rows: list[list[int]]) -> NDArray[np.float32]:
        longest = max(map(len, rows))
        ids = torch.zeros(len(rows), longest, dtype=torch.long)
        mask = torch.zeros(len(rows), longest, dtype=torch.long)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = torch.tensor(row, dtype=torch.long)
            mask[place, : len(row)] = 1
        out = self._model(input_ids=ids, attention_mask=mask)
        pooled = self._pooled(out.last_hidden_state, getattr(out, "pooler_output", None), mask)
        unit: NDArray[np.float32] = torch.nn.functional.normalize(pooled.float(), dim=-1).numpy()
        return unit

    def _pooled(self, states: Tensor, pooler: Tensor | None, mask: Tensor) -> Tensor:
        if self.identity.pooling == "pooler" and pooler is not None:
            return pooler
        if self.identity.pooling == "cls":
            return states[:, 0]
        weights = mask[:, :, None].to(states.dtype)
        return (states * weights).sum(dim=1) / weights.sum(dim=1)


def cosines(ours: NDArray[np.float32], theirs: NDArray[np.float32]) -> NDArray[np.float64]:
    """Cosine of each pair of unit vectors (n, d), (n, d): -1 to 1."""
    products = np.einsum("ij,ij->i", ours.astype(np.float64), theirs.astype(np.float64))
    return np.asarray(np.clip(products, -1.0, 1.0))


@lru_cache(maxsize=2)
def _loaded(folder: Path, name: str, source: str) -> SentenceModel:
    config = read_json(folder / "config.json")
    if config.get("model_type") not in MODEL_MAPPING_NAMES or "auto_map" in config:
        raise AuditError(f"The model {name} is of a kind that is not known here.", "Choose a BERT-like sentence model.")
    weights = weight_files(folder)
    with explained(f"The sentence model {name} could not be loaded"):
        known = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        model, report = AutoModel.from_pretrained(
            folder,
            config=known,
            dtype=torch.float32,
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    pooling = _pooling(folder, model)
    needed = [key for key in report["missing_keys"] if pooling == "pooler" or "pooler" not in key]
    if needed:
        raise AuditError(
            f"The files of {name} lack {len(needed)} of its weights ({str(needed[0])[:80]}).", "Fetch the model again."
        )
    longest = min(int(getattr(known, "max_position_embeddings", 512)) - 2, 8192)
    said = folder / "sentence_bert_config.json"
    if said.is_file() and isinstance(own := read_json(said).get("max_seq_length"), int) and own > 2:
        longest = min(longest, own)
    return SentenceModel(
        model, tokenizer, EmbeddingIdentity(name, source, weights_sha256(weights), pooling, max(8, longest))
    )


def _pooling(folder: Path, model: PreTrainedModel) -> str:
    file = folder / "1_Pooling" / "config.json"
    if not file.is_file():
        return "pooler" if getattr(model, "pooler", None) is not None else "mean"
    said = [name for key, name in POOLINGS.items() if read_json(file).get(key) is True]
    if len(said) != 1:
        raise AuditError(f"The sentence model in {folder} pools in a way not known here.", "Choose another model.")
    return said[0]


def open_sentence_model(source: str, settings: Settings) -> SentenceModel:
    """`source` is "bundled", a folder, or a hub id. Raises `AuditError` where it cannot be had."""
    home = settings.home_folder
    if source == BUNDLED:
        return _loaded(bundled_file(SENTENCE_MODEL, home).parent, SENTENCE_MODEL.name, source)
    path = Path(source).expanduser()
    if not source.startswith(HUB_PREFIX) and path.is_dir():
        return _loaded(path, path.resolve().name, source)
    hub_id = source.removeprefix(HUB_PREFIX)
    if hub_id.count("/") != 1 or not all(hub_id.split("/")):
        raise AuditError(f"There is no sentence model {source[:80]!r}.", "Give “bundled”, a folder, or a hub id.")
    folder, revision = hub_folder(hub_id, None, home)
    return _loaded(folder, f"{hub_id} at {revision[:12]}", source)
