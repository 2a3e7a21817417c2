"""The same work as the pages', from a shell: for scripts, clusters and those who prefer it. One command a file."""

from auditlib.cli import calibrate, fetch, place, plant, rerun, score, verify, worker  # noqa: F401  fill `app`
from auditlib.cli import run_files, runs  # noqa: F401, I001  the group `runs`
from auditlib.cli.common import app

__all__ = ["app"]
