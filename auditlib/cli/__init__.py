"""The same work as the pages', from a shell: for scripts, clusters and those who prefer it. One command a file."""

from auditlib.cli import (  # noqa: F401  fill `app`
    books,
    calibrate,
    fetch,
    models,
    place,
    plant,
    rerun,
    run_files,
    runs,
    score,
    unlearning,
    verify,
    worker,
)
from auditlib.cli.common import app

__all__ = ["app"]
