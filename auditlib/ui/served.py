"""Where texts go when the chosen model is behind a server: said before any of them is sent, with what that takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass

import streamlit as st

from auditlib.core import AuditError
from auditlib.jobs import JobClient
from auditlib.jobs.sending import OPEN_TO_READERS, Count, Reads, estimate_sending
from auditlib.models.endpoint.address import Address, checked_address
from auditlib.models.request import EndpointRequest, ModelRequest
from auditlib.ui.messages import as_text


def address_of(request: ModelRequest) -> Address | None:
    """Where the model's texts are sent; None for a model on this machine."""
    return None if request.endpoint is None else checked_address(request.endpoint.base_url)


def where_texts_go(request: ModelRequest) -> str:
    """In a sentence, as Markdown."""
    address = address_of(request)
    if address is None:
        return "Reading happens on this machine; nothing is sent anywhere."
    place = "a server on this machine" if address.is_this_machine else "and leave this machine"
    return f"Texts that are read are sent to **{as_text(address.url)}**, {place}."


def warn_of_readers(base_url: str) -> None:
    """A warning where what is sent can be read on its way; nothing for what is no address yet."""
    try:
        is_open = checked_address(base_url).is_open_to_readers
    except AuditError:
        return
    if is_open:
        st.warning(as_text(OPEN_TO_READERS), icon=":material/lock_open:")


def models_in(parameters: object) -> list[ModelRequest]:
    """Every model that a run of these parameters would ask, whichever part it plays."""
    if isinstance(parameters, ModelRequest):
        return [parameters]
    if not is_dataclass(parameters):
        return []
    found = [model for field in fields(parameters) for model in models_in(getattr(parameters, field.name))]
    return list(dict.fromkeys(found))


def sending_notice(client: JobClient, request: ModelRequest, reads: Callable[[], Reads] | None) -> None:
    """Where the texts of work that is about to start will go, and what that costs; nothing for a model on this machine.

    `reads` gives every text with how often it will be read.
    """
    if request.endpoint is None:
        return
    lines = [where_texts_go(request)]
    if reads is not None and (given := reads()):
        lines.append(_taken(client, request, request.endpoint, given))
    st.info(" ".join(lines), icon=":material/upload:")
    warn_of_readers(request.endpoint.base_url)


def _taken(client: JobClient, request: ModelRequest, endpoint: EndpointRequest, reads: Reads) -> str:
    estimate = estimate_sending(endpoint, reads, _counter(client, request))
    cost = "" if estimate.cost is None else f", a cost of {_amount(estimate.cost)} at the price given"
    line = f"That is about **{estimate.tokens:,} tokens**{cost}; what runs have read before is not sent again."
    if not estimate.is_within:
        line += " **The budget does not hold all of it**, so reading would end before it is done."
    return line


def _amount(cost: float) -> str:
    return f"about **{cost:,.2f}**" if cost >= 0.01 else "**less than 0.01**"


def _counter(client: JobClient, request: ModelRequest) -> Count | None:
    """Counts by the connected model; None where it is not connected, as connecting would send something."""
    if request not in [model.request for model in client.worker_state().models]:
        return None
    try:
        return client.model(request).lengths
    except AuditError:
        return None
