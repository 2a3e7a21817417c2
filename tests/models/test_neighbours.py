"""Variants of a text: the same for the same seed, other words in place of some, everything else untouched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

from auditlib.core import AuditError, Settings
from auditlib.models.local import LocalModel
from auditlib.models.neighbours import MaskedNeighbours, OwnNeighbours, masked_neighbours
from tests.planted import WORDS, trained_folder
from tests.tiny import save_folder

TEXT = "She counted the apples twice, and (at 7:30) the ferry was LATE; nobody opened the window."


@pytest.fixture(scope="module")
def bert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A masked language model with random weights and a vocabulary of whole words."""
    folder = tmp_path_factory.mktemp("bert")
    extra = [",", ".", ";", ":", "(", ")", "at", "7", "30", "##s"]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys(WORDS + extra)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48
    )
    BertForMaskedLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def masked(bert_folder: Path) -> MaskedNeighbours:
    return masked_neighbours(str(bert_folder), Settings(), n=8, seed=1)


def words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]{2,}", text)


def skeleton(text: str) -> str:
    """All that is no word."""
    return re.sub(r"[^\W\d_]{2,}", "_", text)


def test_variants_differ_in_a_share_of_words_and_in_nothing_else(masked: MaskedNeighbours) -> None:
    variants = masked.of(TEXT)
    assert len(variants) == 8
    assert len(set(variants)) > 4
    for variant in variants:
        assert skeleton(variant) == skeleton(TEXT)
        changed = [(a, b) for a, b in zip(words(TEXT), words(variant), strict=True) if a != b]
        assert 1 <= len(changed) <= round(0.15 * len(words(TEXT)))
        assert all(a.lower() != b.lower() for a, b in changed)
        assert all(a.isupper() == b.isupper() and a.istitle() == b.istitle() for a, b in changed)


def test_same_seed_same_variants(masked: MaskedNeighbours, bert_folder: Path) -> None:
    assert masked.of(TEXT) == masked.of(TEXT)
    again = masked_neighbours(str(bert_folder), Settings(), n=8, seed=1)
    assert again.of(TEXT) == masked.of(TEXT)
    assert masked_neighbours(str(bert_folder), Settings(), n=8, seed=2).of(TEXT) != masked.of(TEXT)


def test_replacements_are_the_masked_models_likeliest_words(bert_folder: Path, masked: MaskedNeighbours) -> None:
    """Against the model's own forward pass on the masked text."""
    variant = masked.of("the ferry was late")[0]
    (place,) = [
        i for i, (a, b) in enumerate(zip(["the", "ferry", "was", "late"], variant.split(), strict=True)) if a != b
    ]
    hidden = ["the", "ferry", "was", "late"]
    hidden[place] = "[MASK]"
    tokenizer = BertTokenizerFast.from_pretrained(bert_folder)
    model = BertForMaskedLM.from_pretrained(bert_folder).eval()
    encoded = tokenizer(" ".join(hidden), return_tensors="pt")
    with torch.no_grad():
        best = model(**encoded).logits[0, 1 + place].topk(40).indices.tolist()
    likely = [w for w in (tokenizer.decode([i]) for i in best) if re.fullmatch(r"[^\W\d_]{2,}", w)]
    likely = [word for word in likely if word != ["the", "ferry", "was", "late"][place]]
    assert variant.split()[place] in likely[:10]


def test_long_text_is_filled_in_block_by_block(masked: MaskedNeighbours) -> None:
    text = " ".join(["the ferry was late and nobody counted the apples"] * 60)
    variant = masked.of(text)[0]
    changed = [i for i, (a, b) in enumerate(zip(text.split(), variant.split(), strict=True)) if a != b]
    assert len(changed) > 0.1 * len(text.split())
    assert min(changed) < 150
    assert max(changed) > 400


def test_letters_of_the_mask_in_a_text_mislead_nobody(masked: MaskedNeighbours) -> None:
    text = "the ferry [MASK] was [MASK] late and nobody was surprised at the quay"
    for variant in masked.of(text):
        assert skeleton(variant) == skeleton(text)


def test_text_without_words_has_no_variants(masked: MaskedNeighbours) -> None:
    assert masked.of("1 2 3 … 4") == []


def test_model_that_fills_in_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="not a known masked language model"):
        masked_neighbours(str(save_folder(tmp_path / "llama")), Settings())
    with pytest.raises(AuditError):
        masked_neighbours(str(tmp_path / "nothing here"), Settings())


def test_without_a_masked_model_the_audited_ones_own_words_are_taken(tmp_path: Path) -> None:
    from auditlib.models.opening import load_model
    from auditlib.models.request import ModelRequest

    model: LocalModel = load_model(ModelRequest(str(trained_folder(tmp_path / "trained"))), Settings())
    text = "the ferry was late and nobody on the quay counted the apples twice."
    made = OwnNeighbours(model, n=6, seed=3)
    variants = made.of(text)
    assert len(variants) == 6
    assert made.of(text) == variants
    assert "own likely alternatives" in made.made_by
    ((_, stats),) = model.token_stats([text], top=20)
    likely = {
        (int(start), int(end)): {word.strip() for word in model.token_text(ids.tolist())}
        for start, end, ids in zip(stats.start, stats.end, stats.alternatives.ids, strict=True)
    }
    for variant in variants:
        assert skeleton(variant) == skeleton(text)
        changed = [(a, b) for a, b in zip(words(text), words(variant), strict=True) if a != b]
        assert changed
        for old, new in changed:
            assert any(new in likely[span] for span in likely if text[span[0] : span[1]].strip() == old)
