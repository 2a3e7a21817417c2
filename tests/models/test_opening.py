"""Model folders are strangers': each kind of bad one ends in one clear sentence, and a good one in a model."""

from __future__ import annotations

import json
import pickle
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from auditlib.core import AuditError, Settings
from auditlib.models.hashes import file_sha256
from auditlib.models.opening import ModelShelf, load_model
from auditlib.models.placement import available_devices, available_dtypes
from auditlib.models.request import ModelRequest
from tests.tiny import gpt2_config, llama_config, save_folder

TEXT = "The ferry was late, and nobody on the quay was surprised."


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_folder(tmp_path_factory.mktemp("models") / "good")


@pytest.fixture
def folder(good: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(good, tmp_path / "model"))


def open_folder(folder: Path | str, **request: str) -> object:
    return load_model(ModelRequest(source=str(folder), **request), Settings(home=Path("/nonexistent")))


def change_config(folder: Path, **changes: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))


def cut(folder: Path, name: str, keep: float) -> None:
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: int(len(data) * keep)])


def drop_weight(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def pickle_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"a": 1}))


def index_outside(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    index = {"weight_map": {"lm_head.weight": "../../secret.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def index_without_shards(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    index = {"weight_map": {"lm_head.weight": "model-00001-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def other_tokenizer(folder: Path) -> None:
    save_folder(folder / "small", llama_config(vocab_size=100))
    shutil.copy(folder / "small" / "model.safetensors", folder)
    shutil.copy(folder / "small" / "config.json", folder)


SPOILED: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (lambda f: (f / "config.json").unlink(), "no config.json"),
    "config is not JSON": (lambda f: (f / "config.json").write_text("{"), "config.json .* cannot be read"),
    "config is a list": (lambda f: (f / "config.json").write_text("[1]"), "not an object"),
    "config is nested too deeply": (lambda f: (f / "config.json").write_text('{"a":' * 100_000), "cannot be read"),
    "wants remote code": (
        lambda f: change_config(f, model_type="evil", auto_map={"AutoModelForCausalLM": "evil.Evil"}),
        "wants to run code of its own",
    ),
    "unknown kind": (lambda f: change_config(f, model_type="teapot"), "not a known causal language model"),
    "kind is not a word": (lambda f: change_config(f, model_type=[1]), "not a known causal language model"),
    "absurd layers": (lambda f: change_config(f, num_hidden_layers=10**9), "num_hidden_layers = 1000000000"),
    "absurd width": (lambda f: change_config(f, hidden_size=10**12), "hidden_size = "),
    "wider than its weights": (lambda f: change_config(f, hidden_size=2**20), "could not be loaded|far more than"),
    "quantized for other hardware": (
        lambda f: change_config(f, quantization_config={"quant_method": "gptq", "bits": 4}),
        "could not be loaded",
    ),
    "pickled weights": (pickle_weights, "pickled only"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "no weights in safetensors form"),
    "weights cut short": (lambda f: cut(f, "model.safetensors", 0.5), "model.safetensors .* is damaged"),
    "weights empty": (lambda f: (f / "model.safetensors").write_bytes(b""), "is damaged"),
    "a weight is missing": (drop_weight, "do not fit its configuration"),
    "index points outside": (index_outside, "does not name weight files of that folder"),
    "index names absent files": (index_without_shards, "lacks 1 of its 1 weight files"),
    "tokenizer cut short": (lambda f: cut(f, "tokenizer.json", 0.5), "tokenizer of model could not be loaded"),
    "tokenizer of another model": (other_tokenizer, "do not belong together"),
    "too few layers for its weights": (lambda f: change_config(f, num_hidden_layers=1), "have no place in the model"),
    "more layers than its weights": (lambda f: change_config(f, num_hidden_layers=2000), "far more than|do not fit"),
    "weights of its own choosing": (
        lambda f: change_config(f, transformers_weights="other.safetensors"),
        "names a weight file of its own",
    ),
    "an adapter beside it": (lambda f: (f / "adapter_config.json").write_text("{}"), "side by side"),
    "positions without end": (lambda f: change_config(f, max_position_embeddings=10**12), "max_position_embeddings"),
    "window of two tokens": (
        lambda f: change_config(f, num_attention_heads=3),
        "could not be loaded|does not run|do not fit",
    ),
    "adapter only": (
        lambda f: ((f / "config.json").unlink(), (f / "adapter_config.json").write_text("{}")),
        "an adapter, not a whole model",
    ),
}


@pytest.mark.parametrize("name", list(SPOILED))
def test_spoiled_folder_ends_in_one_clear_sentence(name: str, folder: Path) -> None:
    spoil, said = SPOILED[name]
    spoil(folder)
    with pytest.raises(AuditError, match=said) as refusal:
        open_folder(folder)
    assert refusal.value.remedy
    assert "\n" not in refusal.value.wrong


def test_code_beside_a_known_architecture_is_never_run(folder: Path, tmp_path: Path) -> None:
    witness = tmp_path / "was-run"
    (folder / "evil.py").write_text(f"open({str(witness)!r}, 'w')\nclass Evil: pass\nclass EvilConfig: pass\n")
    change_config(folder, auto_map={"AutoConfig": "evil.EvilConfig", "AutoModelForCausalLM": "evil.Evil"})
    assert open_folder(folder).context_length == 64
    assert not witness.exists()


def test_pickled_weights_beside_safetensors_are_never_opened(folder: Path, tmp_path: Path) -> None:
    witness = tmp_path / "was-run"

    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return open, (str(witness), "w")

    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Evil()))
    open_folder(folder)
    assert not witness.exists()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("/no/such/folder", "There is no model folder"),
        ("/no/such/model.gguf", "no readable file"),
        ("", "No model was named"),
        ("a\0b", "No model was named"),
        ("x" * 5000, "cannot be opened"),
    ],
)
def test_what_is_not_there_is_said(source: str, said: str) -> None:
    with pytest.raises(AuditError, match=said):
        open_folder(source)


def test_single_weight_file_is_refused_with_the_way_to_do_it(folder: Path) -> None:
    with pytest.raises(AuditError, match="only single file that holds a whole model is a .gguf"):
        open_folder(folder / "model.safetensors")


def test_weights_must_have_the_expected_hash(folder: Path) -> None:
    digest = file_sha256(folder / "model.safetensors")
    assert open_folder(folder, sha256=digest.upper()).identity.weights_sha256 == digest
    with pytest.raises(AuditError, match="not what was expected"):
        open_folder(folder, sha256="0" * 64)


def test_identity_tells_one_changed_weight(folder: Path) -> None:
    before = open_folder(folder).identity
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][0] += 1e-3
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    after = open_folder(folder).identity
    assert after.weights_sha256 != before.weights_sha256
    assert after.tokenizer_sha256 == before.tokenizer_sha256


def test_model_in_several_files_scores_as_in_one(good: Path, tmp_path: Path) -> None:
    whole = open_folder(good)
    sharded = Path(shutil.copytree(good, tmp_path / "sharded"))
    (sharded / "model.safetensors").unlink()
    whole._model.save_pretrained(sharded, max_shard_size="40KB")
    assert len(list(sharded.glob("*.safetensors"))) > 1
    ((_, a),) = whole.token_stats([TEXT])
    ((_, b),) = open_folder(sharded).token_stats([TEXT])
    np.testing.assert_array_equal(a.logprob, b.logprob)


def test_bfloat16_is_shown_in_the_identity_and_scores_nearly_the_same(good: Path) -> None:
    ((_, full),) = open_folder(good, dtype="float32").token_stats([TEXT])
    half_model = open_folder(good, dtype="bfloat16")
    ((_, half),) = half_model.token_stats([TEXT])
    assert half_model.identity.dtype == "bfloat16"
    np.testing.assert_allclose(half.logprob, full.logprob, atol=0.5)
    assert not np.array_equal(half.logprob, full.logprob)


@pytest.mark.parametrize("request_fields", [{"device": "cuda:99"}, {"dtype": "int3"}])
def test_device_or_type_that_the_machine_lacks_is_refused_with_the_choice(
    good: Path, request_fields: dict[str, str]
) -> None:
    with pytest.raises(AuditError, match="does not offer") as refusal:
        open_folder(good, **request_fields)
    assert refusal.value.remedy.startswith("Choose ")


def test_cpu_is_always_offered_and_computes_in_float32_by_default() -> None:
    assert available_devices()[-1] == "cpu"
    assert available_dtypes("cpu")[0] == "float32"


def test_shelf_loads_a_model_once_whoever_asks_and_drops_the_oldest(good: Path, tmp_path: Path) -> None:
    shelf, here = ModelShelf(most_loaded=2), Settings(home=tmp_path)
    request = ModelRequest(source=str(good))
    opened: list[object] = []
    threads = [threading.Thread(target=lambda: opened.append(shelf.open(request, here))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(model) for model in opened}) == 1

    others = [ModelRequest(str(save_folder(tmp_path / name, gpt2_config()))) for name in ("b", "c")]
    for other in others:
        shelf.open(other, here)
    assert list(shelf.loaded()) == others


def test_mistaken_request_drops_nothing_from_the_shelf(good: Path, tmp_path: Path) -> None:
    shelf, here = ModelShelf(most_loaded=1), Settings(home=tmp_path)
    shelf.open(ModelRequest(source=str(good)), here)
    with pytest.raises(AuditError):
        shelf.open(ModelRequest(source="/no/such/folder"), here)
    assert len(shelf.loaded()) == 1


def test_configuration_is_part_of_the_identity(folder: Path) -> None:
    before = open_folder(folder).identity
    change_config(folder, rms_norm_eps=0.5)
    after = open_folder(folder).identity
    assert after.weights_sha256 == before.weights_sha256
    assert after.config_sha256 != before.config_sha256


def test_config_without_return_dict_is_no_obstacle(folder: Path) -> None:
    change_config(folder, return_dict=False)
    ((_, stats),) = open_folder(folder).token_stats([TEXT])
    assert stats.n_tokens > 3


def test_failed_load_leaves_the_shelf_usable(good: Path, tmp_path: Path) -> None:
    shelf, here = ModelShelf(), Settings(home=tmp_path)
    with pytest.raises(AuditError):
        shelf.open(ModelRequest(source="/no/such/folder"), here)
    assert shelf.open(ModelRequest(source=str(good)), here).device == torch.device("cpu")
