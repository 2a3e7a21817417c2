"""An evidence package read again: what its run was made with, and the numbers that it names.

A package is a stranger's file. It is verified before anything in it is believed, and nothing in it is a path, a command
or a name that is followed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from auditlib.audits.calibration import checked_alpha, checked_rule
from auditlib.core import AuditError, Label, ModelIdentity
from auditlib.documents.names import display_name
from auditlib.evidence.thresholds import Rule
from auditlib.reports.archive import unpack, verify
from auditlib.reports.calibration_package import KIND
from auditlib.reports.package import FORMAT, InputText
from auditlib.scoring import SCORES, checked_k

MOST_TEXTS = 1_000_000
LARGEST_SEED = 2**31 - 1
MADE_ANEW = "Ask for a package that was made anew."


@dataclass(frozen=True)
class Settings:
    """What a calibration was asked for, as parameters.json has it; what else stands there is for people."""

    __pydantic_config__ = ConfigDict(extra="ignore", allow_inf_nan=False)

    name: str
    k: float
    alpha: float
    rule: str | float
    seed: int
    scores: tuple[str, ...]
    members_sha256: str
    non_members_sha256: str


@dataclass(frozen=True)
class PackagedRun:
    """A calibration as its package describes it.

    numbers  by name, as `numbers_to_compare` gave them; None where there was none
    inputs   in the order in which they were examined, each with its text where the package carries it
    steps    the sets of cleaning steps that documents went through, where that is known
    """

    made: str
    model: ModelIdentity
    settings: Settings
    rule: Rule
    numbers: dict[str, float | None]
    inputs: tuple[InputText, ...]
    steps: tuple[tuple[str, ...], ...]
    versions: dict[str, str]


def read_package(package: Path) -> PackagedRun:
    """The run of a package. Raises `AuditError` where the package is none, was altered, is of a newer program or of
    another kind, or contradicts itself.
    """
    if problems := verify(package):
        raise AuditError(
            f"“{display_name(package.name)}” is not as it was made, so it is not repeated: {problems[0]}",
            "Ask for the package again; “python -m auditlib verify” names all that was changed.",
        )
    files = unpack(package)
    shown = display_name(package.name)
    run = _json(files, "run.json", shown)
    _refuse_other_format(run, shown)
    parameters = _json(files, "parameters.json", shown)
    try:
        settings = _SETTINGS.validate_python(parameters)
        return _checked(
            PackagedRun(
                made=str(run["made"])[:40],
                model=_IDENTITY.validate_python(run["identities"]["target"]),
                settings=settings,
                rule=checked_rule(settings.rule),
                numbers=_NUMBERS.validate_python(run["numbers"]),
                inputs=_with_texts(_INPUTS.validate_python(_json(files, "inputs.json", shown)), files, shown),
                steps=_STEPS.validate_python(parameters.get("preparation", {}).get("steps", [])),
                versions=_VERSIONS.validate_python(_json(files, "versions.json", shown)),
            )
        )
    except (ValidationError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise AuditError(
            f"“{shown}” does not say what a calibration's package says ({_complaint(error)}).", MADE_ANEW
        ) from error


_LAX = ConfigDict(allow_inf_nan=False)
_SETTINGS = TypeAdapter(Settings)
_IDENTITY = TypeAdapter(ModelIdentity)
_NUMBERS = TypeAdapter(dict[str, float | None], config=_LAX)
_INPUTS = TypeAdapter(tuple[InputText, ...])
_STEPS = TypeAdapter(tuple[tuple[str, ...], ...])
_VERSIONS = TypeAdapter(dict[str, str])


def _refuse_other_format(run: Any, shown: str) -> None:
    """Whatever else a newer package says, this program may misread it."""
    if not isinstance(run, dict):
        raise AuditError(f"“{shown}” does not say what was run.", MADE_ANEW)
    made_for = run.get("format", 1)
    if not isinstance(made_for, int) or made_for > FORMAT:
        raise AuditError(
            f"“{shown}” was written by a newer version of this program (format {str(made_for)[:20]}, known here: "
            f"{FORMAT}).",
            "Update this program.",
        )
    if run.get("kind") != KIND:
        raise AuditError(
            f"“{shown}” is the package of another kind of run ({str(run.get('kind'))[:40]!r}), which cannot be "
            "repeated by its package.",
            f"Bring the package of a {KIND}.",
        )


def _with_texts(inputs: tuple[InputText, ...], files: dict[str, bytes], shown: str) -> tuple[InputText, ...]:
    """The inputs, each with its text where the package has it and it is the one that was examined."""
    texts: dict[str, str] = {}
    for line in files.get("texts.jsonl", b"").splitlines():
        text = _parsed(line, f"{shown}/texts.jsonl")["text"]
        texts[text_sha256(text)] = text
    return tuple(replace(one, text=texts.get(one.sha256)) for one in inputs)


def _checked(run: PackagedRun) -> PackagedRun:
    """The run, or `ValueError` where its parts do not fit each other, or are nothing that a run has."""
    settings = run.settings
    checked_k(settings.k)
    checked_alpha(settings.alpha)
    if not settings.scores or not set(settings.scores) <= set(SCORES):
        raise ValueError("its scores are not those of this version")
    if not 0 <= settings.seed <= LARGEST_SEED:
        raise ValueError("its seed is no seed")
    if not run.numbers:
        raise ValueError("it names no numbers")
    if not 0 < len(run.inputs) <= MOST_TEXTS:
        raise ValueError("it names no texts")
    for one in run.inputs:
        if one.label not in (Label.MEMBER, Label.NON_MEMBER) or one.n_words < 1 or one.first_word < 0:
            raise ValueError("it names texts that cannot have been examined")
    for label, said in ((Label.MEMBER, settings.members_sha256), (Label.NON_MEMBER, settings.non_members_sha256)):
        own = sorted(one.sha256 for one in run.inputs if one.label == label)
        if sha256("\n".join(own).encode()).hexdigest() != said:
            raise ValueError(f"its {label.value}s are not those whose hash it names")
    return run


def text_sha256(text: str) -> str:
    """What a package calls a text by."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def _json(files: dict[str, bytes], name: str, shown: str) -> Any:
    if name not in files:
        raise AuditError(f"“{shown}” has no {name}, so it does not say what was run.", MADE_ANEW)
    return _parsed(files[name], f"{shown}/{name}")


def _parsed(data: bytes, shown: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise AuditError(f"“{shown}” is not readable JSON.", MADE_ANEW) from error


def _complaint(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(str(part) for part in first['loc'])[:80] or 'its contents'}: {first['msg'][:100]}"
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)[:100]
