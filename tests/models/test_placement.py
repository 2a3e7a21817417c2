"""Where weights go, what they take, and what the publishers say: as far as a machine without GPUs can tell."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

from auditlib.core import AuditError, Settings
from auditlib.models import placement
from auditlib.models.card import LARGEST_CARD_BYTES, ModelCard, read_card
from auditlib.models.opening import load_model
from auditlib.models.placement import (
    MemoryEstimate,
    available_bytes,
    check_quantization,
    loading_options,
    memory_estimate,
    refuse_what_cannot_fit,
)
from auditlib.models.request import ModelRequest
from tests.tiny import save_folder

SETTINGS = Settings()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_folder(tmp_path_factory.mktemp("model") / "tiny")


def test_estimate_is_the_size_of_the_weights_as_they_are_loaded(folder: Path) -> None:
    weights = [folder / "model.safetensors"]
    n = sum(p.numel() for p in AutoModelForCausalLM.from_pretrained(folder).parameters())
    for dtype, n_bytes in (("float32", 4), ("bfloat16", 2), ("float16", 2)):
        assert memory_estimate(weights, "cpu", dtype).weights == n * n_bytes
    assert memory_estimate(weights, "cpu", "float16", "8bit").weights == n
    assert memory_estimate(weights, "cpu", "float16", "4bit").weights == n // 2
    assert memory_estimate(weights, "cpu", "float32").needed > n * 4
    assert (
        load_model(ModelRequest(str(folder)), SETTINGS).memory_bytes
        == memory_estimate(weights, "cpu", "float32").weights
    )


def test_estimate_reads_headers_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of 400 MB, by its header; nothing but the header is there to be read."""
    file = tmp_path / "model.safetensors"
    save_file({"w": torch.zeros(4)}, file)
    header = b'{"w":{"dtype":"F16","shape":[20000,10000],"data_offsets":[0,400000000]}}'
    with file.open("wb") as stream:
        stream.write(len(header).to_bytes(8, "little") + header)
        stream.truncate(8 + len(header) + 400_000_000)  # sparse
    estimate = memory_estimate([file], "cpu", "float16")
    assert estimate.weights == 400_000_000
    monkeypatch.setattr(placement, "available_bytes", lambda _: 500_000_000)
    with pytest.raises(AuditError, match=r"takes 0\.8 GB and cpu has 0\.5 GB left"):
        refuse_what_cannot_fit(memory_estimate([file], "cpu", "float32"), "Huge", "cpu")


def test_memory_of_this_machine_is_known_on_linux() -> None:
    if sys.platform != "linux":
        pytest.skip("nobody knows")
    free = available_bytes("cpu")
    assert free is not None
    assert 10_000_000 < free < 2**50


def test_model_that_has_no_room_is_refused_before_it_is_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "available_bytes", lambda _: 1000)
    with pytest.raises(AuditError, match="takes .* GB and cpu has"):
        load_model(ModelRequest(str(folder)), SETTINGS)


def test_nobody_knowing_the_memory_refuses_nothing() -> None:
    estimate = MemoryEstimate(10**15, 0, None)
    refuse_what_cannot_fit(estimate, "Huge", "mps")
    assert estimate.fits
    assert not MemoryEstimate(10, 5, 12).fits
    assert MemoryEstimate(10, 2, 12).fits


@pytest.mark.parametrize("quantization", ["8bit", "4bit"])
def test_packed_weights_without_an_nvidia_gpu_are_refused_with_what_to_do(folder: Path, quantization: str) -> None:
    with pytest.raises(AuditError, match=f"{quantization[0]}-bit weights need an NVIDIA GPU"):
        load_model(ModelRequest(str(folder), device="cpu", quantization=quantization), SETTINGS)


def test_packing_that_does_not_exist_or_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AuditError, match="cannot be packed as '3bit'"):
        check_quantization("3bit", "cuda:0", False)
    monkeypatch.setattr(placement, "find_spec", lambda _: None)
    with pytest.raises(AuditError, match="need the package bitsandbytes"):
        check_quantization("8bit", "cuda:0", False)
    monkeypatch.setattr(placement, "find_spec", lambda _: object())
    with pytest.raises(AuditError, match="adapter cannot be merged into 4-bit"):
        check_quantization("4bit", "cuda:0", True)
    check_quantization("8bit", "all-gpus", False)
    check_quantization(None, "cpu", True)


def test_all_gpus_are_refused_where_there_are_none(folder: Path) -> None:
    if torch.cuda.device_count() > 1:
        pytest.skip("this machine has them")
    with pytest.raises(AuditError, match="does not offer the device 'all-gpus'"):
        load_model(ModelRequest(str(folder), device="all-gpus"), SETTINGS)


def test_options_say_where_weights_go_and_how_they_are_packed() -> None:
    assert loading_options("cpu", "float32", None) == {"dtype": torch.float32}
    assert loading_options("all-gpus", "bfloat16", None) == {"dtype": torch.bfloat16, "device_map": "auto"}
    eight = loading_options("cuda:1", "float16", "8bit")
    assert eight["device_map"] == {"": "cuda:1"}
    assert eight["quantization_config"].load_in_8bit
    four = loading_options("all-gpus", "bfloat16", "4bit")
    assert four["device_map"] == "auto"
    assert four["quantization_config"].load_in_4bit
    assert four["quantization_config"].bnb_4bit_compute_dtype == torch.bfloat16


def test_model_whose_layers_were_placed_by_a_map_reads_as_ever(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for several GPUs, as far as a machine without any can walk that way: the library places the layers."""
    text = "The ferry was late, and nobody on the quay was surprised."
    ((_, own),) = load_model(ModelRequest(str(folder)), SETTINGS).token_stats([text])
    placed = {"model.embed_tokens": "cpu", "model.layers": "cpu", "model.norm": "cpu", "model.rotary_emb": "cpu"}
    monkeypatch.setattr(
        "auditlib.models.opening.loading_options",
        lambda *_: {"dtype": torch.float32, "device_map": placed | {"lm_head": "cpu"}},
    )
    model = load_model(ModelRequest(str(folder)), SETTINGS)
    ((_, stats),) = model.token_stats([text])
    np.testing.assert_allclose(stats.logprob, own.logprob, atol=1e-5)


CARD = """---
license: apache-2.0
base_model: owner/base
datasets:
- owner/corpus
- "other/<script>alert(1)</script>\\u0007"
language: [en, de]
---
# A model
"""


def test_card_gives_licence_base_and_training_data(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(CARD)
    card = read_card(tmp_path)
    assert card.licence == ("apache-2.0",)
    assert card.base_model == ("owner/base",)
    assert card.training_data == ("owner/corpus", "other/<script>alert(1)</script>")  # shown as text, never as markup
    assert card.languages == ("en", "de")
    assert card.problem == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, ModelCard()),
        ("# No front matter", ModelCard()),
        ("---\nlicense: [[[\n---\n", ModelCard(problem="The model card cannot be read.")),
        (
            "---\nlicense: !!python/object/apply:os.system ['true']\n---\n",
            ModelCard(problem="The model card cannot be read."),
        ),
        ("x" * (LARGEST_CARD_BYTES + 1), ModelCard(problem="The model card is too large to be read.")),
        ("---\nlicense: {a: b}\ndatasets: 7\n---\n", ModelCard(training_data=("7",))),
    ],
    ids=["none", "no front matter", "broken", "code", "huge", "odd"],
)
def test_card_that_is_none_or_damaged_is_no_obstacle(tmp_path: Path, text: str | None, expected: ModelCard) -> None:
    if text is not None:
        (tmp_path / "README.md").write_text(text)
    assert read_card(tmp_path) == expected


def test_long_card_is_cut(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("---\nlicense: " + "x" * 5000 + "\ndatasets:\n" + "- a\n" * 500 + "---\n")
    card = read_card(tmp_path)
    assert len(card.licence[0]) == 200
    assert len(card.training_data) == 20
