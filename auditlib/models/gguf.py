"""GGUF files, turned once into a safetensors folder.

Transformers unpacks a GGUF and rebuilds its tokenizer in 20 to 30 seconds, each time; the folder made here
loads in about one. It is kept under the hash of the file it came from.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import tempfile
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from auditlib.core import AuditError, library_versions
from auditlib.models.fitting import refuse_ill_fitting
from auditlib.models.folders import read_json
from auditlib.models.hashes import check_sha256, file_sha256

GGUF_MAGIC = b"GGUF"
MANIFEST = "converted.json"


def gguf_folder(file: Path, home: Path, expected_sha256: str | None = None) -> tuple[Path, str]:
    """The folder that stands for `file`, made now if need be, and the file's SHA-256.

    A file with another hash than the expected one is refused before anything in it is read.
    """
    try:
        with file.open("rb") as stream:
            magic = stream.read(len(GGUF_MAGIC))
    except OSError as error:
        raise AuditError(
            f"There is no readable file {file}.", "Check the path: the page's own machine is meant."
        ) from error
    if magic != GGUF_MAGIC:
        raise AuditError(
            f"{file} is not a GGUF file, whatever its name says.",
            "Fetch it again from where it was published.",
        )
    digest = file_sha256(file)
    check_sha256(digest, expected_sha256, f"The file {file.name}")
    folder = home / "models" / f"gguf-{digest[:24]}"
    if not is_converted(folder, digest):
        _convert(file, digest, folder)
    return folder, digest


def is_converted(folder: Path, gguf_sha256: str) -> bool:
    """Whether `folder` holds a finished conversion of that file, as large as it was when made."""
    if not (folder / MANIFEST).is_file():
        return False
    try:
        manifest = read_json(folder / MANIFEST)
        return manifest.get("gguf_sha256") == gguf_sha256 and all(
            (folder / name).stat().st_size == size for name, size in manifest["bytes"].items()
        )
    except (AuditError, OSError, KeyError, AttributeError):
        return False


def _convert(file: Path, digest: str, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="converting-", dir=folder.parent))
    try:
        _write_folder(file, digest, work)
        # A folder that is there but not whole is replaced; one that another process has just made is kept.
        if folder.exists() and not is_converted(folder, digest):
            shutil.rmtree(folder)
        if not folder.exists():
            os.replace(work, folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _write_folder(file: Path, digest: str, folder: Path) -> None:
    try:
        model, report = AutoModelForCausalLM.from_pretrained(
            file.parent,
            gguf_file=file.name,
            dtype=torch.float32,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
        refuse_ill_fitting(report, file.name)
        tokenizer = AutoTokenizer.from_pretrained(
            file.parent, gguf_file=file.name, local_files_only=True, trust_remote_code=False
        )
        # The weights are plain float32 now; left in, these would mark the copy as quantized and unsaveable.
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.hf_quantizer = None
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        del model
        gc.collect()
    except AuditError:
        raise
    except OSError as error:
        if error.errno is not None:
            raise AuditError(
                f"{file.name} could not be converted: {error.strerror}.",
                f"See that {folder.parent} has room for twice the model's size and can be written.",
            ) from error
        raise _unreadable(file, error) from error
    except Exception as error:
        raise _unreadable(file, error) from error
    manifest = {
        "gguf_sha256": digest,
        "bytes": {f.name: f.stat().st_size for f in sorted(folder.iterdir())},
        "versions": library_versions(),
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1))


def _unreadable(file: Path, error: Exception) -> AuditError:
    return AuditError(
        f"{file.name} could not be read as a GGUF model ({type(error).__name__}: {str(error)[:160]}).",
        "Fetch the file again, or use the model's safetensors version.",
    )
