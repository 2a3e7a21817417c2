"""The engine against a plain forward pass of the same model: one text at a time, full log_softmax."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import BertConfig, GPTNeoXConfig, Phi3Config, PretrainedConfig

from auditlib.core import AuditError, TokenStats
from auditlib.models.encoding import TextEncoder
from auditlib.models.local import LocalModel
from tests.tiny import (
    HARD_TEXTS,
    build,
    byte_level_tokenizer,
    gpt2_config,
    identity_of,
    llama_config,
    llama_tokenizer,
    local_model,
)

SENTENCE = "The ferry was late, and nobody on the quay was surprised. "
RAGGED_TEXTS = [SENTENCE * n for n in (1, 3, 2)] + HARD_TEXTS

MODELS: dict[str, tuple[PretrainedConfig, Callable[[], Tokenizer]]] = {
    "llama with BOS": (llama_config(context=512), llama_tokenizer),
    "llama without BOS": (llama_config(context=512), byte_level_tokenizer),
    "gpt2": (gpt2_config(context=512), byte_level_tokenizer),
    "gpt-neox": (
        GPTNeoXConfig(
            vocab_size=400,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=512,
        ),
        byte_level_tokenizer,
    ),
}


@pytest.fixture(params=list(MODELS), ids=list(MODELS))
def tiny(request: pytest.FixtureRequest) -> LocalModel:
    config, tokenizer = MODELS[request.param]
    return local_model(config, tokenizer(), batch_tokens=200)


def plain(model: LocalModel, text: str, window: int | None = None) -> dict[str, np.ndarray]:
    """What anybody would write down for one text, window by window."""
    encoded = model._encoder.encode(text)
    ids, prefix = encoded.token_ids.tolist(), list(encoded.prefix_ids)
    window = (window or len(ids) + len(prefix)) - len(prefix)
    columns: dict[str, list[float]] = {"logprob": [], "expected": [], "variance": [], "rank": []}
    begin, scored = 0, 0 if prefix else 1
    while scored < len(ids):
        end = min(begin + window, len(ids))
        row = prefix + ids[begin:end]
        with torch.no_grad():
            logits = model._model(torch.tensor([row])).logits[0].double()
        log_p = torch.log_softmax(logits, dim=-1)
        for token in range(scored, end):
            at = log_p[token - begin + len(prefix) - 1]
            p = at.exp()
            mean = (p * at).sum()
            columns["logprob"].append(at[ids[token]].item())
            columns["expected"].append(mean.item())
            columns["variance"].append(max((p * at**2).sum().item() - mean.item() ** 2, 1e-6))
            columns["rank"].append(int((at > at[ids[token]]).sum()) + 1)
        begin, scored = begin + window - window // 2, end
    return {name: np.array(column) for name, column in columns.items()}


def assert_equal(stats: TokenStats, truth: dict[str, np.ndarray]) -> None:
    np.testing.assert_allclose(stats.logprob, truth["logprob"], atol=1e-4, rtol=0)
    np.testing.assert_allclose(stats.expected, truth["expected"], atol=2e-3, rtol=0)
    np.testing.assert_allclose(stats.variance, truth["variance"], atol=1e-2, rtol=0)
    np.testing.assert_array_equal(stats.rank, truth["rank"])


def test_ragged_batch_equals_plain_log_softmax(tiny: LocalModel) -> None:
    found = dict(tiny.token_stats(RAGGED_TEXTS))
    assert sorted(found) == list(range(len(RAGGED_TEXTS)))
    for index, text in enumerate(RAGGED_TEXTS):
        assert_equal(found[index], plain(tiny, text))


def test_text_alone_gives_what_it_gives_among_others(tiny: LocalModel) -> None:
    texts = [SENTENCE * (1 + i % 7) + f"Number {i}." for i in range(32)]
    among = dict(tiny.token_stats(texts))
    for index in (0, 13, 31):
        ((_, alone),) = tiny.token_stats([texts[index]])
        np.testing.assert_allclose(alone.logprob, among[index].logprob, atol=1e-4, rtol=0)
        np.testing.assert_allclose(alone.expected, among[index].expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("tokenizer", [byte_level_tokenizer, llama_tokenizer])
def test_long_text_equals_plain_windows_that_overlap_by_half(tokenizer: Callable[[], Tokenizer]) -> None:
    model = local_model(llama_config(context=64), tokenizer(), batch_tokens=200)
    text = " ".join(f"{i * 7919} ferries" for i in range(60))
    ((_, stats),) = model.token_stats([text])
    assert stats.n_tokens > 3 * 64
    assert_equal(stats, plain(model, text, window=64))
    assert stats.end[-1] == len(text)


def test_first_word_is_scored_after_a_bos_and_context_only_without() -> None:
    for tokenizer, is_context_only in ((llama_tokenizer(), False), (byte_level_tokenizer(), True)):
        model = local_model(llama_config(), tokenizer)
        ((_, stats),) = model.token_stats(["The ferry was late"])
        assert (stats.start[0] > 0) == is_context_only


def test_alternatives_are_the_models_likeliest_tokens(tiny: LocalModel) -> None:
    ((_, stats),) = tiny.token_stats([SENTENCE], top=5)
    assert stats.alternatives is not None
    assert stats.alternatives.ids.shape == (stats.n_tokens, 5)
    best = stats.rank == 1
    assert best.any() or (stats.alternatives.logprob[:, 0] > stats.logprob).all()
    np.testing.assert_array_equal(stats.alternatives.ids[best, 0], stats.token_ids[best])
    np.testing.assert_allclose(stats.alternatives.logprob[best, 0], stats.logprob[best], atol=1e-5)
    assert (np.diff(stats.alternatives.logprob, axis=1) <= 0).all()


def test_two_callers_at_once_take_turns_and_get_what_they_would_get_alone(
    tiny: LocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [[f"{SENTENCE * 2}{who} {i}" for i in range(12)] for who in ("left", "right")]
    alone = [dict(tiny.token_stats(t, top=2)) for t in texts]
    together: list[dict[int, TokenStats]] = [{}, {}]
    forward, inside, overlaps = tiny._forward, [], []

    def watched(*arguments: Any) -> Any:
        inside.append(threading.get_ident())
        time.sleep(0.005)  # long enough for the other caller to come in, if nothing kept it out
        overlaps.append(len(inside) > 1)
        inside.pop()
        return forward(*arguments)

    monkeypatch.setattr(tiny, "_forward", watched)

    def read(who: int) -> None:
        together[who] = dict(tiny.token_stats(texts[who], top=2))

    threads = [threading.Thread(target=read, args=(who,)) for who in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(overlaps) >= 4
    assert not any(overlaps)
    for who in (0, 1):
        for index, stats in alone[who].items():
            np.testing.assert_array_equal(together[who][index].logprob, stats.logprob)
            np.testing.assert_array_equal(together[who][index].token_ids, stats.token_ids)


def test_logits_exist_for_a_slice_of_positions_only() -> None:
    model = local_model(llama_config(context=512), byte_level_tokenizer(), batch_tokens=2000)
    model._logit_rows = 16
    logits, rows = model.projection.logits, []

    def watched(states: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
        rows.append(len(states))
        return logits(states, out)

    object.__setattr__(model.projection, "logits", watched)
    stats = dict(model.token_stats(RAGGED_TEXTS))
    assert max(rows) == 16
    assert sum(rows) == sum(s.n_tokens for s in stats.values())


def test_long_rope_model_gives_the_same_alone_as_beside_a_long_text() -> None:
    """Its positions change for a whole batch once one row is longer than the original context."""
    config = Phi3Config(
        vocab_size=400,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        original_max_position_embeddings=64,
        pad_token_id=0,
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 10_000.0,
            "long_factor": [4.0] * 4,
            "short_factor": [1.0] * 4,
            "original_max_position_embeddings": 64,
        },
    )
    model = local_model(config, byte_level_tokenizer(), batch_tokens=4000)
    texts = ["The ferry was late today.", " ".join(str(i * 7919) for i in range(60))]
    ((_, alone),) = model.token_stats(texts[:1])
    among = dict(model.token_stats(texts))
    assert among[1].n_tokens > 128
    np.testing.assert_allclose(among[0].logprob, alone.logprob, atol=1e-4)


def test_other_texts_are_given_before_a_broken_one_is_reported() -> None:
    model = local_model(llama_config(), byte_level_tokenizer())
    with torch.no_grad():
        model._model.get_input_embeddings().weight[TextEncoder(byte_level_tokenizer()).encode("zz!").token_ids[0]] = (
            torch.nan
        )
    reading = model.token_stats(["zz! zz! zz!", SENTENCE], names=["bad.txt", "good.txt"])
    assert next(reading)[0] == 1
    with pytest.raises(AuditError, match="^bad.txt has"):
        next(reading)


def test_model_that_fails_while_reading_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    model = local_model(llama_config(), byte_level_tokenizer())

    def fails(*_: object) -> None:
        raise IndexError("index out of range in self")

    monkeypatch.setattr(model, "_forward", fails)
    with pytest.raises(AuditError, match="tiny failed while reading .*index out of range"):
        list(model.token_stats([SENTENCE]))


def test_progress_ends_at_all_tokens(tiny: LocalModel) -> None:
    calls: list[tuple[int, int]] = []
    list(tiny.token_stats(RAGGED_TEXTS, progress=lambda done, total: calls.append((done, total))))
    done = [d for d, _ in calls]
    assert len(calls) > 1
    assert done == sorted(done)
    assert calls[-1][0] == calls[-1][1]


def test_text_too_short_is_refused_by_its_name(tiny: LocalModel) -> None:
    with pytest.raises(AuditError, match="^second.txt is empty"):
        list(tiny.token_stats([SENTENCE, " "], names=["first.txt", "second.txt"]))


def test_nan_from_the_model_is_an_error_that_names_the_text() -> None:
    model = local_model(llama_config(), byte_level_tokenizer())
    with torch.no_grad():
        model._model.get_output_embeddings().weight[3] = torch.nan
    with pytest.raises(AuditError, match="broken.txt has .* no finite log-probability"):
        list(model.token_stats([SENTENCE], names=["broken.txt"]))


def test_token_of_no_probability_is_an_error_and_not_minus_infinity() -> None:
    tokenizer = byte_level_tokenizer()
    model = local_model(llama_config(), tokenizer)
    forbidden = TextEncoder(tokenizer).encode(SENTENCE).token_ids[5]
    whole = model.projection.logits

    def forbidding(states: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
        logits = whole(states, out)
        logits[:, int(forbidden)] = -torch.inf
        return logits

    object.__setattr__(model.projection, "logits", forbidding)
    with pytest.raises(AuditError, match="no finite log-probability"):
        list(model.token_stats([SENTENCE]))


def test_model_that_looks_ahead_is_refused() -> None:
    config = BertConfig(
        vocab_size=400, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48
    )
    with pytest.raises(AuditError, match="not a left-to-right language model"):
        LocalModel(build(config), TextEncoder(byte_level_tokenizer()), identity_of("bert"))


@pytest.mark.parametrize(
    "failure", [torch.OutOfMemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried …")]
)
def test_batch_that_does_not_fit_is_halved_until_it_does(failure: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    model = local_model(llama_config(context=512), byte_level_tokenizer(), batch_tokens=4000)
    truth = dict(model.token_stats(RAGGED_TEXTS))
    forward, sizes = model._forward, []

    def small_memory(windows: list, encoded: list, top: int) -> list:
        sizes.append(len(windows))
        if len(windows) > 2:
            raise failure
        return forward(windows, encoded, top)

    monkeypatch.setattr(model, "_forward", small_memory)
    found = dict(model.token_stats(RAGGED_TEXTS))
    assert max(sizes) > 2
    for index, stats in truth.items():
        np.testing.assert_allclose(found[index].logprob, stats.logprob, atol=1e-4)


def test_one_window_that_does_not_fit_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    model = local_model(llama_config(), byte_level_tokenizer())

    def no_memory(*_: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(model, "_forward", no_memory)
    with pytest.raises(AuditError, match="memory of cpu"):
        list(model.token_stats([SENTENCE]))


@pytest.mark.bundled
def test_bundled_model_equals_plain_log_softmax(bundled_model: LocalModel) -> None:
    texts = [
        "It is a truth universally acknowledged, that a single man in possession of a good fortune must want a wife.",
        HARD_TEXTS[0],
        SENTENCE * 4,
    ]
    found = dict(bundled_model.token_stats(texts))
    for index, text in enumerate(texts):
        truth = plain(bundled_model, text)
        stats = found[index]
        np.testing.assert_allclose(stats.logprob, truth["logprob"], atol=1e-4, rtol=0)
        np.testing.assert_allclose(stats.expected, truth["expected"], atol=2e-3, rtol=0)
        np.testing.assert_allclose(stats.variance, truth["variance"], atol=1e-2, rtol=0)
        # Deep in a vocabulary of 49,152, neighbours differ by less than two forward passes of one model do.
        near = truth["rank"] <= 1000
        np.testing.assert_array_equal(stats.rank[near], truth["rank"][near])
        np.testing.assert_allclose(stats.rank, truth["rank"], rtol=1e-3)


@pytest.mark.bundled
def test_bundled_model_in_windows_equals_plain_windows(bundled_model: LocalModel) -> None:
    windowed = LocalModel(
        bundled_model._model, bundled_model._encoder, bundled_model.identity, batch_tokens=256, window_tokens=48
    )
    text = " ".join(HARD_TEXTS) + SENTENCE * 6
    ((_, stats),) = windowed.token_stats([text])
    truth = plain(windowed, text, window=48)
    np.testing.assert_allclose(stats.logprob, truth["logprob"], atol=1e-4, rtol=0)
    np.testing.assert_allclose(stats.expected, truth["expected"], atol=2e-3, rtol=0)
    np.testing.assert_allclose(stats.variance, truth["variance"], atol=1e-2, rtol=0)
