"""GGUF files: converted once, checked, and refused where they are not what they say."""

from __future__ import annotations

import json
from pathlib import Path

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
    with pytest.raises(AuditError, match="gguf is not the one expected"):
        load_model(ModelRequest(), Settings())
