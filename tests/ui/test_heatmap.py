"""What the browser is given: the whole text once, exact numbers, and nothing that could be markup."""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest

from auditlib.models.local import LocalModel
from auditlib.scoring import Reading, read_texts
from auditlib.ui.heatmap import difference_payload, heatmap_payload, standalone_html
from tests.tiny import HARD_TEXTS, byte_level_tokenizer, llama_config, llama_tokenizer, local_model

HOSTILE = "</script><script>alert(1)</script> <img src=x onerror=alert(2)> &lt;b&gt; {braces} {{more}}"


@pytest.fixture(scope="module", params=[byte_level_tokenizer, llama_tokenizer], ids=["byte level", "llama"])
def model(request: pytest.FixtureRequest) -> LocalModel:
    return local_model(llama_config(context=256), request.param())


def read(model: LocalModel, text: str) -> Reading:
    ((_, reading),) = read_texts(model, [text], top=5)
    return reading


def floats(packed: str) -> np.ndarray:
    return np.frombuffer(b64decode(packed), dtype="<f4")


def integers(packed: str) -> np.ndarray:
    return np.frombuffer(b64decode(packed), dtype="<i4")


@pytest.mark.parametrize("text", [*HARD_TEXTS, HOSTILE])
def test_cells_together_are_the_text_and_hold_every_token_once(model: LocalModel, text: str) -> None:
    payload = heatmap_payload(model, read(model, text))
    assert "".join(payload["cells"]) == text
    assert all(payload["cells"])
    first, count = integers(payload["first_token"]), integers(payload["token_count"])
    tokens = [token for a, n in zip(first, count, strict=True) for token in range(a, a + n)]
    assert tokens == list(range(len(floats(payload["logprob"]))))


def test_character_made_of_several_tokens_is_one_cell(model: LocalModel) -> None:
    payload = heatmap_payload(model, read(model, "a 😀 b and more"))
    place = next(i for i, cell in enumerate(payload["cells"]) if "😀" in cell)
    assert integers(payload["token_count"])[place] >= 4


def test_numbers_travel_exactly(model: LocalModel) -> None:
    reading = read(model, HARD_TEXTS[0])
    payload = heatmap_payload(model, reading)
    np.testing.assert_array_equal(floats(payload["logprob"]), reading.stats.logprob)
    np.testing.assert_array_equal(integers(payload["rank"]), reading.stats.rank)
    pieces = np.array(payload["pieces"], dtype=object)
    assert list(pieces[integers(payload["piece"])]) == model.token_text(reading.stats.token_ids.tolist())
    assert json.loads(json.dumps(payload)) == payload


def test_same_reading_has_the_same_id_and_another_text_another(model: LocalModel) -> None:
    ids = [heatmap_payload(model, read(model, text))["id"] for text in (HARD_TEXTS[5], HARD_TEXTS[5], HARD_TEXTS[0])]
    assert ids[0] == ids[1] != ids[2]


def test_standalone_page_holds_the_text_as_data_and_never_as_markup(model: LocalModel) -> None:
    page = standalone_html(heatmap_payload(model, read(model, HOSTILE)), model.identity, HOSTILE, "0" * 64, k=20)
    assert page.count("</script>") == 2
    assert page.count("<script") == 2
    assert "<img" not in page
    assert "http://" not in page
    assert "https://" not in page
    data = page.split('id="data">')[1].split("</script>")[0]
    assert "".join(json.loads(data)["cells"]) == HOSTILE


def test_a_difference_is_of_the_same_tokens_only() -> None:
    text = "The ferry was late, and nobody had counted the apples."
    models = [local_model(llama_config(context=256), make()) for make in (byte_level_tokenizer, llama_tokenizer)]
    one, other = (read(model, text) for model in models)
    assert difference_payload(models[0], one, other) is None
    shifted = replace(one, stats=replace(one.stats, logprob=one.stats.logprob - np.float32(1.0)))
    payload = difference_payload(models[0], shifted, one)
    assert payload is not None
    np.testing.assert_array_equal(floats(payload["against"]), one.stats.logprob)
    np.testing.assert_array_equal(floats(payload["logprob"]), shifted.stats.logprob)
    assert payload["colour_by"] == "difference"
    assert payload["id"] != heatmap_payload(models[0], shifted)["id"]
