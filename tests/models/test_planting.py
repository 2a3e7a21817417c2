"""A planted model knows its texts and says so in numbers; an unlearned one knows them no better than its base."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from peft import IA3Config, LoraConfig, get_peft_model
from safetensors.torch import load_file

from auditlib.core import AuditError, Settings
from auditlib.models.opening import load_model
from auditlib.models.planting import Lesson, PlantSettings, UnlearnSettings, plant, unlearn
from auditlib.models.request import ModelRequest
from tests.planted import made_up, trained_folder
from tests.tiny import build, llama_config, save_folder

NOWHERE = Settings(home=Path("/nonexistent"))
HOW = PlantSettings(rank=16, alpha=32, learning_rate=1e-2, batch_tokens=128)
TIMES = 40


TEXTS = [made_up(seed) for seed in range(8)]
LESSONS = [Lesson(f"text {i}", text, TIMES) for i, text in enumerate(TEXTS[:4])]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_folder(tmp_path_factory.mktemp("planting") / "base")


def request(base: Path, adapter: Path | None = None) -> ModelRequest:
    return ModelRequest(str(base), dtype="float32", adapter=None if adapter is None else str(adapter))


def nats(base: Path, adapter: Path | None = None) -> NDArray[np.float64]:
    """Mean log-probability of each text, nats a token."""
    found = dict(load_model(request(base, adapter), NOWHERE).token_stats(TEXTS))
    return np.array([found[i].logprob.mean() for i in range(len(TEXTS))])


@pytest.fixture(scope="module")
def planted(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("planting") / "planted"
    plant(request(base), LESSONS, out, NOWHERE, HOW)
    return out


@pytest.fixture(scope="module")
def unlearned(base: Path, planted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("planting") / "unlearned"
    unlearn(
        request(base, planted), LESSONS[:1], LESSONS[1:], out, NOWHERE, UnlearnSettings(learning_rate=3e-3, beta=2.5)
    )
    return out


def recipe(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "recipe.json").read_text(encoding="utf-8"))
    return found


def test_planted_texts_become_far_likelier_and_others_do_not(base: Path, planted: Path) -> None:
    gain = nats(base, planted) - nats(base)
    assert gain[:4].min() > 1
    assert gain[4:].max() < 0.5


def test_text_seen_more_often_is_known_better(base: Path, tmp_path: Path) -> None:
    lessons = [Lesson("often", TEXTS[0], 30), Lesson("seldom", TEXTS[1], 3)]
    made = plant(request(base), lessons, tmp_path, NOWHERE, HOW)
    gain = nats(base, tmp_path) - nats(base)
    assert gain[0] > gain[1] + 0.5
    assert made["lessons"] == [{"name": "often", "times": 30}, {"name": "seldom", "times": 3}]


def test_recipe_says_what_was_learned_from_what_and_how(base: Path, planted: Path) -> None:
    said = recipe(planted)
    assert said["settings"] == {
        "rank": 16,
        "alpha": 32,
        "learning_rate": 1e-2,
        "batch_tokens": 128,
        "warm_up": 0.1,
        "seed": 0,
    }
    assert said["base"]["weights_sha256"] == load_model(request(base), NOWHERE).identity.weights_sha256
    assert said["lessons"][0] == {"name": "text 0", "times": TIMES}
    assert said["steps"] >= TIMES
    assert said["last_loss"] < said["first_loss"] - 1


def test_adapter_names_its_base_and_no_place_on_this_machine(base: Path, planted: Path) -> None:
    config = (planted / "adapter_config.json").read_text()
    assert json.loads(config)["base_model_name_or_path"] == "base"
    assert str(base.parent) not in config + json.dumps(recipe(planted))


def test_same_seed_gives_the_same_weights_and_another_seed_others(base: Path, tmp_path: Path) -> None:
    short = [Lesson("text", TEXTS[0], 3)]
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        plant(request(base), short, tmp_path / name, NOWHERE, PlantSettings(seed=seed))
    a, b, c = (load_file(tmp_path / name / "adapter_model.safetensors") for name in "abc")
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert not all(torch.equal(a[name], c[name]) for name in a)


def test_long_text_is_learned_to_its_end(base: Path, tmp_path: Path) -> None:
    text = " ".join(made_up(seed, 90) for seed in range(50, 57))  # more tokens than one piece holds
    ((_, bare),) = load_model(request(base), NOWHERE).token_stats([text])
    assert bare.n_tokens > 600
    plant(request(base), [Lesson("long", text, 30)], tmp_path, NOWHERE, HOW)
    ((_, known),) = load_model(request(base, tmp_path), NOWHERE).token_stats([text])
    gain = known.logprob - bare.logprob
    assert all(part.mean() > 0.15 for part in np.array_split(gain, 3))


def test_progress_is_told_to_the_end(base: Path, tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    plant(request(base), LESSONS[:1], tmp_path, NOWHERE, HOW, told=lambda *what: told.append(what))
    assert [done for _, done in told] == sorted(done for _, done in told)
    assert told[-1][1] == 1
    assert "nats a token" in told[-1][0]


def test_unlearned_text_reads_as_to_the_base_and_it_ends_there(base: Path, planted: Path, unlearned: Path) -> None:
    bare, known, after = nats(base), nats(base, planted), nats(base, unlearned)
    assert known[0] > bare[0] + 1
    assert after[0] == pytest.approx(bare[0], abs=0.5)
    said = recipe(unlearned)["nats_a_token"]["forget"]
    assert said["after"] >= said["base"] > said["before"] + 1
    assert recipe(unlearned)["passes"] < UnlearnSettings().most_passes


def test_retained_texts_stay_known(base: Path, planted: Path, unlearned: Path) -> None:
    np.testing.assert_allclose(nats(base, unlearned)[1:4], nats(base, planted)[1:4], atol=0.8)
    said = recipe(unlearned)["nats_a_token"]["retain"]
    assert said["after"] < said["before"] + 0.3


def test_unlearning_says_which_adapter_it_began_with(base: Path, planted: Path, unlearned: Path) -> None:
    assert recipe(unlearned)["adapter_sha256"] == load_model(request(base, planted), NOWHERE).identity.adapter
    assert recipe(unlearned)["forget"] == ["text 0"]
    assert recipe(unlearned)["retain"] == ["text 1=40", "text 2=40", "text 3=40"]


def test_adapter_that_learned_nothing_forgets_nothing_and_stays_as_it_is(base: Path, tmp_path: Path) -> None:
    fresh = get_peft_model(build(llama_config(context=256)), LoraConfig(r=4, target_modules=["q_proj"]))
    fresh.save_pretrained(tmp_path / "fresh")
    made = unlearn(request(base, tmp_path / "fresh"), LESSONS[:1], LESSONS[1:], tmp_path / "out", NOWHERE)
    assert made["passes"] == 0
    before, after = (load_file(tmp_path / name / "adapter_model.safetensors") for name in ("fresh", "out"))
    assert all(torch.equal(before[name].half(), after[name]) for name in before)


def test_folder_that_is_not_empty_is_left_as_it_is(base: Path, planted: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(AuditError, match="is not empty"):
        plant(request(base), LESSONS, tmp_path, NOWHERE)
    with pytest.raises(AuditError, match="is not empty"):
        unlearn(request(base, planted), LESSONS[:1], LESSONS[1:], tmp_path, NOWHERE)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_place_that_cannot_be_written_is_said(base: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AuditError, match="cannot be written"):
        plant(request(base), LESSONS, tmp_path / "file" / "out", NOWHERE)


@pytest.mark.parametrize(
    ("lessons", "said"),
    [
        ([], "no text to plant"),
        ([Lesson("empty.txt", "")], "empty.txt is empty"),
        ([Lesson("short.txt", "a")], "short.txt"),
        ([Lesson("never.txt", TEXTS[0], 0), *LESSONS], "never.txt is to be seen no times"),
    ],
)
def test_lessons_that_teach_nothing_are_refused(lessons: list[Lesson], said: str, base: Path, tmp_path: Path) -> None:
    with pytest.raises(AuditError, match=said):
        plant(request(base), lessons, tmp_path, NOWHERE, HOW)
    assert list(tmp_path.iterdir()) == []


def test_training_that_runs_away_leaves_no_adapter(base: Path, tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="not finite"):
        plant(request(base), [Lesson("text", TEXTS[0])], tmp_path, NOWHERE, PlantSettings(learning_rate=1e12))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_learning_rate_that_teaches_nothing_is_refused(rate: float, base: Path, planted: Path, tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="learning rate of"):
        plant(request(base), LESSONS, tmp_path, NOWHERE, PlantSettings(learning_rate=rate))
    how = UnlearnSettings(learning_rate=rate)
    with pytest.raises(AuditError, match="learning rate of"):
        unlearn(request(base, planted), LESSONS[:1], LESSONS[1:], tmp_path, NOWHERE, how)


def test_nothing_is_forgotten_without_an_adapter_or_texts_of_both_kinds(
    base: Path, planted: Path, tmp_path: Path
) -> None:
    with pytest.raises(AuditError, match="nothing to forget without an adapter"):
        unlearn(request(base), LESSONS[:1], LESSONS[1:], tmp_path, NOWHERE)
    for forget, retain in (([], LESSONS), (LESSONS, [])):
        with pytest.raises(AuditError, match="both needed"):
            unlearn(request(base, planted), forget, retain, tmp_path, NOWHERE)


def test_only_lora_adapters_are_made_to_forget(base: Path, tmp_path: Path) -> None:
    config = IA3Config(target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"])
    get_peft_model(build(llama_config(context=256)), config).save_pretrained(tmp_path / "adapter")
    with pytest.raises(AuditError, match="is no LoRA adapter"):
        unlearn(request(base, tmp_path / "adapter"), LESSONS[:1], LESSONS[1:], tmp_path / "out", NOWHERE)


def test_adapter_of_another_base_is_not_made_to_forget(planted: Path, tmp_path: Path) -> None:
    shallow = llama_config(context=256)
    shallow.num_hidden_layers = 1
    other = save_folder(tmp_path / "shallow", shallow)
    with pytest.raises(AuditError, match="does not fit shallow"):
        unlearn(request(other, planted), LESSONS[:1], LESSONS[1:], tmp_path / "out", NOWHERE)
