"""Which model a command reads with: as its options say, or under the name of a saved one; and how it is opened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rich.markup import escape

from auditlib.cli.common import said
from auditlib.core import AuditError, ModelIdentity, settings
from auditlib.jobs.cached_reading import CachedModel
from auditlib.jobs.inline import open_cached
from auditlib.jobs.saved_models import SavedModel, saved_models
from auditlib.jobs.sending import OPEN_TO_READERS, Reads, estimate_sending
from auditlib.models.endpoint.address import checked_address
from auditlib.models.request import AUTO, BUNDLED, HUB_PREFIX, ModelRequest
from auditlib.store import Store

if TYPE_CHECKING:
    from auditlib.models.opening import HeldModel

MODEL_HELP = "bundled, a folder, a .gguf file, a hub id, or the name of a saved model"


def chosen_model(
    model: str,
    device: str = AUTO,
    dtype: str = AUTO,
    revision: str | None = None,
    sha256: str | None = None,
    adapter: str | None = None,
) -> ModelRequest:
    """The model that options name. Raises `AuditError` where they contradict each other.

    `model` may be the name of a saved model, which says everything itself; a folder or file of that name goes first.
    """
    request = ModelRequest(model, device, dtype, revision, sha256, adapter)
    saved = _saved(model)
    if saved is None:
        return request
    if request != ModelRequest(model):
        raise AuditError(
            f"{model} is the name of a saved model, which says its device, data type, revision and adapter itself.",
            "Leave these options out, or save the model another time with them: “python -m auditlib models add”.",
        )
    return saved.usable


def is_saved(model: str) -> bool:
    """Whether `chosen_model` takes this for the name of a saved model."""
    return _saved(model) is not None


def _saved(model: str) -> SavedModel | None:
    if model == BUNDLED or model.startswith(HUB_PREFIX) or os.path.exists(model):
        return None
    chosen = settings()
    found = saved_models(Store(chosen.home_folder, chosen.database_url))
    return next((one for one in found if one.name == model), None)


def refuse_served(identity: ModelIdentity) -> None:
    """Raises `AuditError` for a model behind a server, which nobody can open by what is known of it."""
    if identity.backend.startswith("endpoint"):
        raise AuditError(
            f"{identity.name} was behind the server {identity.source}.",
            "Save it under a name with “python -m auditlib models add”, and give that name with --model.",
        )


def say_where_texts_go(request: ModelRequest, reads: Reads, is_kept: bool = True) -> None:
    """For a model behind a server, before anything is sent.

    `reads` gives every text with how often it will be read; where it is empty, nothing is said of how much that is.
    `is_kept` for commands that keep what they read.
    """
    if request.endpoint is None:
        return
    address = checked_address(request.endpoint.base_url)
    estimate = estimate_sending(request.endpoint, reads)
    place = f"{escape(address.url)}{'' if address.is_this_machine else ', and leave this machine'}"
    cost = "" if estimate.cost is None else f", a cost of about {estimate.cost:,.2f} at the price given"
    amount = f" About {estimate.tokens:,} tokens{cost}." if reads else ""
    kept = " What was read before is not sent again." if is_kept else ""
    said.print(f"Texts are sent to {place}.{amount}{kept}", soft_wrap=True, highlight=False)
    if address.is_open_to_readers:
        said.print(f"[yellow]{OPEN_TO_READERS}[/]", soft_wrap=True)
    if not estimate.is_within:
        said.print("[yellow]The budget does not hold all of it[/], so reading may end before it is done.")


def open_model(request: ModelRequest) -> HeldModel:
    """The loaded model, with a line that says so while it loads. Raises `AuditError`."""
    # Torch takes seconds to import; --help and a wrong file name should not wait for it.
    from auditlib.models.opening import SHELF

    with said.status(_opening(request)):
        return SHELF.open(request, settings())


def open_audited(request: ModelRequest) -> CachedModel:
    """Likewise for an audit: what it reads is kept in the data folder, and nothing kept is read again."""
    with said.status(_opening(request)):
        return open_cached(request, settings(), lambda note: said.print(escape(note), soft_wrap=True))


def _opening(request: ModelRequest) -> str:
    return "Loading the model …" if request.endpoint is None else "Asking the server …"
