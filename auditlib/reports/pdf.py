"""A report as PDF: its HTML, printed by the browser of this machine."""

from __future__ import annotations

import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from auditlib.core import AuditError, settings
from auditlib.reports.blocks import Report
from auditlib.reports.browser import find_browser, major_version, run_browser
from auditlib.reports.html import Paper, to_html

SECONDS = 300.0  # a few on an idle machine; an audit beside it takes its share
# From this version on Chromium writes what @page rules put into the margins; older ones write their own page numbers.
FIRST_WITH_MARGIN_TEXT = 131
DRAWING_MS = 20_000  # of the page's own clock, which runs ahead as soon as nothing is left to do

_DATE = re.compile(rb"(/(?:CreationDate|ModDate) ?)\(D:\d{14}[^)]*\)")


def to_pdf(report: Report, paper: Paper = "A4", browser: Path | None = None, seconds: float = SECONDS) -> bytes:
    """The PDF. Raises `AuditError`, naming what to do instead, where no browser can make it.

    `browser` is by default the one that the setting AUDIT_BROWSER names, else one found on this machine. The same
    report and browser give the same bytes.
    """
    chosen = find_browser(browser or settings().browser)
    with tempfile.TemporaryDirectory(prefix="audit-report-", ignore_cleanup_errors=True) as folder:
        page, printed = Path(folder) / "report.html", Path(folder) / "report.pdf"
        page.write_text(to_html(report, paper), encoding="utf-8")
        version = major_version(chosen)
        own_numbers = version is None or version >= FIRST_WITH_MARGIN_TEXT
        said = run_browser(
            chosen,
            [
                f"--print-to-pdf={printed}",
                *(["--no-pdf-header-footer"] if own_numbers else []),
                "--generate-pdf-document-outline",
                f"--virtual-time-budget={DRAWING_MS}",
                page.as_uri(),
            ],
            Path(folder) / "profile",
            seconds,
        )
        data = printed.read_bytes() if printed.exists() else b""
    if not data.startswith(b"%PDF-") or b"%%EOF" not in data[-1024:]:
        complaint = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "it gave no reason")
        raise AuditError(
            f"The browser {chosen} made no PDF ({complaint[:200]}).",
            "Name another one in AUDIT_BROWSER, or open the HTML report in any browser and print it from there.",
        )
    return dated(data, report.made)


def dated(pdf: bytes, made: datetime) -> bytes:
    """`pdf` with `made` as its date in place of the moment of printing, in as many bytes: its table still fits."""
    stamp = made.astimezone(UTC).strftime("D:%Y%m%d%H%M%S").encode()

    def replace(match: re.Match[bytes]) -> bytes:
        room = len(match[0]) - len(match[1]) - 2
        return match[1] + b"(" + (stamp + b"+00'00'")[:room].ljust(room) + b")"

    return _DATE.sub(replace, pdf)
