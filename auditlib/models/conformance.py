"""Whether a server's numbers can be used as evidence: what is tried on connecting, each check with its outcome.

Servers exist that answer every question for log-probabilities with 0.0, that ignore `echo` and give the numbers of what
they made up themselves, or that cut long prompts. An audit of such numbers would look like any other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from auditlib.core import AuditError, TargetModel, TokenStats
from auditlib.models.agreement import agreement
from auditlib.models.checks import Check, Outcome
from auditlib.models.encoding import TextEncoder
from auditlib.models.endpoint.answers import PromptNumbers, echoed_text
from auditlib.models.endpoint.places import places_of
from auditlib.models.endpoint.server import StatusError, UnusableAnswerError
from auditlib.models.endpoint.styles import Echo

if TYPE_CHECKING:
    from auditlib.models.endpoint.model import EndpointModel

PROBE = (
    "The ferry was late, and nobody on the quay was surprised. Mrs Penhallow counted her parcels twice and wrote the "
    "smaller number down."
)
HARD_PROBE = "In Zürich the café's naïve waiter wrote “schön” — twice — and drew a ☂ beside it for Łucja and 北京."
TRIES = 3
TOP = 5
LARGEST_SUM = 1.001  # of probabilities, with the rounding of a server's arithmetic
LARGEST_DIFFERENCE = 0.02  # nats, between two readings of one text
LARGEST_MEAN_DISAGREEMENT = 0.1  # nats a token, with a local copy that may be in another data type


def refusal(host: str, checks: Sequence[Check]) -> AuditError | None:
    """Why a server cannot be used; None where every check that decides was passed or could not be made."""
    failed = [check for check in checks if check.decides and check.outcome is Outcome.FAILED]
    if not failed:
        return None
    return AuditError(
        f"{host} cannot be used for audits. {failed[0].sentence}",
        "Use a server that gives the log-probabilities of the prompt (vLLM does), or a copy of the model on this "
        "machine.",
    )


def check_numbers(model: EndpointModel, local: TargetModel | None = None) -> list[Check]:
    """What the model says of a text whose numbers must have certain properties. `local` is a copy to compare with.

    Later checks are left out where an earlier one failed that they rest on. Raises `AuditError` where the server
    does not answer at all.
    """
    raw, numbers, problem = _numbers(model, TOP)
    checks = [_echoed(model, raw, numbers)]
    if numbers is None:
        return [*checks, Check("Log-probabilities of the prompt", Outcome.FAILED, f"It gives none: {problem}.")]
    scored = [one for one in numbers.logprob[1:] if one is not None]
    n_expected = len(model.prompt_of(PROBE)) if model.tokens is not None else len(PROBE.split())
    checks.append(
        _check(
            "Log-probabilities of the prompt",
            len(scored) + 1 >= n_expected,
            f"Every token of the prompt has one ({len(scored)} after the first).",
            f"Only {len(scored)} tokens of a prompt of {n_expected} or more have one.",
        )
    )
    checks.append(
        _check(
            "Not all zero",
            any(one < -1e-6 for one in scored),
            "They differ from token to token.",
            "All of them are 0.0, which would mean that the model foresaw every word.",
        )
    )
    checks.append(
        _check(
            "First token absent",
            numbers.logprob[0] is None,
            "The first token, which nothing precedes, has none.",
            "It gives a number for the first token, which nothing precedes, so the numbers may belong to other tokens.",
        )
    )
    checks.append(_top_sums(numbers))
    if any(check.outcome is Outcome.FAILED for check in checks):
        return checks
    checks.append(_same_again(model, numbers))
    checks += _letters(model, numbers)
    checks.append(_agreement(model, local))
    return checks


def _numbers(model: EndpointModel, top: int) -> tuple[Any, PromptNumbers | None, str]:
    """The raw answer, what was read of it, and else the problem. A single damaged answer proves nothing."""
    style, prompt = model.abilities.style, model.prompt_of(PROBE)
    raw, problem = None, ""
    for _ in range(TRIES):
        try:
            raw = model.ask(prompt, min(top, model.abilities.most_alternatives))
            return raw, style.read(raw, None if isinstance(prompt, str) else prompt), ""
        except UnusableAnswerError as error:
            problem = str(error)
        except StatusError as error:
            problem = f"it refuses to (status {error.status}{': ' + error.said if error.said else ''})"
    return raw, None, problem


def _echoed(model: EndpointModel, raw: Any, numbers: PromptNumbers | None) -> Check:
    name = "Text comes back"
    if not isinstance(model.abilities.style, Echo):
        return Check(name, Outcome.NOT_CHECKED, "The numbers stand beside the text, which is not asked for.")
    try:
        text = echoed_text(raw)
    except UnusableAnswerError:
        text = ""
    prompt = model.prompt_of(PROBE)
    # Tokens that were sent by number come back as what the server takes them for; that is looked at later.
    came_back = not isinstance(prompt, str) and numbers is not None and len(numbers.pieces) >= len(prompt)
    return _check(
        name,
        PROBE in text or came_back,
        "The prompt comes back as it was sent.",
        "It ignores `echo`: its numbers are of words that it makes up, not of the text that it is given.",
    )


def _top_sums(numbers: PromptNumbers) -> Check:
    name = "Probabilities add up"
    sums = [sum(math.exp(logprob) for _, logprob in place) for place in numbers.top if place]
    if not sums:
        return Check(name, Outcome.NOT_CHECKED, "It gives no alternatives.")
    return _check(
        name,
        max(sums) <= LARGEST_SUM,
        f"The likeliest tokens at a place have {max(sums):.3f} together at most.",
        f"The likeliest tokens at one place have a probability of {max(sums):.2f} together, and it can be 1 at most.",
    )


def _same_again(model: EndpointModel, before: PromptNumbers) -> Check:
    name = "Same text, same numbers"
    _, again, problem = _numbers(model, TOP)
    if again is None or len(again.logprob) < len(before.logprob):
        return Check(name, Outcome.FAILED, f"A second time the text is answered otherwise ({problem or 'less'}).")
    pairs = [(a, b) for a, b in zip(before.logprob, again.logprob, strict=False) if a is not None and b is not None]
    n_prompt = len(pairs) - model.abilities.style.made_up_tokens * isinstance(model.abilities.style, Echo)
    largest = max((abs(a - b) for a, b in pairs[:n_prompt]), default=0.0)
    return _check(
        name,
        largest <= LARGEST_DIFFERENCE,
        "Read twice, a text has the same numbers"
        + ("." if largest <= 1e-4 else f" within {largest:.4f} nats; scores differ by as much from run to run."),
        f"Read twice, a token of the same text differs by {largest:.2f} nats.",
    )


def _letters(model: EndpointModel, numbers: PromptNumbers) -> list[Check]:
    """Whether tokens are found among the text's letters: in plain English, and in letters of several bytes."""
    prompt, name = model.prompt_of(PROBE), "Offsets match the text"
    if isinstance(model.tokens, TextEncoder) and not isinstance(prompt, str):
        pieces = numbers.pieces[: len(prompt)]
        own = model.token_text(prompt)
        wrong = sum(bool(piece) and piece != mine for piece, mine in zip(pieces, own, strict=True))
        if wrong and places_of(pieces, PROBE) is None:
            return [
                Check(
                    name,
                    Outcome.FAILED,
                    f"The tokenizer that was given is not the model's: the server reads {wrong} of {len(prompt)} "
                    "tokens otherwise.",
                )
            ]
    try:
        stats = _read(model, PROBE)
    except AuditError as error:
        return [Check(name, Outcome.FAILED, error.wrong)]
    checks = [_offsets(name, numbers, stats)]
    try:
        _read(model, HARD_PROBE)
        checks.append(Check("Letters of all kinds", Outcome.PASSED, "Accents, signs and Chinese are found too.", False))
    except AuditError as error:
        checks.append(
            Check("Letters of all kinds", Outcome.FAILED, f"Such texts will be refused. {error.wrong}", decides=False)
        )
    return checks


def _offsets(name: str, numbers: PromptNumbers, stats: TokenStats) -> Check:
    covered = bool(np.all(stats.start[1:] == stats.end[:-1])) and int(stats.end[-1]) == len(PROBE)
    if not covered:
        return Check(name, Outcome.FAILED, "The tokens leave letters of the text out.")
    if numbers.offset is None:
        return Check(name, Outcome.PASSED, "The tokens give the text, letter by letter.")
    # A server's own token in front moves all of its places by that token's length.
    told = np.array(numbers.offset[: len(numbers.offset)], dtype=np.int64)
    first = next(i for i, one in enumerate(numbers.logprob) if one is not None)
    own = told[first : first + stats.n_tokens]
    if len(own) == stats.n_tokens and len({int(shift) for shift in own - stats.start}) == 1:
        return Check(name, Outcome.PASSED, "The places that it gives are those of the text's letters.")
    return Check(
        name,
        Outcome.FAILED,
        "The places that it gives are not those of the text's letters; they are counted from the tokens instead.",
        decides=False,
    )


def _agreement(model: EndpointModel, local: TargetModel | None) -> Check:
    name = "Agrees with a local copy"
    if local is None:
        return Check(name, Outcome.NOT_CHECKED, "No local copy of the model was given.")
    try:
        served, own = _read(model, PROBE), _read(local, PROBE)
    except AuditError as error:
        return Check(name, Outcome.FAILED, error.wrong)
    found = agreement(served, own)
    if found.mean is None or found.largest is None:
        return Check(name, Outcome.FAILED, "The local copy cuts the text into other tokens, so it is another model.")
    return _check(
        name,
        found.mean <= LARGEST_MEAN_DISAGREEMENT,
        f"Mean difference {found.mean:.5f} nats a token, the largest {found.largest:.5f}.",
        f"The local copy differs by {found.mean:.2f} nats a token: it is another model, or changed.",
    )


def _read(model: TargetModel, text: str) -> TokenStats:
    ((_, stats),) = model.token_stats([text], names=["The probe"])
    return stats


def _check(name: str, holds: bool, if_so: str, if_not: str) -> Check:
    return Check(name, Outcome.PASSED if holds else Outcome.FAILED, if_so if holds else if_not)
