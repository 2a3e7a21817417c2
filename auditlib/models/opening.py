"""From what a person asked for (a name, a folder, a file, a hub id) to one shared, loaded model."""

from __future__ import annotations

import gc
import json
import os
import re
import threading
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel
from transformers.utils import logging as transformers_logging

from auditlib.core import AuditError, ModelIdentity, Settings
from auditlib.models.adapters import AdapterFiles, find_adapter, with_adapter
from auditlib.models.bundled import LANGUAGE_MODEL, bundled_file
from auditlib.models.encoding import TextEncoder
from auditlib.models.endpoint.address import checked_address
from auditlib.models.endpoint.connecting import Connection, connect, examine
from auditlib.models.endpoint.model import EndpointModel
from auditlib.models.failures import explained
from auditlib.models.fitting import check_size, refuse_ill_fitting
from auditlib.models.folders import check_model_folder, read_json, stored_elements
from auditlib.models.gguf import gguf_folder
from auditlib.models.hashes import check_sha256, weights_sha256
from auditlib.models.hub import hub_folder
from auditlib.models.local import LocalModel
from auditlib.models.placement import (
    chosen_placement,
    loading_options,
    memory_estimate,
    refuse_what_cannot_fit,
)
from auditlib.models.request import BUNDLED, HUB_PREFIX, EndpointRequest, ModelRequest
from auditlib.models.tokenizer_folder import load_encoder

transformers_logging.set_verbosity_error()
transformers_logging.disable_progress_bar()

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
ABOUT_THE_FILE = ("transformers_version", "_name_or_path", "torch_dtype", "dtype", "use_cache")
# A second model is for comparing; more would fill the memory of most machines.
MOST_LOADED = 2


HeldModel = LocalModel | EndpointModel


class ModelShelf:
    """The models that this process holds: each loaded once, whoever asks, the least recently used dropped first."""

    def __init__(self, most_loaded: int = MOST_LOADED) -> None:
        self._models: OrderedDict[ModelRequest, HeldModel] = OrderedDict()
        self._touching = threading.Lock()
        self._loading = threading.Lock()
        self._connecting = threading.Lock()
        self._most_loaded = most_loaded

    def open(self, request: ModelRequest, settings: Settings) -> HeldModel:
        """The loaded model; loading it first if need be. Raises `AuditError` where that cannot be done.

        A model that is there is given at once, also while another one is being loaded; and nothing is dropped
        for a request that turns out to be mistaken.
        """
        model = self._taken(request)
        if model is not None:
            return model
        if request.endpoint is not None:
            return self._connected(request, request.endpoint, settings)
        files = find_files(request, settings)
        with self._loading:
            model = self._taken(request)  # another caller may have loaded it while this one waited
            if model is None:
                self._make_room()
                model = load_files(files, settings)
                with self._touching:
                    self._models[request] = model
        return model

    def examine(self, request: EndpointRequest, settings: Settings, local: ModelRequest | None = None) -> Connection:
        """Connects anew, with every check; a model that passes takes the place of the one that was connected before.

        `local` is a copy of the same model to compare with. Raises `AuditError` where that cannot be loaded.
        """
        copy = None if local is None else self.open(local, settings)
        with self._connecting:
            connection = examine(request, settings, local=copy)
            with self._touching:
                self._models.pop(ModelRequest(endpoint=request), None)
                if connection.model is not None:
                    self._models[ModelRequest(endpoint=request)] = connection.model
        return connection

    def disconnect(self, base_url: str) -> None:
        """Forgets every model behind this address: the key that they were connected with is not the one now."""
        url = checked_address(base_url).url
        with self._touching:
            for request in list(self._models):
                if request.endpoint is not None and checked_address(request.endpoint.base_url).url == url:
                    del self._models[request]

    def loaded(self) -> dict[ModelRequest, HeldModel]:
        """What is in memory now, the least recently used first."""
        with self._touching:
            return dict(self._models)

    def drop(self, request: ModelRequest) -> bool:
        """Forgets a model; its memory is free when nobody reads with it any more. False where it was not there."""
        with self._touching:
            model = self._models.pop(request, None)
        was_there = model is not None
        del model
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return was_there

    def _connected(self, request: ModelRequest, endpoint: EndpointRequest, settings: Settings) -> HeldModel:
        with self._connecting:
            model = self._taken(request)
            if model is None:
                model = connect(endpoint, settings)
                with self._touching:
                    self._models[request] = model
        return model

    def _taken(self, request: ModelRequest) -> HeldModel | None:
        with self._touching:
            if request in self._models:
                self._models.move_to_end(request)
            return self._models.get(request)

    def _make_room(self) -> None:
        with self._touching:
            # A served model takes no memory here.
            own = [request for request, model in self._models.items() if isinstance(model, LocalModel)]
            for request in own[: max(0, len(own) - self._most_loaded + 1)]:
                del self._models[request]
        gc.collect()


SHELF = ModelShelf()


@dataclass(frozen=True)
class ModelFiles:
    """A checked folder, ready to be loaded: what was asked for, and where and how it will run."""

    folder: Path
    weights: tuple[Path, ...]
    weights_sha256: str
    name: str
    source: str
    revision: str | None
    device: str
    dtype: str
    adapter: AdapterFiles | None = None
    quantization: str | None = None


def load_model(request: ModelRequest, settings: Settings) -> LocalModel:
    """A model of the caller's own on this machine, not shared. Raises `AuditError`."""
    return load_files(find_files(request, settings), settings)


def find_files(request: ModelRequest, settings: Settings) -> ModelFiles:
    """The request's files, brought here and checked, but not loaded yet. Raises `AuditError`."""
    device, dtype = chosen_placement(request.device, request.dtype, request.quantization, bool(request.adapter))
    folder, known_sha256, revision, name = _resolved(request, settings.home_folder)
    weights = check_model_folder(folder)
    refuse_what_cannot_fit(memory_estimate(weights, device, dtype, request.quantization), name, device)
    digest = known_sha256 or weights_sha256(weights)
    check_sha256(digest, request.sha256, f"The weights of {name}")
    adapter = find_adapter(expanded(request.adapter)) if request.adapter else None
    return ModelFiles(
        folder, tuple(weights), digest, name, request.source, revision, device, dtype, adapter, request.quantization
    )


def load_files(files: ModelFiles, settings: Settings) -> LocalModel:
    """A model from checked files; what only loading can tell is checked now. Raises `AuditError`."""
    model, encoder = load_parts(files)
    if files.adapter is not None:
        model = with_adapter(model, files.adapter, files.name)
    identity = ModelIdentity(
        name=files.name if files.adapter is None else f"{files.name} + {files.adapter.name}",
        source=files.source,
        revision=files.revision,
        weights_sha256=files.weights_sha256,
        config_sha256=_config_sha256(files.folder),
        tokenizer_sha256=encoder.sha256,
        dtype=files.dtype if files.quantization is None else f"{files.quantization} in {files.dtype}",
        backend="transformers",
        adapter=files.adapter.sha256 if files.adapter is not None else None,
    )
    return LocalModel(model, encoder, identity, batch_tokens=settings.batch_tokens)


def load_parts(files: ModelFiles) -> tuple[PreTrainedModel, TextEncoder]:
    """The base model and its tokenizer by themselves, seen to belong together. Raises `AuditError`."""
    name = files.name
    encoder = load_encoder(files.folder, name)
    model = _load_weights(files)
    n_known = model.get_input_embeddings().weight.shape[0]
    if encoder.vocabulary_size > n_known:
        raise AuditError(
            f"The tokenizer of {name} knows {encoder.vocabulary_size} tokens and its weights only {n_known}, so they "
            "do not belong together.",
            "Fetch the model again from where it was published.",
        )
    return model, encoder


def _config_sha256(folder: Path) -> str:
    """Hash of what the configuration says of the model, whatever its layout and the library that wrote it."""
    config = read_json(folder / "config.json")
    said = {name: value for name, value in config.items() if name not in ABOUT_THE_FILE}
    return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def expanded(path: str) -> Path:
    """`path` with `~` replaced where there is such a home; where there is none, the letters stay."""
    return Path(os.path.expanduser(path))


def model_folder(request: ModelRequest, settings: Settings) -> tuple[Path, str]:
    """The folder of a request's files, brought here but not checked, and a name for people. Raises `AuditError`."""
    folder, _, _, name = _resolved(request, settings.home_folder)
    return folder, name


def _resolved(request: ModelRequest, home: Path) -> tuple[Path, str | None, str | None, str]:
    """Folder, weights' hash where it is known already, hub revision, and a name for people."""
    source = request.source.strip()
    if source == BUNDLED:
        folder, digest = gguf_folder(bundled_file(LANGUAGE_MODEL, home), home, LANGUAGE_MODEL.sha256)
        return folder, digest, None, LANGUAGE_MODEL.name
    if source.startswith(HUB_PREFIX):
        hub_id = source.removeprefix(HUB_PREFIX)
        folder, revision = hub_folder(hub_id, request.revision, home)
        return folder, None, revision, hub_id
    if "\0" in source or not source:
        raise AuditError("No model was named.", "Give a folder, a .gguf file or a hub id (owner/name).")
    path = expanded(source)
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


def _load_weights(files: ModelFiles) -> PreTrainedModel:
    options = loading_options(files.device, files.dtype, files.quantization)
    try:
        with explained(f"The model {files.name} could not be loaded"):
            config = AutoConfig.from_pretrained(files.folder, trust_remote_code=False, local_files_only=True)
            config.return_dict = True  # what is read of the outputs has names
            check_size(config, files.name, stored_elements(list(files.weights)))
            model, report = AutoModelForCausalLM.from_pretrained(
                files.folder,
                config=config,
                **options,
                use_safetensors=True,
                trust_remote_code=False,
                local_files_only=True,
                output_loading_info=True,
            )
            refuse_ill_fitting(report, files.name)
            placed: PreTrainedModel = model if "device_map" in options else model.to(files.device)
            return placed
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        raise AuditError(
            f"{files.name} does not fit into the memory of {files.device}.",
            "Choose a smaller data type or another device.",
        ) from error
