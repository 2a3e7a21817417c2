"""Tokens must point at the user's own letters, whatever the alphabet, and control tokens must stay letters."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, normalizers
from transformers import PreTrainedTokenizerFast

from auditlib.core import AuditError
from auditlib.models.encoding import TextEncoder
from tests.tiny import HARD_TEXTS, byte_level_tokenizer, llama_tokenizer

TOKENIZERS = {
    "byte level": byte_level_tokenizer(),
    "byte level, spaces trimmed from offsets": byte_level_tokenizer(trim_offsets=True),
    "byte level, composing accents": byte_level_tokenizer(normalizer=normalizers.NFC()),
    "byte level, splitting ligatures": byte_level_tokenizer(normalizer=normalizers.NFKC()),
    "llama": llama_tokenizer(),
}


@pytest.fixture(params=list(TOKENIZERS), ids=list(TOKENIZERS))
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return TOKENIZERS[request.param]


@pytest.mark.parametrize("text", HARD_TEXTS)
def test_spans_cover_the_text_in_order_without_a_gap(tokenizer: Tokenizer, text: str) -> None:
    encoded = TextEncoder(tokenizer).encode(text)
    covered = 0
    for start, end in zip(encoded.start.tolist(), encoded.end.tolist(), strict=True):
        assert start <= covered <= end
        covered = max(covered, end)
    assert encoded.start[0] == 0
    assert covered == len(text)


@pytest.mark.parametrize("text", HARD_TEXTS)
def test_byte_level_spans_hold_exactly_the_characters_of_their_bytes(text: str) -> None:
    """Computed another way: by counting the bytes of the tokens."""
    tokenizer = byte_level_tokenizer(trim_offsets=True)
    encoder = TextEncoder(tokenizer)
    encoded = encoder.encode(text)
    character_of_byte = [i for i, c in enumerate(text) for _ in c.encode()]
    place = 0
    for token_id, start, end in zip(encoded.token_ids, encoded.start, encoded.end, strict=True):
        n_bytes = len(tokenizer.id_to_token(int(token_id)))  # one letter of the alphabet a byte
        assert start == character_of_byte[place]
        assert end == character_of_byte[place + n_bytes - 1] + 1
        place += n_bytes


def test_tokens_that_share_a_character_share_its_span() -> None:
    encoded = TextEncoder(llama_tokenizer()).encode("a 😀 b")
    spans = list(zip(encoded.start.tolist(), encoded.end.tolist(), strict=True))
    assert spans.count((2, 3)) == 4  # four bytes of one emoji


def test_accent_folded_into_its_letter_belongs_to_that_letters_tokens() -> None:
    encoded = TextEncoder(byte_level_tokenizer(normalizer=normalizers.NFC())).encode("e\u0301 x")
    assert (encoded.start[0], encoded.end[0]) == (0, 2)
    assert (encoded.start[1], encoded.end[1]) == (0, 2)


@pytest.mark.parametrize("text", HARD_TEXTS)
def test_ids_are_the_ones_the_tokenizer_gives_through_transformers(tokenizer: Tokenizer, text: str) -> None:
    encoded = TextEncoder(tokenizer).encode(text)
    public = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>")(text)["input_ids"]
    ours = [*encoded.prefix_ids, *encoded.token_ids.tolist()]
    assert ours == public[: len(ours)]
    assert set(public[len(ours) :]) <= {2}  # at most the EOS behind


def test_bos_is_kept_as_context_and_eos_is_dropped() -> None:
    encoded = TextEncoder(llama_tokenizer()).encode("two words")
    assert encoded.prefix_ids == (1,)
    assert 2 not in encoded.token_ids
    assert encoded.n_scorable == len(encoded.token_ids)


def test_without_bos_the_first_token_is_context_only() -> None:
    encoded = TextEncoder(byte_level_tokenizer()).encode("two words")
    assert encoded.prefix_ids == ()
    assert encoded.n_scorable == len(encoded.token_ids) - 1


@pytest.mark.parametrize("tokenizer_name", ["byte level", "llama"])
def test_control_tokens_in_a_text_are_read_as_letters(tokenizer_name: str) -> None:
    encoded = TextEncoder(TOKENIZERS[tokenizer_name]).encode("a <s> b </s> c")
    assert not {1, 2} & set(encoded.token_ids.tolist())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        (" \n\t ", "is empty"),
        ("a\0b", "NUL"),
        ("half \ud83d of an emoji", "half of a character"),
        ("a", "0 tokens that can be scored"),
    ],
)
def test_text_that_cannot_be_scored_is_refused_with_its_name_and_a_reason(text: str, said: str) -> None:
    with pytest.raises(AuditError, match=said) as refusal:
        TextEncoder(byte_level_tokenizer()).encode(text, "notes.txt")
    assert refusal.value.wrong.startswith("notes.txt")
    assert refusal.value.remedy


def test_truncation_and_padding_left_on_by_others_have_no_effect() -> None:
    tokenizer = byte_level_tokenizer()
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=50)
    text = "Nothing in the minutes said who had opened the window."
    assert len(TextEncoder(tokenizer).encode(text).token_ids) == len(
        TextEncoder(byte_level_tokenizer()).encode(text).token_ids
    )


@pytest.mark.parametrize("tokenizer_name", ["byte level", "llama"])
def test_token_text_is_the_letters_with_their_space_or_bytes_in_hex(tokenizer_name: str) -> None:
    encoder = TextEncoder(TOKENIZERS[tokenizer_name])
    encoded = encoder.encode("The window 😀")
    texts = [encoder.token_text(i) for i in encoded.token_ids.tolist()]
    assert "".join(t for t in texts if not t.startswith("0x")).strip() == "The window"
    assert " ".join(t for t in texts if t.startswith("0x")) == "0xF0 0x9F 0x98 0x80"


def test_token_beyond_the_vocabulary_is_named_as_unused() -> None:
    assert TextEncoder(byte_level_tokenizer()).token_text(100_000) == "[unused 100000]"
