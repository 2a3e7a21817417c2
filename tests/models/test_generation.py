"""Continuations: drawn as the model finds them likely, the same in any company, and refused where they do not fit."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy import stats
from tokenizers import Tokenizer
from transformers import GemmaConfig, GPTNeoXConfig, MambaConfig, MistralConfig, PretrainedConfig

from auditlib.core import AuditError, Capability
from auditlib.models import generation
from auditlib.models.decoding_steps import takes_padding
from auditlib.models.generation import Generation, drawn_tokens
from auditlib.models.local import LocalModel
from auditlib.models.sampling import Sampling, sample_batches, step_keys
from tests.tiny import byte_level_tokenizer, gpt2_config, llama_config, llama_tokenizer, local_model

PROMPTS = [
    "The ferry was late, and nobody",
    "She counted the apples",
    "Nothing in the minutes said who had opened the window. The ferry was late.",
]
SMALL = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
MODELS: dict[str, tuple[PretrainedConfig, Callable[[], Tokenizer]]] = {
    "llama with BOS": (llama_config(context=128), llama_tokenizer),
    "llama without BOS": (llama_config(context=128), byte_level_tokenizer),
    "gpt2": (gpt2_config(context=128), byte_level_tokenizer),
    "gpt-neox": (GPTNeoXConfig(vocab_size=400, max_position_embeddings=128, **SMALL), byte_level_tokenizer),
    "sliding windows": (
        MistralConfig(vocab_size=400, num_key_value_heads=2, sliding_window=8, max_position_embeddings=128, **SMALL),
        byte_level_tokenizer,
    ),
    "gemma": (
        GemmaConfig(vocab_size=400, num_key_value_heads=2, head_dim=8, max_position_embeddings=128, **SMALL),
        byte_level_tokenizer,
    ),
    "recurrent": (
        MambaConfig(vocab_size=400, hidden_size=32, state_size=4, num_hidden_layers=2),
        byte_level_tokenizer,
    ),
}


@pytest.fixture(params=list(MODELS), ids=list(MODELS))
def tiny(request: pytest.FixtureRequest) -> LocalModel:
    config, tokenizer = MODELS[request.param]
    return local_model(config, tokenizer())


def drawn(model: LocalModel, prompts: list[str], sampling: Sampling) -> dict[tuple[str, int], str]:
    return {(prompts[p], s): text for p, s, text in model.generate(prompts, sampling)}


def waiting_times(key: int, n: int) -> np.ndarray:
    """SplitMix64's output function as its authors wrote it, on unsigned numbers, and -log of it."""
    with np.errstate(over="ignore"):
        z = np.uint64(key % 2**64) + np.arange(n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return -np.log(((z >> np.uint64(11)).astype(np.float64) + 0.5) / 2**53)


def by_hand(model: LocalModel, prompt: str, sample: int, sampling: Sampling) -> str:
    """One token after the other, no cache, no batch."""
    ids = model._encoder.prompt_ids(prompt)
    n_prompt = len(ids)
    for key in step_keys(sampling.seed, prompt, sample, sampling.max_new_tokens):
        with torch.no_grad():
            chance = torch.softmax(model._model(torch.tensor([ids])).logits[0, -1].double(), dim=-1).numpy()
        token = int(np.argmin(waiting_times(int(key), len(chance)) / chance))
        if token == model._model.config.eos_token_id:
            break
        ids.append(token)
    return model._encoder.continuation(ids[:n_prompt], ids[n_prompt:])


def test_samples_are_those_of_a_loop_that_draws_one_token_at_a_time(tiny: LocalModel) -> None:
    sampling = Sampling(samples=3, max_new_tokens=12, seed=5)
    found = drawn(tiny, PROMPTS, sampling)
    assert len(found) == 9
    for (prompt, sample), text in found.items():
        assert text == by_hand(tiny, prompt, sample, sampling)


def test_a_sample_is_the_same_alone_and_in_any_company(tiny: LocalModel) -> None:
    sampling = Sampling(samples=4, max_new_tokens=10, seed=1)
    together = drawn(tiny, PROMPTS, sampling)
    assert together == drawn(tiny, PROMPTS[::-1], sampling)
    for prompt in PROMPTS:
        assert drawn(tiny, [prompt], sampling).items() <= together.items()
    fewer = drawn(tiny, PROMPTS, Sampling(samples=2, max_new_tokens=10, seed=1))
    assert fewer.items() <= together.items()


def test_seeds_and_samples_differ() -> None:
    model = local_model(llama_config(context=128), byte_level_tokenizer())
    texts = [
        text
        for seed in range(3)
        for _, _, text in model.generate(PROMPTS[:1], Sampling(samples=4, max_new_tokens=20, seed=seed))
    ]
    assert len(set(texts)) == 12


def test_a_shorter_continuation_is_the_beginning_of_a_longer_one() -> None:
    model = local_model(llama_config(context=128), byte_level_tokenizer())
    short = drawn(model, PROMPTS, Sampling(samples=2, max_new_tokens=5))
    long = drawn(model, PROMPTS, Sampling(samples=2, max_new_tokens=15))
    assert all(long[key].startswith(text.rstrip("�")) for key, text in short.items())


def test_first_tokens_come_as_likely_as_the_model_finds_them() -> None:
    """Chi-square against the model's own probabilities, over 1,000 samples of one prompt."""
    model = local_model(llama_config(context=64), byte_level_tokenizer())
    prompt = PROMPTS[0]
    with torch.no_grad():
        chance = torch.softmax(model._model(torch.tensor([model._encoder.prompt_ids(prompt)])).logits[0, -1], -1)
    texts = [text for _, _, text in model.generate([prompt], Sampling(samples=1000, max_new_tokens=1, seed=3))]
    expected: dict[str, float] = {}
    ids = model._encoder.prompt_ids(prompt)
    for token, p in enumerate(chance.double().tolist()):
        text = "" if token == model._model.config.eos_token_id else model._encoder.continuation(ids, [token])
        expected[text] = expected.get(text, 0.0) + p
    common = [text for text, p in expected.items() if p * len(texts) >= 5]
    seen = [texts.count(text) for text in common]
    hoped = [expected[text] * len(texts) for text in common]
    rest = len(texts) - sum(seen), len(texts) - sum(hoped)
    assert len(common) > 10
    assert stats.chisquare([*seen, rest[0]], [*hoped, rest[1]]).pvalue > 0.001


def test_tokens_without_any_chance_are_never_drawn_and_top_p_cuts_the_tail() -> None:
    keys = torch.from_numpy(step_keys(0, "any prompt", 0, 40_000))
    rows = torch.tensor([[0.0, 0.5, 0.0, 0.3, 0.2, 0.0]]).log().expand(len(keys), -1)

    def shares(**how: float) -> list[float]:
        return (torch.bincount(drawn_tokens(rows, keys, **how), minlength=6) / len(keys)).tolist()

    # 0.01 is four standard errors.
    assert shares() == pytest.approx([0, 0.5, 0, 0.3, 0.2, 0], abs=0.01)
    # 0.5 and 0.3 together reach 0.7; 0.2 is not needed.
    assert shares(top_p=0.7) == pytest.approx([0, 0.625, 0, 0.375, 0, 0], abs=0.01)
    # At temperature 1/2 chances go by their squares: 25, 9 and 4 of 38.
    assert shares(temperature=0.5) == pytest.approx([0, 25 / 38, 0, 9 / 38, 4 / 38, 0], abs=0.01)
    assert [shares(top_p=0.7)[unlikely] for unlikely in (0, 2, 4, 5)] == [0, 0, 0, 0]


def test_rounding_as_of_another_batch_changes_next_to_no_draw() -> None:
    """As large as between batches, 3e-6, and over a vocabulary as large as real ones'."""
    torch.manual_seed(0)
    logits = 3 * torch.randn(1, 50_000)
    keys = torch.from_numpy(step_keys(0, "any prompt", 0, 400))
    one = drawn_tokens(logits.expand(400, -1), keys)
    other = drawn_tokens(logits.expand(400, -1) + 3e-6 * torch.randn(400, 50_000), keys)
    assert (one != other).sum() <= 1
    assert len(set(one.tolist())) > 100


def test_a_text_that_the_model_ends_is_given_before_the_others() -> None:
    model = local_model(llama_config(context=128), byte_level_tokenizer())
    ids = model._encoder.prompt_ids(PROMPTS[0])
    with torch.no_grad():
        logits = model._model(torch.tensor([ids])).logits[0, -1:]
    token = int(drawn_tokens(logits, torch.from_numpy(step_keys(0, PROMPTS[0], 2, 1)))[0])
    model._model.config.eos_token_id = [token]
    order = list(model.generate(PROMPTS[:1], Sampling(samples=8, max_new_tokens=40)))
    assert (0, 2, "") in order[:2]
    assert any(text for _, _, text in order)
    assert len(order) == 8


def test_progress_counts_tokens_to_the_last_and_may_end_the_work() -> None:
    model = local_model(llama_config(context=128), byte_level_tokenizer())
    heard: list[tuple[int, int]] = []
    list(model.generate(PROMPTS, Sampling(samples=2, max_new_tokens=7), lambda *said: heard.append(said)))
    assert heard == sorted(heard)
    assert heard[-1] == (42, 42)

    class Enough(Exception):  # noqa: N818
        pass

    def stop(done: int, total: int) -> None:
        raise Enough

    with pytest.raises(Enough):
        list(model.generate(PROMPTS, Sampling(samples=2, max_new_tokens=7), stop))
    assert not model._one_at_a_time.locked()


def test_others_may_read_between_two_steps() -> None:
    model = local_model(llama_config(context=128), byte_level_tokenizer())
    steps = model.generate(PROMPTS, Sampling(samples=2, max_new_tokens=20))
    next(steps)
    read: list[int] = []
    thread = threading.Thread(target=lambda: read.extend(i for i, _ in model.token_stats(PROMPTS)))
    thread.start()
    thread.join(20)
    assert sorted(read) == [0, 1, 2]
    assert len(list(steps)) == 5


def test_a_prompt_that_does_not_fit_is_named_before_anything_is_drawn() -> None:
    model = local_model(llama_config(context=64), byte_level_tokenizer())
    with pytest.raises(AuditError, match=r"Chunk 2 has .* does not fit into the 64"):
        next(model.generate([PROMPTS[1], PROMPTS[2]], Sampling(1, 60), names=["Chunk 1", "Chunk 2"]))


@pytest.mark.parametrize(
    "wrong", [Sampling(0), Sampling(1, 0), Sampling(1, 5, temperature=0.0), Sampling(1, 5, top_p=0.0), Sampling(9**9)]
)
def test_settings_that_make_no_sense_are_refused(wrong: Sampling) -> None:
    model = local_model(llama_config(context=64), byte_level_tokenizer())
    with pytest.raises(AuditError):
        next(model.generate(PROMPTS[:1], wrong))


def test_weights_that_give_no_numbers_are_an_error_and_no_text() -> None:
    model = local_model(llama_config(context=64), byte_level_tokenizer())
    with torch.no_grad():
        model._model.get_output_embeddings().weight.fill_(float("nan"))
    with pytest.raises(AuditError, match="no finite"):
        next(model.generate(PROMPTS[:1], Sampling(1, 5)))


def test_a_batch_too_large_for_the_memory_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    model = local_model(llama_config(context=128), byte_level_tokenizer())
    sampling = Sampling(samples=4, max_new_tokens=8)
    expected = drawn(model, PROMPTS, sampling)
    sizes: list[int] = []

    class Small(generation.Steps):
        def step(self, tokens: torch.Tensor) -> torch.Tensor:
            sizes.append(len(tokens))
            if len(tokens) > 3:
                raise MemoryError
            return super().step(tokens)

    monkeypatch.setattr(generation, "Steps", Small)
    order = list(model.generate(PROMPTS, sampling))
    assert len(order) == 12
    assert {(PROMPTS[p], s): text for p, s, text in order} == expected
    assert max(sizes) > 3


def test_a_model_that_takes_no_padding_is_given_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions that are counted without regard to the padding, as in architectures that take no positions."""
    sampling = Sampling(samples=2, max_new_tokens=6)
    right = drawn(local_model(gpt2_config(context=128), byte_level_tokenizer()), PROMPTS, sampling)
    model = local_model(gpt2_config(context=128), byte_level_tokenizer())
    forward = model._model.forward

    def without_positions(input_ids: torch.Tensor, **told: object) -> object:
        told.pop("position_ids", None)
        return forward(input_ids=input_ids, **told)

    monkeypatch.setattr(model._model, "forward", without_positions)
    assert not takes_padding(model._model)
    assert drawn(model, PROMPTS, sampling) == right


def test_a_model_that_keeps_no_cache_reads_its_rows_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    sampling = Sampling(samples=2, max_new_tokens=6)
    model = local_model(llama_config(context=128), byte_level_tokenizer())
    right = drawn(model, PROMPTS, sampling)
    forward = model._model.forward
    monkeypatch.setattr(
        model._model, "forward", lambda **told: forward(**{**told, "use_cache": False, "past_key_values": None})
    )
    assert drawn(model, PROMPTS, sampling) == right


def test_batches_share_prompts_and_hold_every_sample_once() -> None:
    batches = sample_batches([30, 10, 20], samples=5, new_tokens=10, budget=120)
    rows = [(r.prompt, sample) for batch in batches for r in batch for sample in range(r.first, r.last)]
    assert sorted(rows) == [(p, s) for p in range(3) for s in range(5)]
    for batch in batches:
        longest = max([30, 10, 20][r.prompt] for r in batch)
        assert sum(r.count for r in batch) * (longest + 10) <= 120
    apart = sample_batches([5, 5, 4], samples=2, new_tokens=5, budget=1000, same_length=True)
    assert [[r.prompt for r in batch] for batch in apart] == [[0, 1], [2]]


def test_a_local_model_says_that_it_can_generate() -> None:
    model = local_model(llama_config(), byte_level_tokenizer())
    assert Capability.GENERATE in model.capabilities
    assert isinstance(model._generation, Generation)
    assert model.prompt_tokens("The ferry was late") >= 2
