"""From what a person asked for (a name, a folder, a file, a hub id) to one shared, loaded model."""

from __future__ import annotations

import gc
import logging
import re
import threading
from collections import OrderedDict
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel
from transformers.utils import logging as transformers_logging

from auditlib.core import AuditError, ModelIdentity, Settings
from auditlib.models.bundled import LANGUAGE_MODEL, bundled_file
from auditlib.models.encoding import TextEncoder
from auditlib.models.folders import check_model_folder
from auditlib.models.gguf import gguf_folder
from auditlib.models.hashes import check_sha256, weights_sha256
from auditlib.models.hub import hub_folder
from auditlib.models.local import LocalModel
from auditlib.models.request import AUTO, BUNDLED, ModelRequest

logger = logging.getLogger(__name__)
transformers_logging.set_verbosity_error()
transformers_logging.disable_progress_bar()

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
HUB_ID = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")
# A second model is for comparing; more would fill the memory of most machines.
MOST_LOADED = 2


class ModelShelf:
    """The models that this process holds: each loaded once, whoever asks, the least recently used dropped first."""

    def __init__(self, most_loaded: int = MOST_LOADED) -> None:
        self._models: OrderedDict[ModelRequest, LocalModel] = OrderedDict()
        self._touching = threading.Lock()
        self._loading = threading.Lock()
        self._most_loaded = most_loaded

    def open(self, request: ModelRequest, settings: Settings) -> LocalModel:
        """The loaded model; loading it first if need be. Raises `AuditError` where that cannot be done.

        A model that is there is given at once, also while another one is being loaded.
        """
        model = self._taken(request)
        if model is not None:
            return model
        with self._loading:
            model = self._taken(request)  # another caller may have loaded it while this one waited
            if model is None:
                self._make_room()
                model = load_model(request, settings)
                with self._touching:
                    self._models[request] = model
        return model

    def loaded(self) -> dict[ModelRequest, LocalModel]:
        """What is in memory now, the least recently used first."""
        with self._touching:
            return dict(self._models)

    def _taken(self, request: ModelRequest) -> LocalModel | None:
        with self._touching:
            if request in self._models:
                self._models.move_to_end(request)
            return self._models.get(request)

    def _make_room(self) -> None:
        with self._touching:
            while len(self._models) >= self._most_loaded:
                self._models.popitem(last=False)
        gc.collect()


SHELF = ModelShelf()


def available_devices() -> list[str]:
    """Devices of this machine, the best first."""
    devices = [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        devices.append("mps")
    return [*devices, "cpu"]


def available_dtypes(device: str) -> list[str]:
    """Data types that `device` computes in, the one to take by default first.

    On a CPU that is float32 (bfloat16 works there, many times slower); on an accelerator the 16-bit type
    that models are trained in.
    """
    if device.startswith("cuda"):
        return ["bfloat16", "float16", "float32"] if torch.cuda.is_bf16_supported() else ["float16", "float32"]
    if device == "mps":
        return ["float16", "bfloat16", "float32"]
    return ["float32", "bfloat16"]


def load_model(request: ModelRequest, settings: Settings) -> LocalModel:
    """A model from files, checked before, while and after they are read. Raises `AuditError`."""
    device = _chosen("device", request.device, available_devices())
    dtype = _chosen("data type", request.dtype, available_dtypes(device))
    folder, known_sha256, revision, name = _resolved(request, settings.home_folder)
    weights = check_model_folder(folder)
    digest = known_sha256 or weights_sha256(weights)
    check_sha256(digest, request.sha256, f"The weights of {name}")
    encoder = _load_encoder(folder, name)
    model = _load_weights(folder, name, sum(f.stat().st_size for f in weights), DTYPES[dtype], device)
    if encoder.vocabulary_size > model.get_input_embeddings().weight.shape[0]:
        raise AuditError(
            f"The tokenizer of {name} knows {encoder.vocabulary_size} tokens and its weights only "
            f"{model.get_input_embeddings().weight.shape[0]}, so they do not belong together.",
            "Fetch the model again from where it was published.",
        )
    identity = ModelIdentity(
        name=name,
        source=request.source,
        revision=revision,
        weights_sha256=digest,
        tokenizer_sha256=encoder.sha256,
        dtype=dtype,
        backend="transformers",
    )
    return LocalModel(model, encoder, identity, batch_tokens=settings.batch_tokens)


def _resolved(request: ModelRequest, home: Path) -> tuple[Path, str | None, str | None, str]:
    """Folder, weights' hash where it is known already, hub revision, and a name for people."""
    source = request.source.strip()
    if source == BUNDLED:
        folder, digest = gguf_folder(bundled_file(LANGUAGE_MODEL, home), home, LANGUAGE_MODEL.sha256)
        return folder, digest, None, LANGUAGE_MODEL.name
    path = Path(source).expanduser()
    if "\0" in source or not source:
        raise AuditError("No model was named.", "Give a folder, a .gguf file or a hub id (owner/name).")
    try:
        is_folder, is_file = path.is_dir(), path.is_file()
    except OSError as error:
        raise AuditError(
            f"{source[:80]}… cannot be opened ({error.strerror}).", "Check the path: the page's own machine is meant."
        ) from error
    if is_file and path.suffix.lower() != ".gguf":
        raise AuditError(
            f"{path.name} is a file, and the only single file that holds a whole model is a .gguf.",
            "Give the folder that the file lies in, or a .gguf file.",
        )
    if is_file or path.suffix.lower() == ".gguf":
        folder, digest = gguf_folder(path, home, request.sha256)
        return folder, digest, None, path.stem
    if is_folder or not HUB_ID.fullmatch(source):
        return path, None, None, path.resolve().name
    folder, revision = hub_folder(source, request.revision, home)
    return folder, None, revision, source


def _chosen(what: str, wanted: str, available: list[str]) -> str:
    if wanted == AUTO:
        return available[0]
    matching = [a for a in available if a == wanted or a.startswith(f"{wanted}:")]
    if not matching:
        raise AuditError(f"This machine does not offer the {what} {wanted[:40]!r}.", f"Choose {', '.join(available)}.")
    return matching[0]


def _load_encoder(folder: Path, name: str) -> TextEncoder:
    with _Explained(f"The tokenizer of {name}"):
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise AuditError(
            f"The tokenizer of {name} cannot say which characters a token stands for.",
            "Use a version of the model that has a tokenizer.json.",
        )
    return TextEncoder(backend)


def _load_weights(folder: Path, name: str, file_bytes: int, dtype: torch.dtype, device: str) -> PreTrainedModel:
    with _Explained(f"The model {name}"):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        _check_size(config, name, file_bytes)
        model, report = AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            dtype=dtype,
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
    # A weight that the files lack would be made up at random, and every score with it.
    missing = sorted(report["missing_keys"]) + sorted(str(k) for k in report["mismatched_keys"])
    if missing:
        raise AuditError(
            f"The weights of {name} do not fit its configuration: {len(missing)} are missing or of another "
            f"shape ({missing[0][:80]}).",
            "Fetch the model again; config.json and the weights must come from the same publisher.",
        )
    try:
        return model.to(device)
    except torch.OutOfMemoryError as error:
        raise AuditError(
            f"{name} does not fit into the memory of {device}.",
            "Choose a smaller data type or another device.",
        ) from error


def _check_size(config: object, name: str, file_bytes: int) -> None:
    """Refuses a configuration that asks for far more memory than the weight files could fill."""
    with torch.device("meta"):
        empty = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    parameters = sum(p.numel() for p in empty.parameters())
    if parameters > 16 * file_bytes:  # quantized files hold at the least half a byte a parameter
        raise AuditError(
            f"The configuration of {name} describes {parameters:,} parameters, far more than its weight files hold.",
            "Fetch the model again; config.json and the weights must come from the same publisher.",
        )


class _Explained:
    """Turns whatever a library throws over a stranger's files into an `AuditError` about `what`."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        # A panic in the tokenizers' Rust code arrives as a BaseException of its own.
        if error is None or isinstance(error, AuditError):
            return
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            return
        logger.warning("%s could not be loaded", self._what, exc_info=error)
        first_line = (str(error).strip().splitlines() or [""])[0][:200]
        raise AuditError(
            f"{self._what} could not be loaded ({type(error).__name__}: {first_line}).",
            "Fetch the model again from where it was published, or choose another.",
        ) from error
