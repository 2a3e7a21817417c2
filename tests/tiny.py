"""Small models and tokenizers that the tests build for themselves, with random weights from a fixed seed."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    LlamaConfig,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from auditlib.core import ModelIdentity
from auditlib.models.encoding import TextEncoder
from auditlib.models.local import LocalModel

CORPUS = [
    "The ferry was late, and nobody on the quay was surprised.",
    "She counted the apples twice and wrote the smaller number down.",
    "Nothing in the minutes said who had opened the window.",
] * 20
SPECIAL = ["<unk>", "<s>", "</s>"]

# Emoji (with joiners), combining marks, CJK, ligatures, white space of all kinds, right-to-left text.
HARD_TEXTS = [
    "Zürich, 北京 and 👩‍👩‍👧‍👦 met at the café — twice.",
    "e\u0301 is not é, but it looks so; ﬁne.",
    "  two spaces\n\n\ttab and\u00a0no-break  ",
    "שלום עולם and مرحبا بالعالم together",
    "😀😀😀😀",
    "plain ascii, nothing else",
]


def byte_level_tokenizer(trim_offsets: bool = False, normalizer: normalizers.Normalizer | None = None) -> Tokenizer:
    """As GPT-2, Llama 3 and SmolLM2 have: every byte is a letter of the alphabet, no BOS."""
    tokenizer = Tokenizer(models.BPE())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(vocab_size=400, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False),
    )
    return tokenizer


def llama_tokenizer() -> Tokenizer:
    """As Llama 2 and Gemma have: `▁` for spaces, bytes for unknown characters, BOS in front and (here) EOS behind."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    all_bytes = [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer.train_from_iterator(
        CORPUS, trainers.BpeTrainer(vocab_size=400, special_tokens=SPECIAL + all_bytes, show_progress=False)
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    return tokenizer


def build(config: PretrainedConfig, seed: int = 0) -> PreTrainedModel:
    """A model with random weights, spread widely enough that its predictions differ from place to place."""
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.25)
    return model.float().eval()


def llama_config(vocab_size: int = 400, context: int = 64, **changes: object) -> LlamaConfig:
    """Two layers, grouped heads."""
    return LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        **changes,
    )


def gpt2_config(vocab_size: int = 400, context: int = 64) -> GPT2Config:
    """The same size, another architecture: absolute positions, tied weights."""
    return GPT2Config(vocab_size=vocab_size, n_positions=context, n_embd=32, n_layer=2, n_head=4)


def identity_of(name: str) -> ModelIdentity:
    """An identity for a model that lies nowhere."""
    return ModelIdentity(name, "built in a test", None, "0" * 64, "0" * 64, "0" * 64, "float32", "transformers")


def local_model(
    config: PretrainedConfig, tokenizer: Tokenizer, batch_tokens: int | None = None, window_tokens: int | None = None
) -> LocalModel:
    """A `LocalModel` that never touched a disk."""
    return LocalModel(build(config), TextEncoder(tokenizer), identity_of("tiny"), batch_tokens, window_tokens)


def save_folder(folder: Path, config: PretrainedConfig | None = None, tokenizer: Tokenizer | None = None) -> Path:
    """A model folder as people have them: config.json, model.safetensors, tokenizer.json."""
    build(config or llama_config()).save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer or byte_level_tokenizer(), bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    return folder
