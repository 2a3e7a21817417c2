"""Adapters are strangers' too: a good one gives PEFT's own numbers, a bad one ends in one clear sentence."""

from __future__ import annotations

import json
import pickle
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from peft import AdaLoraConfig, IA3Config, LoraConfig, PeftConfig, PeftModel, PrefixTuningConfig, get_peft_model
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor
from transformers import PretrainedConfig

from auditlib.core import AuditError, ModelIdentity, Settings
from auditlib.models.adapters import find_adapter, with_adapter
from auditlib.models.local import LocalModel
from auditlib.models.opening import load_model
from auditlib.models.request import ModelRequest
from tests.tiny import build, gpt2_config, llama_config, save_folder

TEXT = "The ferry was late, and nobody on the quay was surprised."
IDS = torch.randint(0, 400, (2, 40), generator=torch.Generator().manual_seed(1))
LEARNED = ("lora_", "ia3_", "modules_to_save")


def save_adapter(folder: Path, config: PeftConfig, base: PretrainedConfig) -> Path:
    """An adapter as PEFT saves it, its weights moved away from where they start, as training would."""
    torch.manual_seed(0)
    adapted = get_peft_model(build(base), config)
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if any(part in name for part in LEARNED):
                start = 0 if "lora_A" in name or "lora_B" in name or "lora_E" in name else parameter
                parameter.copy_(start + 0.2 * torch.randn(parameter.shape))
    adapted.save_pretrained(folder)
    return folder


def logits(model: Callable[..., object]) -> Tensor:
    with torch.no_grad():
        found: Tensor = model(input_ids=IDS).logits
    return found


TIED = {"tie_word_embeddings": True}
GOOD: dict[str, tuple[PeftConfig, PretrainedConfig]] = {
    "lora everywhere": (LoraConfig(r=4, target_modules="all-linear"), llama_config()),
    "lora by a pattern": (LoraConfig(r=4, target_modules=r"(?!x).*\.(?:q|v)_proj"), llama_config()),
    "lora with ranks of their own": (
        LoraConfig(r=4, target_modules=["q_proj", "up_proj"], rank_pattern={"q_proj": 2}, alpha_pattern={"up_proj": 9}),
        llama_config(),
    ),
    "lora in one layer": (LoraConfig(r=4, target_modules=["q_proj"], layers_to_transform=[1]), llama_config()),
    "rank-stabilised lora": (LoraConfig(r=4, target_modules=["q_proj"], use_rslora=True), llama_config()),
    "dora": (LoraConfig(r=4, target_modules=["q_proj", "up_proj"], use_dora=True), llama_config()),
    "lora on transposed layers": (LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True), gpt2_config()),
    "a whole layer replaced": (
        LoraConfig(r=4, target_modules=["q_proj"], modules_to_save=["lm_head"]),
        llama_config(**TIED),
    ),
    "lora on the output of tied embeddings": (LoraConfig(r=4, target_modules=["lm_head"]), llama_config(**TIED)),
    "lora on the input of tied embeddings": (LoraConfig(r=4, target_modules=["embed_tokens"]), llama_config(**TIED)),
    "adalora": (
        AdaLoraConfig(init_r=6, target_r=3, total_step=10, tinit=1, tfinal=1, target_modules=["q_proj", "v_proj"]),
        llama_config(),
    ),
    "ia3": (IA3Config(target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"]), llama_config()),
}


@pytest.mark.parametrize("name", list(GOOD))
def test_merged_adapter_gives_the_numbers_of_peft_itself(name: str, tmp_path: Path) -> None:
    config, base = GOOD[name]
    folder = save_adapter(tmp_path, config, base)
    theirs = logits(PeftModel.from_pretrained(build(base), folder).eval())
    merged = logits(with_adapter(build(base), find_adapter(folder), "base").eval())
    torch.testing.assert_close(merged, theirs, atol=1e-4, rtol=0)
    assert (theirs - logits(build(base))).abs().max() > 0.1  # so that an adapter left out would show


def test_adalora_with_ranks_cut_in_training_gives_the_numbers_of_peft_itself(tmp_path: Path) -> None:
    config = AdaLoraConfig(init_r=6, target_r=3, total_step=10, tinit=1, tfinal=3, target_modules=["q_proj", "v_proj"])
    torch.manual_seed(0)
    adapted = get_peft_model(build(llama_config()), config).train()
    optimizer = torch.optim.AdamW([p for p in adapted.parameters() if p.requires_grad], lr=0.05)
    for step in range(10):
        optimizer.zero_grad()
        adapted(input_ids=IDS, labels=IDS).loss.backward()
        optimizer.step()
        adapted.base_model.update_and_allocate(step)
    adapted.eval().save_pretrained(tmp_path)
    ranks = {
        tensor.shape[0] for name, tensor in load_file(tmp_path / "adapter_model.safetensors").items() if "_A" in name
    }
    assert ranks != {6}
    merged = logits(with_adapter(build(llama_config()), find_adapter(tmp_path), "base").eval())
    torch.testing.assert_close(merged, logits(adapted), atol=1e-4, rtol=0)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_folder(tmp_path_factory.mktemp("adapters") / "base")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = LoraConfig(r=4, target_modules=["q_proj", "up_proj"])
    return save_adapter(tmp_path_factory.mktemp("adapters") / "good", config, llama_config())


@pytest.fixture
def adapter(good: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(good, tmp_path / "adapter"))


def open_with(base: Path, adapter: Path | str | None) -> LocalModel:
    request = ModelRequest(source=str(base), adapter=None if adapter is None else str(adapter))
    return load_model(request, Settings(home=Path("/nonexistent")))


def identity(base: Path, adapter: Path | None) -> ModelIdentity:
    return open_with(base, adapter).identity


def change_config(folder: Path, **changes: object) -> None:
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps(config | changes))


def change_weights(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    file = folder / "adapter_model.safetensors"
    weights = load_file(file)
    change(weights)
    save_file(weights, file, metadata={"format": "pt"})


def test_text_is_read_with_the_adapter(base: Path, adapter: Path) -> None:
    theirs = PeftModel.from_pretrained(build(llama_config()), adapter).eval()
    ((_, stats),) = open_with(base, adapter).token_stats([TEXT])
    first, *ids = Tokenizer.from_file(str(base / "tokenizer.json")).encode(TEXT).ids
    with torch.no_grad():
        expected = theirs(input_ids=torch.tensor([[first, *ids]])).logits[0, :-1].log_softmax(-1)
    by_hand = expected[torch.arange(len(ids)), torch.tensor(ids)]
    torch.testing.assert_close(torch.from_numpy(stats.logprob), by_hand, atol=1e-4, rtol=0)


def test_adapter_is_named_and_hashed_in_the_identity_and_the_base_stays_as_it_was(base: Path, adapter: Path) -> None:
    bare, with_it = identity(base, None), identity(base, adapter)
    assert bare.adapter is None
    assert len(with_it.adapter or "") == 64
    assert with_it.name == f"{bare.name} + adapter"
    assert with_it.weights_sha256 == bare.weights_sha256
    assert with_it.digest != bare.digest


def test_identity_tells_one_changed_weight(base: Path, adapter: Path) -> None:
    before = identity(base, adapter).adapter
    change_weights(adapter, lambda weights: next(iter(weights.values())).view(-1)[0].add_(1e-3))
    assert identity(base, adapter).adapter != before


def test_identity_tells_a_changed_setting_and_overlooks_what_changes_no_number(base: Path, adapter: Path) -> None:
    before = find_adapter(adapter).sha256
    change_config(adapter, base_model_name_or_path="elsewhere", lora_dropout=0.3, revision="x")
    assert find_adapter(adapter).sha256 == before
    change_config(adapter, lora_alpha=64)
    assert find_adapter(adapter).sha256 != before


def test_float16_weights_are_taken(base: Path, adapter: Path) -> None:
    ((_, full),) = open_with(base, adapter).token_stats([TEXT])
    change_weights(adapter, lambda weights: weights.update({name: t.half() for name, t in weights.items()}))
    ((_, half),) = open_with(base, adapter).token_stats([TEXT])
    torch.testing.assert_close(torch.from_numpy(half.logprob), torch.from_numpy(full.logprob), atol=0.1, rtol=0)


def test_pickled_weights_beside_safetensors_are_never_opened(base: Path, adapter: Path, tmp_path: Path) -> None:
    witness = tmp_path / "was-run"

    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return open, (str(witness), "w")

    (adapter / "adapter_model.bin").write_bytes(pickle.dumps(Evil()))
    open_with(base, adapter)
    assert not witness.exists()


def drop(weights: dict[str, Tensor]) -> None:
    del weights[next(iter(weights))]


def add(weights: dict[str, Tensor]) -> None:
    weights["base_model.model.model.layers.7.self_attn.q_proj.lora_A.weight"] = torch.zeros(4, 32)


def widen(weights: dict[str, Tensor]) -> None:
    name = next(name for name in weights if "q_proj.lora_A" in name)
    weights[name] = torch.zeros(4, 64)


def not_finite(value: float) -> Callable[[dict[str, Tensor]], None]:
    return lambda weights: next(iter(weights.values())).view(-1)[3].fill_(value)


def pickle_weights(folder: Path) -> None:
    (folder / "adapter_model.safetensors").unlink()
    (folder / "adapter_model.bin").write_bytes(pickle.dumps({"a": 1}))


def write_config(folder: Path, text: str) -> None:
    (folder / "adapter_config.json").write_text(text)


def cut(folder: Path, keep: float) -> None:
    data = (folder / "adapter_model.safetensors").read_bytes()
    (folder / "adapter_model.safetensors").write_bytes(data[: int(len(data) * keep)])


def nested(depth: int) -> object:
    value: object = "q_proj"
    for _ in range(depth):
        value = [value]
    return value


SPOILED: dict[str, tuple[Callable[[Path], object], str]] = {
    "no such folder": (shutil.rmtree, "There is no adapter folder"),
    "no config": (lambda f: (f / "adapter_config.json").unlink(), "has no adapter_config.json"),
    "no weights": (lambda f: (f / "adapter_model.safetensors").unlink(), "has no adapter_model.safetensors"),
    "pickled only": (pickle_weights, "pickled only"),
    "config is not JSON": (lambda f: write_config(f, "{"), "cannot be read"),
    "config is a list": (lambda f: write_config(f, "[]"), "not an object"),
    "config is nested too deeply": (lambda f: write_config(f, '{"a":' * 100_000), "cannot be read"),
    "config is huge": (lambda f: write_config(f, " " * (64 * 2**20 + 1)), "it is too large"),
    "a value is nested": (lambda f: change_config(f, target_modules=nested(900)), "makes no sense"),
    "a kind is nested": (lambda f: change_config(f, peft_type=nested(900)), "cannot be merged"),
    "unknown kind": (lambda f: change_config(f, peft_type="TEAPOT"), "'TEAPOT'.* cannot be merged"),
    "no kind": (lambda f: change_config(f, peft_type=None), "cannot be merged"),
    "pissa start": (lambda f: change_config(f, init_lora_weights="pissa_niter_4"), "'init_lora_weights'"),
    "unknown setting": (lambda f: change_config(f, use_magic=True), "'use_magic', which is not supported"),
    "trained biases": (lambda f: change_config(f, bias="all"), "'bias', which is not supported"),
    "absurd rank": (lambda f: change_config(f, r=10**6), "gives r a value that makes no sense"),
    "absurd rank of one layer": (lambda f: change_config(f, rank_pattern={"q_proj": 10**6}), "gives rank_pattern a"),
    "rank below zero": (lambda f: change_config(f, r=-4), "does not fit base"),
    "alpha is no number": (lambda f: change_config(f, lora_alpha=float("nan")), "gives lora_alpha a value"),
    "wrong kind of value": (lambda f: change_config(f, target_modules={"a": None}), "makes no sense"),
    "not a pattern": (lambda f: change_config(f, target_modules="("), "does not fit base"),
    "aims at nothing": (lambda f: change_config(f, target_modules=["teapot"]), "does not fit base"),
    "weights cut short": (lambda f: cut(f, 0.5), "adapter_model.safetensors .* is damaged"),
    "weights empty": (lambda f: cut(f, 0), "is damaged"),
    "weights are a picture": (lambda f: (f / "adapter_model.safetensors").write_bytes(b"\x89PNG" * 99), "is damaged"),
    "a weight is missing": (lambda f: change_weights(f, drop), "1 of its weights have no place"),
    "a weight too many": (lambda f: change_weights(f, add), "1 of its weights have no place"),
    "a weight is ill-shaped": (lambda f: change_weights(f, widen), "1 of its weights have no place"),
    "other rank than its weights": (lambda f: change_config(f, r=8), "of its weights have no place"),
    "NaN in the weights": (lambda f: change_weights(f, not_finite(float("nan"))), "not finite"),
    "infinity in the weights": (lambda f: change_weights(f, not_finite(float("inf"))), "not finite"),
}


@pytest.mark.parametrize("name", list(SPOILED))
def test_spoiled_adapter_ends_in_one_clear_sentence(name: str, base: Path, adapter: Path) -> None:
    spoil, said = SPOILED[name]
    spoil(adapter)
    with pytest.raises(AuditError, match=said) as refusal:
        open_with(base, adapter)
    assert refusal.value.remedy
    assert "\n" not in refusal.value.wrong


def test_adapter_of_another_model_is_refused(good: Path, tmp_path: Path) -> None:
    other = save_folder(tmp_path / "other", gpt2_config())
    with pytest.raises(AuditError, match="does not fit other"):
        open_with(other, good)


def test_prefix_tuning_is_refused_as_a_kind_that_cannot_be_merged(base: Path, tmp_path: Path) -> None:
    folder = save_adapter(
        tmp_path / "prefix", PrefixTuningConfig(num_virtual_tokens=4, task_type="CAUSAL_LM"), llama_config()
    )
    with pytest.raises(AuditError, match="'PREFIX_TUNING'.* cannot be merged"):
        open_with(base, folder)


@pytest.mark.parametrize("path", ["x" * 5000, "a\0b"], ids=["too long", "with a NUL"])
def test_path_that_no_machine_has_is_refused(path: str, base: Path) -> None:
    with pytest.raises(AuditError, match="There is no adapter folder"):
        open_with(base, path)


@pytest.mark.parametrize("field", ["target_modules", "exclude_modules", "layers_pattern", "rank_pattern"])
@pytest.mark.parametrize("pattern", ["(a+)+b", "(.*a){25}", ".*" * 40 + "x", ".?" * 60 + "x", "a" * 201])
def test_pattern_that_could_search_for_ever_is_refused_at_once(pattern: str, field: str, adapter: Path) -> None:
    change_config(adapter, **{field: {pattern: 4} if field == "rank_pattern" else pattern})
    began = time.perf_counter()
    with pytest.raises(AuditError, match=f"gives {field} a value that makes no sense"):
        find_adapter(adapter)
    assert time.perf_counter() - began < 1
