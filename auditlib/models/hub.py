"""A model from the Hugging Face hub, brought to this machine: safetensors, configuration and tokenizer only."""

from __future__ import annotations

from pathlib import Path

from httpx2 import HTTPError
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from auditlib.core import AuditError
from auditlib.models.folders import PICKLED_SUFFIXES

WANTED = ["*.json", "README.md", "*.safetensors", "tokenizer.model", "*.tiktoken", "merges.txt", "vocab.txt"]
ANSWER_TIMEOUT_SECONDS = 15


def hub_folder(hub_id: str, revision: str | None, home: Path) -> tuple[Path, str]:
    """The folder of the model's files and the commit they are of.

    Without `revision` the newest commit is taken, and where the hub cannot be reached the one fetched before.
    Raises `AuditError` before fetching anything where the model has no safetensors weights.
    """
    cache = home / "models" / "hub"
    try:
        info = HfApi().model_info(hub_id, revision=revision, timeout=ANSWER_TIMEOUT_SECONDS)
        _check_files(hub_id, [sibling.rfilename for sibling in info.siblings or []])
        # Asked for by its own name, not by its commit, so that the same name finds it again without the hub.
        folder = Path(snapshot_download(hub_id, revision=revision, cache_dir=cache, allow_patterns=WANTED))
        return folder, folder.name
    except (RepositoryNotFoundError, HFValidationError, GatedRepoError, RevisionNotFoundError) as error:
        at = f" at revision {revision!r}" if revision else ""
        raise AuditError(
            f"The hub has no model {hub_id!r}{at} that may be read from here.",
            "Check the name; for a gated model accept its terms on the hub and set HF_TOKEN, then try again.",
        ) from error
    except (HTTPError, OSError, ValueError, TypeError, KeyError) as error:  # away, or answering nonsense
        return _fetched_before(hub_id, revision, cache, error)


def _fetched_before(hub_id: str, revision: str | None, cache: Path, error: Exception) -> tuple[Path, str]:
    try:
        folder = Path(
            snapshot_download(hub_id, revision=revision, cache_dir=cache, allow_patterns=WANTED, local_files_only=True)
        )
    except (LocalEntryNotFoundError, OSError, ValueError):
        raise AuditError(
            f"The model hub cannot be reached or does not answer as it should, and {hub_id} was not fetched before.",
            "Check the connection, or give a folder or .gguf file on this machine, or use the bundled model.",
        ) from error
    return folder, folder.name


def _check_files(hub_id: str, names: list[str]) -> None:
    if any(name.endswith(".safetensors") for name in names):
        return
    if any(name.endswith(PICKLED_SUFFIXES) for name in names):
        raise AuditError(
            f"{hub_id} has its weights pickled only, and pickled files can run code when opened.",
            "Use a safetensors or GGUF version of this model; most publishers offer one.",
        )
    raise AuditError(f"{hub_id} has no weights in safetensors form.", "Choose another model.")
