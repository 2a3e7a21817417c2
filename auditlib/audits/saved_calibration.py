"""A calibration that is kept under a name, carried elsewhere as a file, and used to place one text.

A file holds everything that placing a text needs and says what it was made from, but none of the texts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, TypeAdapter, ValidationError

from auditlib.audits.calibration import Calibrated
from auditlib.audits.sets import ReadSets
from auditlib.core import AuditError, Label, ModelIdentity, library_versions
from auditlib.evidence import ConformalP, Interval, Verdict, Word, benjamini_hochberg, conformal_ps, text_verdict
from auditlib.scoring import SCORES

FORMAT = "pretraining-audit calibration"
VERSION = 2
LARGEST_FILE_BYTES = 64 * 2**20
MOST_TEXTS = 1_000_000
MOST_TOKENS = 10**9
LONGEST_NAME = 200
# What must be the same for two results to be of one model; the rest says only how it was found.
DECIDING = ("weights_sha256", "config_sha256", "tokenizer_sha256", "adapter", "dtype", "backend")


@dataclass(frozen=True)
class Calibration:
    """One score's calibration on one model. Arrays are tuples here, so that it goes to JSON and back without loss.

    members, non_members              scores of the texts that calibrated
    member_tokens, non_member_tokens  their lengths in scored tokens, in the same order
    non_member_groups                 how many works the non-members are pieces of
    member_works, non_member_works    a number for the work of each text, in the same order; None in files of version 1
    snippet_words                     what each text has, where all have the same; None where not, or not known
    members_sha256 and its like       hash over the texts of one set, whatever their order
    threshold                         by `rule`: "accuracy", or the false-positive rate asked for; None where the sets
                                      cannot give one
    """

    __pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)

    name: str
    created: str  # ISO 8601, UTC
    model: ModelIdentity
    score: str
    k: float
    alpha: float
    rule: str | float
    seed: int
    threshold: float | None
    auc: Interval
    blind_auc: Interval
    accuracy: Interval | None
    tpr: Interval | None
    fpr: Interval | None
    verdict: str
    members: tuple[float, ...]
    non_members: tuple[float, ...]
    member_tokens: tuple[int, ...]
    non_member_tokens: tuple[int, ...]
    non_member_groups: int
    members_sha256: str
    non_members_sha256: str
    versions: dict[str, str]
    member_works: tuple[int, ...] | None = None
    non_member_works: tuple[int, ...] | None = None
    snippet_words: int | None = None


@dataclass(frozen=True)
class Placement:
    """Where one text stands among the calibration's texts.

    members_below, non_members_below   share of each set with a lower score
    threshold_says                     whether the score reaches the threshold; None where there is none
    """

    score: float
    p: ConformalP
    verdict: Verdict
    members_below: float
    non_members_below: float
    threshold_says: bool | None


_ADAPTER = TypeAdapter(Calibration)


def keep(read: ReadSets, found: Calibrated, method: str, name: str, now: datetime) -> Calibration:
    """The calibration of one method out of a finished one. Raises `AuditError` where the name is empty."""
    if not name.strip():
        raise AuditError("The calibration has no name.", "Give it one, such as the model's and the material's.")
    result = found.methods[method]
    is_member, rate = read.sets.is_member, result.threshold
    snippets = read.sets.snippets
    return Calibration(
        name=" ".join(name.encode("utf-8", "replace").decode().split())[:LONGEST_NAME],
        created=now.isoformat(timespec="seconds"),
        model=read.identity,
        score=method,
        k=float(found.k),
        alpha=float(found.alpha),
        rule=found.rule,
        seed=found.seed,
        threshold=rate.threshold if rate and math.isfinite(rate.threshold) else None,
        auc=result.findings.auc,
        blind_auc=found.words.blind.auc,
        accuracy=rate.accuracy if rate else None,
        tpr=rate.tpr if rate else None,
        fpr=rate.fpr if rate else None,
        verdict=result.verdict.word.value,
        members=tuple(float(value) for value in result.scores[is_member]),
        non_members=tuple(float(value) for value in result.scores[~is_member]),
        member_tokens=tuple(int(n) for n in read.n_tokens[is_member]),
        non_member_tokens=tuple(int(n) for n in read.n_tokens[~is_member]),
        non_member_groups=len({s.group for s in snippets if s.label is Label.NON_MEMBER}),
        members_sha256=read.sets.digest_of(Label.MEMBER),
        non_members_sha256=read.sets.digest_of(Label.NON_MEMBER),
        versions=dict(library_versions()),
        member_works=_works([s.group for s in snippets if s.label is Label.MEMBER]),
        non_member_works=_works([s.group for s in snippets if s.label is Label.NON_MEMBER]),
        snippet_words=int(read.sets.words[0]) if len(set(read.sets.words.tolist())) == 1 else None,
    )


def to_json(calibration: Calibration) -> str:
    """The file. Its last line is a hash of the rest, so that a later change by hand shows."""
    body = asdict(calibration)
    head = {"format": FORMAT, "version": VERSION}
    return json.dumps(head | {"calibration": body, "sha256": _digest(body)}, indent=1, ensure_ascii=False) + "\n"


def from_json(text: str | bytes, file_name: str = "The file") -> Calibration:
    """A calibration out of its file. Raises `AuditError` saying what is wrong with a file that is none."""
    try:
        if len(text) > LARGEST_FILE_BYTES:
            raise ValueError("it is too large")
        value = json.loads(text)
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            raise ValueError("it is something else")
    except (ValueError, RecursionError) as error:
        raise AuditError(
            f"{file_name} is no calibration ({str(error)[:100]}).", "Choose a file that “Export calibration” gave."
        ) from error
    version = value.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise AuditError(
            f"{file_name} was written by a newer version of this program (format {str(version)[:20]}, known here: "
            f"{VERSION}).",
            "Update this program, or calibrate again.",
        )
    body = value.get("calibration")
    try:
        calibration = _ADAPTER.validate_json(json.dumps(body))
    except (ValidationError, RecursionError, ValueError) as error:
        raise AuditError(
            f"{file_name} is not complete: {_first_complaint(error)}.", "Export it again from where it was made."
        ) from error
    if value.get("sha256") != _digest(body):
        raise AuditError(
            f"{file_name} was changed after it was written: its contents do not have the hash it names.",
            "Export it again from where it was made; what was changed by hand cannot be relied on.",
        )
    _check(calibration, file_name)
    return calibration


def differences(calibration: Calibration, identity: ModelIdentity) -> dict[str, tuple[str, str]]:
    """What decides a model's numbers and is not the same: field -> (the calibration's, this model's)."""
    return identity_differences(calibration.model, identity)


def identity_differences(one: ModelIdentity, other: ModelIdentity) -> dict[str, tuple[str, str]]:
    """Likewise of two models."""
    own, others = one.as_dict(), other.as_dict()
    return {f: (own[f] or "none", others[f] or "none") for f in DECIDING if own[f] != others[f]}


def refuse_other_model(calibration: Calibration, identity: ModelIdentity) -> None:
    """Raises `AuditError` where `identity` is not the model that was calibrated."""
    if astray := differences(calibration, identity):
        raise AuditError(
            f"The calibration “{calibration.name}” was made on {calibration.model.name}, and this text is to be judged "
            f"by {identity.name}: they differ in {', '.join(field.replace('_', ' ') for field in astray)}.",
            "Calibrate this model, or read the text with the model that was calibrated.",
        )


def place(
    calibration: Calibration, score: float, n_tokens: int, identity: ModelIdentity, alpha: float | None = None
) -> Placement:
    """Where a text with this score and length stands. Raises `AuditError` where another model read it."""
    return place_all(calibration, [score], [n_tokens], identity, alpha)[0]


def place_all(
    calibration: Calibration,
    scores: Sequence[float],
    n_tokens: Sequence[int],
    identity: ModelIdentity,
    alpha: float | None = None,
) -> list[Placement]:
    """Where each of several texts stands; verdicts rest on p corrected for their number (Benjamini-Hochberg).

    Raises `AuditError` where another model read them.
    """
    refuse_other_model(calibration, identity)
    level = calibration.alpha if alpha is None else alpha
    members, others = _array(calibration.members), _array(calibration.non_members)
    lengths = _array(calibration.non_member_tokens)
    of_members = conformal_ps(members, _array(calibration.member_tokens), others, lengths)
    power = float(np.mean([one.p <= level for one in of_members]))
    of_works = _note_on_works(calibration)
    found = [replace(p, note=p.note + of_works) for p in conformal_ps(scores, n_tokens, others, lengths)]
    corrected = benjamini_hochberg([one.p for one in found]) if found else np.array([])
    return [
        Placement(
            score=score,
            p=p,
            # A p that only the correction took above alpha was not seen to be absent, whatever the power.
            verdict=text_verdict(
                calibration.verdict,
                float(p_corrected),
                level,
                p.in_range,
                True,
                p.n_compared,
                power if p.p > level else None,
            ),
            members_below=float(np.mean(members < score)),
            non_members_below=float(np.mean(others < score)),
            threshold_says=None if calibration.threshold is None else score >= calibration.threshold,
        )
        for score, p, p_corrected in zip(scores, found, corrected, strict=True)
    ]


def _works(groups: Sequence[str]) -> tuple[int, ...]:
    """Groups by number, in the order in which they come."""
    number_of: dict[str, int] = {}
    return tuple(number_of.setdefault(group, len(number_of)) for group in groups)


def _note_on_works(calibration: Calibration) -> str:
    """Conformal p counts texts; where several come from one work, they are fewer witnesses than it counts."""
    n_works, n_texts = calibration.non_member_groups, len(calibration.non_members)
    if n_works == n_texts:
        return ""
    return (
        f" The calibration's {n_texts:,} non-members are pieces of {n_works:,} works, and pieces of one work score "
        "alike: for a text of any other work p is less certain than their number makes it look."
    )


def _array(values: Sequence[float]) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)


def _digest(body: Any) -> str:
    return sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _first_complaint(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)[:100]
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])[:80] or 'its contents'}: {first['msg'][:100]}"


def _check(calibration: Calibration, file_name: str) -> None:
    """What types alone do not say."""
    lengths = (
        (calibration.members, calibration.member_tokens),
        (calibration.non_members, calibration.non_member_tokens),
    )
    shares = (calibration.auc, calibration.blind_auc, calibration.accuracy, calibration.tpr, calibration.fpr)
    sound = (
        calibration.score in SCORES
        and 0 < len(calibration.name.strip()) <= LONGEST_NAME
        and 2 <= calibration.non_member_groups <= len(calibration.non_members)
        and all(0 <= share.low <= share.estimate <= share.high <= 1 for share in shares if share is not None)
        and calibration.verdict in set(Word)
        and 0 < calibration.k <= 100
        and 0 < calibration.alpha < 1
        and (calibration.rule == "accuracy" or (isinstance(calibration.rule, float) and 0 < calibration.rule < 1))
        and all(
            2 <= len(scores) == len(tokens) <= MOST_TEXTS and 0 < min(tokens) <= max(tokens) <= MOST_TOKENS
            for scores, tokens in lengths
        )
        and all(
            works is None or (len(works) == len(scores) and min(works) >= 0 and max(works) < len(scores))
            for works, scores in (
                (calibration.member_works, calibration.members),
                (calibration.non_member_works, calibration.non_members),
            )
        )
    )
    if not sound:
        raise AuditError(f"{file_name} holds values that no calibration has.", "Calibrate again.")
