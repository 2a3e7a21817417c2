"""GGUF files: converted once, checked, and refused where they are not what they say."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from auditlib.core import AuditError, Settings
from auditlib.models.bundled import LANGUAGE_MODEL, bundled_file, bundled_folder
from auditlib.models.gguf import MANIFEST, gguf_folder, is_converted
from auditlib.models.local import LocalModel
from auditlib.models.opening import load_model
from auditlib.models.request import ModelRequest


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a GGUF file"),
        (b"PK\x03\x04 a zip", "not a GGUF file"),
        (b"GGUF", "could not be read as a GGUF model"),
        (b"GGUF\x03\0\0\0" + b"\xff" * 64, "could not be read as a GGUF model"),
    ],
)
def test_file_that_is_no_gguf_model_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    with pytest.raises(AuditError, match=said):
        gguf_folder(file, tmp_path / "home")
    assert not list((tmp_path / "home").rglob("*.safetensors"))


@pytest.mark.bundled
def test_truncated_gguf_is_refused_and_nothing_half_made_stays(real_settings: Settings, tmp_path: Path) -> None:
    whole = bundled_file(LANGUAGE_MODEL, real_settings.home_folder)
    with whole.open("rb") as stream:
        (tmp_path / "cut.gguf").write_bytes(stream.read(3_000_000))
    with pytest.raises(AuditError, match="could not be read as a GGUF model"):
        gguf_folder(tmp_path / "cut.gguf", tmp_path / "home")
    assert list((tmp_path / "home" / "models").iterdir()) == []


@pytest.mark.bundled
def test_gguf_is_converted_on_a_machine_that_never_saw_it(
    real_settings: Settings, bundled_model: LocalModel, tmp_path: Path
) -> None:
    file = bundled_file(LANGUAGE_MODEL, real_settings.home_folder)
    model = load_model(ModelRequest(source=str(file)), Settings(home=tmp_path))
    text = "The ferry was late, and nobody on the quay was surprised."
    ((_, found),) = model.token_stats([text])
    ((_, known),) = bundled_model.token_stats([text])
    np.testing.assert_allclose(found.logprob, known.logprob, atol=1e-4)
    assert model.identity.weights_sha256 == LANGUAGE_MODEL.sha256


@pytest.mark.bundled
def test_gguf_that_claims_a_layer_it_lacks_is_refused(real_settings: Settings, tmp_path: Path) -> None:
    """Its weights would be made up at random, and saved as if they were the file's own."""
    data = bytearray(bundled_file(LANGUAGE_MODEL, real_settings.home_folder).read_bytes())
    key = b"llama.block_count"
    place = data.index(key) + len(key) + 4  # the value follows the key's name and its type
    assert struct.unpack_from("<I", data, place) == (30,)
    struct.pack_into("<I", data, place, 31)
    (tmp_path / "31.gguf").write_bytes(data)
    with pytest.raises(AuditError, match="do not fit its configuration"):
        gguf_folder(tmp_path / "31.gguf", tmp_path / "home")
    assert list((tmp_path / "home" / "models").iterdir()) == []


@pytest.mark.bundled
def test_bundled_gguf_is_not_converted_twice(real_settings: Settings, bundled_model: LocalModel) -> None:
    home = real_settings.home_folder
    file = bundled_file(LANGUAGE_MODEL, home)
    folder, digest = gguf_folder(file, home)
    made = (folder / MANIFEST).stat().st_mtime_ns
    assert gguf_folder(file, home) == (folder, LANGUAGE_MODEL.sha256)
    assert (folder / MANIFEST).stat().st_mtime_ns == made
    assert digest == bundled_model.identity.weights_sha256


def test_conversion_that_lost_a_byte_is_not_taken_for_whole(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"12345")
    manifest = {"gguf_sha256": "abc", "bytes": {"model.safetensors": 5}}
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    assert is_converted(tmp_path, "abc")
    assert not is_converted(tmp_path, "abd")
    (tmp_path / "model.safetensors").write_bytes(b"1234")
    assert not is_converted(tmp_path, "abc")


def test_bundled_model_whose_file_was_changed_is_refused(empty_home: Path) -> None:
    folder = bundled_folder(LANGUAGE_MODEL, empty_home)
    folder.mkdir(parents=True)
    (folder / LANGUAGE_MODEL.checked).write_bytes(b"GGUF and something else")
    with pytest.raises(AuditError, match="gguf: not what was expected"):
        load_model(ModelRequest(), Settings())
