"""From an address and a name to a model that has passed every check, or to the reason why it cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from auditlib.core import AuditError, ModelIdentity, Settings, TargetModel
from auditlib.models.checks import Check, Outcome
from auditlib.models.conformance import PROBE, TRIES, check_numbers, refusal
from auditlib.models.encoding import TextEncoder
from auditlib.models.endpoint.address import checked_address
from auditlib.models.endpoint.answers import used_tokens
from auditlib.models.endpoint.budget import Budget, budget_of
from auditlib.models.endpoint.keys import KEYS
from auditlib.models.endpoint.model import LONGEST_WINDOW, Abilities, EndpointModel
from auditlib.models.endpoint.patience import Patience
from auditlib.models.endpoint.server import RESUME, Server, StatusError, UnusableAnswerError
from auditlib.models.endpoint.styles import Echo, PromptLogprobs, Style
from auditlib.models.endpoint.tokens import ServerTokens
from auditlib.models.request import AUTO, EndpointRequest
from auditlib.models.tokenizer_folder import load_encoder

# While a person waits, a server that is not there should be said to be so within seconds.
WHILE_CONNECTING = Patience(tries=4, first_wait=0.3, longest_wait=2.0)
ALTERNATIVES_TRIED = (20, 5, 1)
CONTEXTS_TRIED = (4096, 2048, 1024, 512)  # where the server does not say; the largest that it takes
LONGEST_TRIED = 4096  # a longer window that a server claims is believed, as trying it would cost
UNKNOWN = "unknown: not told by the server"
MOST_NAMED = 5


@dataclass(frozen=True)
class Connection:
    """What came of connecting: every check that was made, and the model, or why there is none."""

    checks: tuple[Check, ...]
    model: EndpointModel | None
    problem: AuditError | None


def connect(
    request: EndpointRequest, settings: Settings, patience: Patience | None = None, local: TargetModel | None = None
) -> EndpointModel:
    """The model. Raises `AuditError` where it cannot be reached or used."""
    connection = examine(request, settings, patience, local)
    if connection.model is None:
        raise connection.problem or AuditError("The server cannot be used.", "Choose another.")
    return connection.model


def examine(
    request: EndpointRequest, settings: Settings, patience: Patience | None = None, local: TargetModel | None = None
) -> Connection:
    """The model with its checks, or the checks and the problem. `local` is a copy of the model to compare with.

    A few hundred tokens are sent, up to some thousands where the server does not tell the length of its window.
    """
    checks: list[Check] = []
    try:
        return _examined(request, settings, patience or Patience(), local, checks)
    except AuditError as error:
        return Connection(tuple(checks), None, error)


def _examined(
    request: EndpointRequest, settings: Settings, patience: Patience, local: TargetModel | None, checks: list[Check]
) -> Connection:
    address = checked_address(request.base_url)
    key = KEYS.find(address.url, request.key_variable)
    # A folder that is wrong is said before anything is sent.
    encoder = _encoder(request.tokenizer) if request.tokenizer else None
    first = min(patience, WHILE_CONNECTING, key=lambda one: one.tries)
    server = Server(address, key.secret, settings.forbid_private_network, settings.endpoint_seconds, first)
    server.key_remedy = f"{key.said} {key.remedy}"
    budget = budget_of(request)
    told = _listed(server, request.model)
    style, sample = _style(server, request, budget, told is not None)
    checks.append(Check("Completions", Outcome.PASSED, "It continues texts, and not only talks."))
    tokens = encoder or _server_tokens(server, request.model, style)
    n_probe = used_tokens(sample) or len(PROBE) // 4
    model = EndpointModel(
        server,
        request.model,
        _identity(request, address.url, style, encoder, sample),
        Abilities(style, CONTEXTS_TRIED[-1], 0, n_probe / len(PROBE.encode())),
        tokens,
        budget,
        request.at_once,
    )
    checks.append(_find_alternatives(model))
    checks.append(_find_context(model, request.context_length or _told_context(told)))
    checks += check_numbers(model, local)
    model.checks = tuple(checks)
    server.patience, server.remedy = patience, RESUME
    problem = refusal(address.host, checks)
    return Connection(tuple(checks), None if problem else model, problem)


def _listed(server: Server, name: str) -> dict[str, Any] | None:
    """What the server lists of the model; None where it lists nothing. Raises `AuditError` for an unknown name."""
    try:
        listed = server.models()
    except StatusError:
        return None  # not every server has a list
    names = [str(one.get("id", "")) for one in listed]
    if not names or name in names:
        return next((one for one in listed if one.get("id") == name), None)
    shown = ", ".join(repr(one[:60]) for one in names[:MOST_NAMED]) + " and others" * (len(names) > MOST_NAMED)
    raise AuditError(
        f"{server.address.host} has no model {name[:80]!r}.",
        f"It has {shown}.",
    )


def _style(server: Server, request: EndpointRequest, budget: Budget, is_listed: bool) -> tuple[Style, Any]:
    """The style that the server answers in, and what it answered. Raises `AuditError` where it knows none."""
    styles: list[Style] = []
    if request.style in (AUTO, "vllm"):
        styles.append(PromptLogprobs())
    if request.style in (AUTO, "openai"):
        styles += [Echo(0), Echo(1)]
    answered: list[tuple[Style, Any]] = []
    refused: list[StatusError] = []
    for style in styles:
        for _ in range(TRIES):  # one damaged answer does not decide
            try:
                value = _ask(server, budget, style.body(request.model, PROBE, 0))
                answered.append((style, value))
                style.read(value, None)
                return style, value
            except UnusableAnswerError:
                continue
            except StatusError as error:
                refused.append(error)
                break
    if answered:
        # The checks say what is wrong with what it answers.
        return answered[-1]
    raise _no_completions(server, request.model, is_listed, refused)


def _no_completions(server: Server, name: str, is_listed: bool, refused: Sequence[StatusError]) -> AuditError:
    said = next((error.said for error in refused if error.said), "")
    status = refused[-1].status
    host, added = server.address.host, f" It says: {said}" if said else ""
    if status == 404 and not is_listed and "model" in said.lower() and "chat" not in said.lower():
        return AuditError(f"{host} has no model {name[:80]!r}.{added}", "Give the name as the server knows it.")
    if status in (404, 405, 501) or "chat" in said.lower():
        return AuditError(
            f"{host} does not continue texts (no /completions for {name[:80]!r}), as services for chat only do: they "
            f"never give the log-probabilities of a text that they are sent.{added}",
            "Use a server that has /completions with log-probabilities of the prompt, such as vLLM.",
        )
    return AuditError(
        f"{host} refuses to give log-probabilities of a prompt (status {status}).{added}",
        "Use a server that gives them, such as vLLM, or a copy of the model on this machine.",
    )


def _server_tokens(server: Server, name: str, style: Style) -> ServerTokens | None:
    """vLLM's tokenizer; None where the server has none that can be asked."""
    if not isinstance(style, PromptLogprobs):
        return None
    try:
        return ServerTokens(server, name)
    except (StatusError, AuditError):
        return None


def _encoder(folder: str) -> TextEncoder:
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise AuditError(f"There is no folder {folder[:200]!r}.", "Give the folder that holds tokenizer.json.")
    return load_encoder(path, path.name)


def _find_alternatives(model: EndpointModel) -> Check:
    """Sets how many likeliest tokens a place may have: the most that the server takes."""
    name, prompt = "Limit of alternatives", model.prompt_of(PROBE)
    for top in ALTERNATIVES_TRIED:
        try:
            raw = model.ask(prompt, top)
            numbers = model.abilities.style.read(raw, None if isinstance(prompt, str) else prompt)
        except (StatusError, UnusableAnswerError):
            continue
        given = max((len(place) for place in numbers.top), default=0)
        if given:
            model.abilities = replace(model.abilities, most_alternatives=min(top, given))
            return Check(name, Outcome.PASSED, f"It gives up to {min(top, given)} likeliest tokens at each place.")
    return Check(name, Outcome.NOT_CHECKED, "It gives no likeliest tokens, so none can be shown.")


def _find_context(model: EndpointModel, told: int | None) -> Check:
    """Sets the window: what the auditor or the server says, and else the longest of a few that the server takes."""
    name = "Longest context"
    if model.tokens is None:
        model.abilities = replace(model.abilities, context_length=told or LONGEST_WINDOW)
        return Check(
            name, Outcome.NOT_CHECKED, "Without a tokenizer texts are sent whole; one that is too long is refused."
        )
    if told is not None and told > LONGEST_TRIED:
        model.abilities = replace(model.abilities, context_length=told)
        return Check(name, Outcome.NOT_CHECKED, f"It says {told:,} tokens; so many were not tried.")
    refused = ""
    for length in (told,) if told is not None else CONTEXTS_TRIED:
        refused = _takes(model, length - model.abilities.style.made_up_tokens)
        if not refused:
            model.abilities = replace(model.abilities, context_length=length)
            return Check(name, Outcome.PASSED, f"It reads {length:,} tokens at once, none cut off.")
    model.abilities = replace(model.abilities, context_length=told or CONTEXTS_TRIED[-1])
    return Check(name, Outcome.FAILED, f"It does not read {model.context_length:,} tokens at once: {refused}.")


def _takes(model: EndpointModel, n_tokens: int) -> str:
    """Why the server does not read so many tokens; "" where it does."""
    sample = model.prompt_of(PROBE)
    if isinstance(sample, str):
        raise ValueError("a text's tokens are not known here")
    ids = (sample * (n_tokens // len(sample) + 1))[:n_tokens]
    try:
        numbers = model.abilities.style.read(model.ask(ids, 0), ids)
    except StatusError as error:
        return error.said or f"status {error.status}"
    except UnusableAnswerError as error:
        return str(error)
    return "" if len(numbers.logprob) >= n_tokens else f"it answered for {len(numbers.logprob):,}"


def _told_context(told: dict[str, Any] | None) -> int | None:
    for name in ("max_model_len", "context_length", "context_window", "n_ctx"):
        value = (told or {}).get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 8 <= value <= 2**24:
            return value
    return None


def _identity(
    request: EndpointRequest, url: str, style: Style, encoder: TextEncoder | None, sample: Any
) -> ModelIdentity:
    """What is known of a served model, and plainly said what is not.

    The place of the weights' hash names server and model, so that two servers are never taken for one.
    """
    fingerprint = sample.get("system_fingerprint") if isinstance(sample, dict) else None
    return ModelIdentity(
        name=request.model,
        source=url,
        revision=fingerprint[:80] if isinstance(fingerprint, str) and fingerprint.isprintable() else None,
        weights_sha256=f"unknown: served as {request.model} by {url}",
        config_sha256=UNKNOWN,
        tokenizer_sha256=UNKNOWN if encoder is None else encoder.sha256,
        dtype=UNKNOWN,
        backend=f"endpoint ({style.name})",
    )


def _ask(server: Server, budget: Budget, body: dict[str, Any], read: Callable[[Any], Any] = lambda value: value) -> Any:
    return server.complete(body, read, lambda: budget.spend(len(PROBE) // 4))
