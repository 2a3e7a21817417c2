"""The split into body and head must give each architecture's own logits, whatever it does to them at the end."""

from __future__ import annotations

import pytest
import torch
from transformers import CohereConfig, Gemma2Config, GraniteConfig, OPTConfig, PretrainedConfig

from auditlib.models.projection import find_projection, reads_left_to_right
from tests.tiny import build, gpt2_config, llama_config

SIZES = {
    "vocab_size": 400,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}
CONFIGS: dict[str, PretrainedConfig] = {
    "llama": llama_config(),
    "gpt2, tied weights": gpt2_config(),
    "gemma 2, capped logits": Gemma2Config(
        **SIZES, intermediate_size=48, num_key_value_heads=2, head_dim=8, final_logit_softcapping=2.0
    ),
    "granite, divided logits": GraniteConfig(**SIZES, intermediate_size=48, num_key_value_heads=2, logits_scaling=8.0),
    "cohere, multiplied logits": CohereConfig(**SIZES, intermediate_size=48, num_key_value_heads=2, logit_scale=0.0625),
    "opt": OPTConfig(**SIZES, ffn_dim=48, word_embed_proj_dim=16),
}


@pytest.mark.parametrize("name", list(CONFIGS))
def test_split_gives_the_models_own_logits(name: str) -> None:
    model = build(CONFIGS[name])
    projection = find_projection(model)
    ids = torch.arange(2 * 20).view(2, 20) * 37 % 400
    with torch.no_grad():
        truth = model(input_ids=ids).logits
        found = projection.logits(projection.states(ids).flatten(0, 1), None).view(truth.shape)
    assert projection.is_sliced
    torch.testing.assert_close(found, truth, atol=1e-4, rtol=1e-4)
    assert reads_left_to_right(model, projection)


def test_unknown_change_to_the_logits_falls_back_to_the_whole_forward_pass() -> None:
    model = build(llama_config())
    whole = model.forward

    def with_a_twist(*args: object, **kwargs: object) -> object:
        output = whole(*args, **kwargs)
        output.logits = output.logits + torch.arange(400) * 0.1
        return output

    model.forward = with_a_twist
    projection = find_projection(model)
    ids = torch.arange(12).view(1, 12)
    with torch.no_grad():
        found = projection.logits(projection.states(ids).flatten(0, 1), None)
        truth = model(input_ids=ids).logits[0]
    assert not projection.is_sliced
    torch.testing.assert_close(found, truth)
