"""A tokenizer out of a model folder, with no weights: what reading texts for a served model needs."""

from __future__ import annotations

from pathlib import Path

from transformers import AutoTokenizer

from auditlib.core import AuditError
from auditlib.models.encoding import TextEncoder
from auditlib.models.failures import explained


def load_encoder(folder: Path, name: str) -> TextEncoder:
    """The tokenizer of a model folder. Raises `AuditError` where it cannot be loaded or cannot place its tokens."""
    with explained(f"The tokenizer of {name} could not be loaded"):
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is not None:
            return TextEncoder(backend)
    raise AuditError(
        f"The tokenizer of {name} cannot say which characters a token stands for.",
        "Use a version of the model that has a tokenizer.json.",
    )
