"""Texts after a prefix: the same numbers whether the prefix is read once or with every text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import GPTNeoXConfig, MambaConfig, MistralConfig

from auditlib.core import AuditError
from auditlib.jobs.cached_reading import CachedModel
from auditlib.models.local import LocalModel
from auditlib.store import Store, TokenCache
from tests.jobs.test_cached_reading import Noted
from tests.planted import made_up
from tests.tiny import byte_level_tokenizer, gpt2_config, llama_config, llama_tokenizer, local_model

PREFIX = made_up(500)
TEXTS = [made_up(seed, words) for seed, words in enumerate((3, 12, 24, 60))]
SMALL = {"vocab_size": 400, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
NEOX = GPTNeoXConfig(num_attention_heads=4, max_position_embeddings=256, **SMALL)
SLIDING = MistralConfig(
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256, sliding_window=16, **SMALL
)
MAMBA = MambaConfig(vocab_size=400, hidden_size=32, num_hidden_layers=2, state_size=8)


def afresh(model: LocalModel, text: str) -> np.ndarray:
    """By the whole model on prefix and text, one row, no code of ours."""
    encode = model._encoder.encode
    prefix, own = encode(PREFIX), encode(text)
    before = [*prefix.prefix_ids, *prefix.token_ids.tolist()]
    ids = torch.tensor([[*before, *own.token_ids.tolist()]])
    with torch.no_grad():
        logp = torch.log_softmax(model._model(ids).logits[0].float(), dim=-1)
    places = torch.arange(len(before), ids.shape[1])
    return logp[places - 1, ids[0, places]].numpy()


@pytest.mark.parametrize(
    ("config", "tokenizer", "reuses"),
    [
        (llama_config(context=256), byte_level_tokenizer(), True),
        (llama_config(context=256), llama_tokenizer(), True),
        (gpt2_config(context=256), byte_level_tokenizer(), True),
        (NEOX, byte_level_tokenizer(), True),
        (SLIDING, byte_level_tokenizer(), True),
        (MAMBA, byte_level_tokenizer(), False),
    ],
    ids=["llama", "llama with bos", "gpt2", "neox", "sliding window", "recurrent"],
)
def test_numbers_are_those_of_prefix_and_text_read_afresh(config: object, tokenizer: object, reuses: bool) -> None:
    model = local_model(config, tokenizer, batch_tokens=128)  # type: ignore[arg-type]
    prefixed = model.after(PREFIX)
    assert prefixed.reuses_prefix is reuses
    found = dict(prefixed.token_stats(TEXTS))
    for index, text in enumerate(TEXTS):
        np.testing.assert_allclose(found[index].logprob, afresh(model, text), atol=1e-4)
        assert found[index].n_tokens == len(model.token_ids(text))  # the first token is scored too
        assert found[index].end[-1] == len(text)
    # A second time, and alone: nothing of a text stays behind in what is kept of the prefix.
    ((_, again),) = prefixed.token_stats([TEXTS[1]])
    np.testing.assert_allclose(again.logprob, found[1].logprob, atol=1e-4)


def test_text_longer_than_the_window_has_the_prefix_before_every_window() -> None:
    model = local_model(llama_config(context=128), byte_level_tokenizer())
    prefixed = model.after(PREFIX)
    text = made_up(1, 240)
    n_prefix = len(model.token_ids(PREFIX))
    room = 128 - n_prefix
    ids = model.token_ids(text)
    assert len(ids) > 2 * room
    ((_, stats),) = prefixed.token_stats([text])
    with torch.no_grad():
        row = torch.tensor([[*model.token_ids(PREFIX).tolist(), *ids[:room].tolist()]])
        logp = torch.log_softmax(model._model(row).logits[0].float(), dim=-1)
    own = logp[n_prefix - 1 : -1].gather(1, row[0, n_prefix:, None]).squeeze(1).numpy()
    assert stats.n_tokens == len(ids)
    np.testing.assert_allclose(stats.logprob[:room], own, atol=1e-4)


def test_prefix_longer_than_half_a_window_is_refused() -> None:
    model = local_model(llama_config(context=64), byte_level_tokenizer())
    with pytest.raises(AuditError, match="The prefix has .* and the window only 64"):
        model.after(made_up(1, 60))


def test_readings_after_different_prefixes_are_kept_apart(tmp_path: Path) -> None:
    model = local_model(llama_config(context=256), byte_level_tokenizer())
    cache = TokenCache(Store(tmp_path), 10**9)
    models = [model, model.after(PREFIX), model.after(made_up(501))]
    assert len({one.windowing for one in models}) == 3
    kept = [dict(CachedModel(one, cache, 10**9, Noted()).token_stats(TEXTS)) for one in models]
    again = [dict(CachedModel(one, cache, 10**9, Noted()).token_stats(TEXTS)) for one in models]
    for first, second, one in zip(kept, again, models, strict=True):
        own = dict(one.token_stats(TEXTS))
        for index in range(len(TEXTS)):
            np.testing.assert_array_equal(first[index].logprob, second[index].logprob)
            np.testing.assert_allclose(first[index].logprob, own[index].logprob, atol=1e-4)
    assert not np.allclose(kept[1][0].logprob, kept[2][0].logprob, atol=1e-3)
