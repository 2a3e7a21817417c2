"""Sentence embeddings: alike in what is said, the same in any batch, and only from files that are whole."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel

from auditlib.core import AuditError, Settings
from auditlib.models.embedding import SentenceModel, cosines, open_sentence_model

WORDS = ["the", "ferry", "was", "late", "nobody", "on", "quay", "surprised", "she", "counted", "apples"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A sentence model of two layers with random weights."""
    place = tmp_path / "tiny-sentences"
    config = BertConfig(
        vocab_size=20,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=34,
    )
    BertModel(config).save_pretrained(place)
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(place / "tokenizer.json"))
    return place


def test_vectors_do_not_depend_on_the_company_and_have_length_one(folder: Path) -> None:
    model = open_sentence_model(str(folder), Settings())
    texts = ["the ferry was late", "nobody", "she counted apples on the quay was late nobody surprised", "nobody"]
    together = model.embed(texts)
    assert np.linalg.norm(together, axis=1) == pytest.approx(1, abs=1e-5)
    for place, text in enumerate(texts):
        assert np.abs(model.embed([text])[0] - together[place]).max() < 1e-5
    assert np.array_equal(together[1], together[3])
    assert model.embed([]).shape == (0, 16)


def test_pooling_is_what_the_files_say(folder: Path) -> None:
    by = {}
    for pooling in ("mean", "cls", "pooler"):
        place = folder.parent / pooling
        place.mkdir()
        for file in folder.iterdir():
            (place / file.name).write_bytes(file.read_bytes())
        if pooling != "pooler":
            (place / "1_Pooling").mkdir()
            said = {"pooling_mode_mean_tokens": pooling == "mean", "pooling_mode_cls_token": pooling == "cls"}
            (place / "1_Pooling" / "config.json").write_text(json.dumps(said))
        model = open_sentence_model(str(place), Settings())
        assert model.identity.pooling == pooling
        by[pooling] = model.embed(["the ferry was late"])[0]
    assert np.abs(by["mean"] - by["cls"]).max() > 0.01
    assert np.abs(by["pooler"] - by["cls"]).max() > 0.01


def test_a_long_text_is_cut_at_what_the_model_says(folder: Path) -> None:
    model = open_sentence_model(str(folder), Settings())
    assert model.identity.longest == 32
    long = " ".join(WORDS * 9)
    assert np.array_equal(model.embed([long])[0], model.embed([long + " the"])[0])


def test_weights_that_are_missing_are_not_made_up(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights.pop("encoder.layer.1.output.dense.weight")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(AuditError, match="lack 1 of its weights"):
        open_sentence_model(str(folder), Settings())


@pytest.mark.parametrize("source", ["nowhere", "a/b/c", "/no/such/folder"])
def test_a_model_that_is_not_there_is_said_so(source: str) -> None:
    with pytest.raises(AuditError, match="no sentence model"):
        open_sentence_model(source, Settings())


def test_cosines_by_hand() -> None:
    one = np.array([[1, 0], [0.6, 0.8]], dtype=np.float32)
    other = np.array([[0, 1], [0.6, 0.8]], dtype=np.float32)
    assert cosines(one, other) == pytest.approx([0, 1], abs=1e-6)


@pytest.mark.bundled
def test_the_bundled_model_knows_what_is_alike(real_settings: Settings) -> None:
    model: SentenceModel = open_sentence_model("bundled", real_settings)
    assert model.identity.name == "all-MiniLM-L6-v2"
    a, b, c = model.embed(
        ["The boat to the island came too late.", "The ferry was delayed.", "Interest rates rose by a quarter point."]
    )
    assert a @ b > 0.5
    assert a @ c < 0.2
