"""The few types, settings and errors that every room shares. Imports no other room.

Text travels as `Document`, a model's reading of it as `TokenStats`, and whatever a person can do wrong
as `AuditError`. The arrays are numpy and never change once made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict


class AuditError(Exception):
    """Something a person can cause and can mend: one sentence of what is wrong, one of what to do.

    Pages and the command line show exactly these two sentences and never a traceback.
    """

    def __init__(self, wrong: str, remedy: str) -> None:
        super().__init__(f"{wrong} {remedy}")
        self.wrong = wrong
        self.remedy = remedy


class Settings(BaseSettings):
    """What the environment can set, each as `AUDIT_<NAME>`."""

    model_config = SettingsConfigDict(env_prefix="AUDIT_", extra="ignore")

    home: Path = Field(
        default=Path("~/.local/share/pretraining-audit"),
        description="Folder for everything that lasts: models made ready, files, runs and the database.",
    )
    database_url: str | None = Field(
        default=None,
        repr=False,  # it may hold a password
        description="A PostgreSQL database (postgresql://...) in place of the SQLite one in `home`.",
    )
    cache_bytes: int = Field(
        default=20_000_000_000, ge=0, description="Most that the cache of token statistics may take, in bytes."
    )
    inspect_characters: int = Field(
        default=300_000, ge=1, description="Longest text that the Inspect page reads in one go."
    )
    browser: Path | None = Field(
        default=None, description="Chrome, Chromium or Edge that prints reports to PDF; by default one is looked for."
    )
    batch_tokens: int | None = Field(
        default=None, ge=1, description="Tokens in one forward pass; by default what suits the device."
    )
    forbid_private_network: bool = Field(
        default=False, description="Whether model servers on this machine or its network are refused."
    )
    endpoint_seconds: float = Field(
        default=60.0, gt=0, le=3600, description="Longest that one answer of a model server may take, in seconds."
    )

    @property
    def home_folder(self) -> Path:
        """`home` as an absolute path, with `~` replaced."""
        return self.home.expanduser().absolute()


def settings() -> Settings:
    """The settings as the environment has them now. Raises `AuditError` where one makes no sense."""
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = "AUDIT_" + "_".join(str(part) for part in first["loc"]).upper()
        raise AuditError(f"The setting {name} makes no sense: {first['msg']}.", "Correct or remove it.") from error


class Capability(StrEnum):
    """What a model backend can give. A score that needs more than it has is shown as unavailable."""

    TOKEN_LOGPROBS = "token log-probabilities"
    FULL_DISTRIBUTION = "the full distribution over the vocabulary"
    RANK = "token ranks"
    ALTERNATIVES = "likeliest alternatives"
    GENERATE = "text generation"
    TRAIN = "fine-tuning"


@dataclass(frozen=True)
class ModelIdentity:
    """Exactly which model gave a result. Two results may be compared only where these agree."""

    name: str
    source: str  # what was asked for: "bundled", a folder, a GGUF file or a hub id
    revision: str | None  # the hub commit; None for what lies on this machine
    weights_sha256: str
    config_sha256: str
    tokenizer_sha256: str
    dtype: str
    backend: str
    adapter: str | None = None

    def as_dict(self) -> dict[str, str | None]:
        """Plain fields for JSON."""
        return asdict(self)

    @property
    def digest(self) -> str:
        """SHA-256 over what decides the numbers: not what the model is called nor where it was found."""
        numbers = {k: v for k, v in self.as_dict().items() if k not in ("name", "source", "revision")}
        return sha256(json.dumps(numbers, sort_keys=True).encode()).hexdigest()


class Label(StrEnum):
    """Whether a text is known to have been in the training data."""

    MEMBER = "member"
    NON_MEMBER = "non-member"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Edit:
    """What one cleaning step did in one place: characters start..end of the original became `text`."""

    step: str
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Document:
    """One text as a person brought it. `id` is the SHA-256 of `text` in UTF-8.

    raw    the text before cleaning; None where cleaning changed nothing
    edits  in order and not overlapping; put into `raw` they give `text`
    steps  the cleaning steps that were switched on, in the order they ran
    group  what belongs together (a book): snippets of one group are not independent of each other
    author, year  as the file or a catalogue says; empty and None where neither does
    """

    id: str
    title: str
    text: str
    media_type: str
    source_name: str
    warnings: tuple[str, ...] = ()
    raw: str | None = None
    edits: tuple[Edit, ...] = ()
    steps: tuple[str, ...] = ()
    group: str = ""
    label: Label = Label.UNKNOWN
    author: str = ""
    year: int | None = None

    @property
    def original(self) -> str:
        """The text as it was read, before cleaning."""
        return self.text if self.raw is None else self.raw


@dataclass(frozen=True)
class Snippet:
    """A piece of a document that is scored: `text` is the document's text from character `start` on.

    `first_word` counts whitespace-separated words of the document from 0; `word_count` is how many of them
    the snippet has. `id` is the SHA-256 of the document's id and these two numbers.
    """

    id: str
    document_id: str
    group: str
    text: str
    start: int
    first_word: int
    word_count: int
    label: Label = Label.UNKNOWN


@dataclass(frozen=True)
class Alternatives:
    """The likeliest tokens at each scored position, best first. `top` is how many were asked for."""

    ids: NDArray[np.int32]  # (n, top)
    logprob: NDArray[np.float32]  # (n, top), nats


@dataclass(frozen=True)
class TokenStats:
    """One text under one model. n scored tokens, in reading order; the definitions are below:

    logprob   log p(x_i | x_<i), nats
    expected  sum over v of p(v) log p(v): minus the entropy, nats; None where the backend cannot give it
    variance  variance of log p(v) under p, nats squared, at least 1e-6; None likewise
    rank      1 + how many tokens are strictly more likely; None likewise
    start     first character of the token in the text as given
    end       one past its last character; tokens that share one character share its span
    """

    token_ids: NDArray[np.int32]  # (n,)
    start: NDArray[np.int32]  # (n,)
    end: NDArray[np.int32]  # (n,)
    logprob: NDArray[np.float32]  # (n,)
    expected: NDArray[np.float32] | None  # (n,)
    variance: NDArray[np.float32] | None  # (n,)
    rank: NDArray[np.int32] | None  # (n,)
    alternatives: Alternatives | None = None

    @property
    def n_tokens(self) -> int:
        """How many tokens were scored."""
        return len(self.token_ids)


Progress = Callable[[int, int], None]
"""Called with tokens done and tokens in all, while a model reads."""


def text_names(n_texts: int, what: str = "text") -> list[str]:
    """What errors call texts that were given no names of their own."""
    if n_texts == 1:
        return [f"The {what}"]
    return [f"{what.capitalize()} {i + 1} of {n_texts}" for i in range(n_texts)]


class TargetModel(Protocol):
    """A model under audit, wherever it runs."""

    @property
    def identity(self) -> ModelIdentity:
        """Exactly which model this is."""
        ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What it can give."""
        ...

    @property
    def context_length(self) -> int:
        """Tokens that one window can hold."""
        ...

    @property
    def vocabulary_size(self) -> int:
        """Tokens that the model chooses among: the largest rank there is."""
        ...

    def token_stats(
        self,
        texts: Sequence[str],
        top: int = 0,
        progress: Progress | None = None,
        names: Sequence[str] | None = None,
    ) -> Iterator[tuple[int, TokenStats]]:
        """Each text's index with its statistics, in whatever order is fastest.

        `top` asks for that many likeliest alternatives at each position. Raises `AuditError` for a text that
        cannot be scored, naming it by `names`, or by its place where none are given.
        """
        ...

    def tokens_to_read(self, text: str, name: str = "The text") -> int:
        """Tokens that scoring `text` passes through the model; `AuditError` where the text cannot be scored."""
        ...

    def token_text(self, token_ids: Sequence[int]) -> list[str]:
        """What each token stands for, readable alone (bytes of a split character as hex)."""
        ...


@lru_cache(maxsize=1)
def library_versions() -> dict[str, str]:
    """Versions that decide the numbers, for results to carry."""
    from importlib.metadata import version

    from auditlib import __version__

    names = ("torch", "transformers", "tokenizers", "peft", "numpy", "scipy", "scikit-learn")
    return {"pretraining-audit": __version__} | {name: version(name) for name in names}
