"""A finished run as files to hand over: its report as HTML and PDF, and its evidence package."""

from __future__ import annotations

from auditlib.core import AuditError
from auditlib.jobs.kinds import kind_of
from auditlib.reports.package import Package, make_package
from auditlib.store import Run, RunState, Store


def report_files(store: Store, run: Run, with_texts: bool = False, with_pdf: bool = True) -> Package:
    """The evidence package of a run that is done, with the HTML and the PDF that are in it.

    Takes a second, and some more for a browser to print the PDF. The same run gives the same bytes. Where no browser
    can print, the package says why. Raises `AuditError` for a run that is not done, or whose files are gone.
    """
    kind = kind_of(run.kind)
    if run.state is not RunState.DONE:
        raise AuditError(f"“{run.name[:80]}” is {run.state.value}, so there is nothing to report.", "Wait for its end.")
    if kind.evidence is None:
        raise AuditError(f"There is no report on a run of the kind “{kind.label}”.", "Look at its page instead.")
    return make_package(kind.evidence(store, run, with_texts), with_pdf)


def evidence_file_name(run: Run) -> str:
    """What to call the package on somebody's disk: nothing of it comes from what people typed."""
    return f"{run.kind}-{run.id[:8]}-evidence.zip"
