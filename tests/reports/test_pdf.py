"""The PDF has its pages numbered and its figures drawn; where it cannot be made, one sentence says what to do."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pypdfium2
import pytest

from auditlib.core import AuditError
from auditlib.reports.blocks import Figure
from auditlib.reports.browser import candidates, find_browser, major_version
from auditlib.reports.calibration import calibration_report
from auditlib.reports.figures import MEMBERS
from auditlib.reports.pdf import dated, to_pdf
from tests.reports.builders import MADE, calibration_facts

A4 = (595, 842)  # points
LETTER = (612, 792)


@pytest.fixture(scope="module")
def browser() -> Path:
    try:
        return find_browser()
    except AuditError:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip("there is no Chromium on this machine")


@pytest.fixture(scope="module")
def printed(browser: Path) -> bytes:
    return to_pdf(calibration_report(calibration_facts()), browser=browser)


@pytest.fixture
def pdf(printed: bytes) -> Iterator[pypdfium2.PdfDocument]:
    document = pypdfium2.PdfDocument(printed)
    yield document
    document.close()


def text_of(page: pypdfium2.PdfPage) -> str:
    return " ".join(page.get_textpage().get_text_bounded().split())


def coloured(page: pypdfium2.PdfPage, colour: str) -> int:
    """Pixels of about this colour on a picture of the page."""
    picture = page.render(scale=1).to_numpy()[:, :, 2::-1].astype(int)  # as RGB
    wanted = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    return int(np.count_nonzero(np.abs(picture - wanted).max(axis=2) < 24))


@pytest.mark.browser
def test_every_page_says_which_of_how_many_it_is(pdf: pypdfium2.PdfDocument) -> None:
    assert len(pdf) > 5
    for number, page in enumerate(pdf, start=1):
        assert f"page {number} of {len(pdf)}" in text_of(page)


@pytest.mark.browser
def test_every_page_after_the_first_carries_the_title(pdf: pypdfium2.PdfDocument) -> None:
    assert all("Northern Letters, first pass" in text_of(page) for page in pdf)


@pytest.mark.browser
def test_the_summary_fits_the_first_page(pdf: pypdfium2.PdfDocument) -> None:
    first = text_of(pdf[0])
    assert "Supported" in first
    assert "does not show copying" in first
    assert "A. Compliance" in first
    assert text_of(pdf[1]).find("What was examined") < 60


@pytest.mark.browser
@pytest.mark.parametrize("seen", [0.0, 0.12])
def test_nothing_reaches_into_the_margins(browser: Path, seen: float) -> None:
    facts = calibration_facts(seen=seen, groups=("x" * 2000, "https://example.org/" + "a/" * 300))
    document = pypdfium2.PdfDocument(to_pdf(calibration_report(facts), "letter", browser))
    margin = 18 / 25.4 * 72  # 18 mm in points
    for page in document:
        text = page.get_textpage()
        right = max(text.get_rect(place)[2] for place in range(text.count_rects()))
        assert right <= LETTER[0] - margin + 1.5, text_of(page)[:200]
    document.close()


@pytest.mark.browser
def test_a_summary_that_could_not_tell_fits_the_first_page_too(browser: Path) -> None:
    facts = calibration_facts(
        name="A title of some length, as people give them when there are many audits " * 2, seen=0.0
    )
    document = pypdfium2.PdfDocument(to_pdf(calibration_report(facts), "letter", browser))
    assert "A. Compliance" in text_of(document[0])
    assert tuple(round(side) for side in document[0].get_size()) == LETTER
    document.close()


@pytest.mark.browser
def test_lines_to_sign_stand_under_their_heading(pdf: pypdfium2.PdfDocument) -> None:
    (page,) = (text_of(page) for page in pdf if "Received by" in text_of(page))
    assert page.index("The undersigned") < page.index("Prepared by")


@pytest.mark.browser
def test_every_figure_is_drawn_in_the_colours_of_its_data(pdf: pypdfium2.PdfDocument) -> None:
    n_figures = sum(isinstance(block, Figure) for block in calibration_report(calibration_facts()).blocks)
    pages = {n: page for n in range(1, n_figures + 1) for page in pdf if f"Figure {n}." in text_of(page)}
    assert len(pages) == n_figures
    assert all(coloured(page, MEMBERS) > 100 for page in pages.values())
    assert coloured(pdf[0], MEMBERS) == 0
    assert "false-positive rate" in text_of(pages[4])  # the axes are text


@pytest.mark.browser
def test_sections_can_be_jumped_to_and_the_paper_is_a4(pdf: pypdfium2.PdfDocument) -> None:
    names = [entry.get_title() for entry in pdf.get_toc()]
    assert "1 Summary" in names
    assert "9 Sign-off" in names
    assert tuple(round(side) for side in pdf[0].get_size()) == A4


@pytest.mark.browser
def test_the_same_report_gives_the_same_bytes(browser: Path, printed: bytes) -> None:
    assert to_pdf(calibration_report(calibration_facts()), browser=browser) == printed


@pytest.mark.browser
def test_the_version_of_the_browser_is_known(browser: Path) -> None:
    version = major_version(browser)
    assert version is not None
    assert version > 100


def program(folder: Path, script: str) -> Path:
    path = folder / "browser"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_a_browser_that_prints_nothing_is_said_with_its_own_last_word(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match=r"made no PDF \(no display\).*HTML report"):
        to_pdf(calibration_report(calibration_facts()), browser=program(tmp_path, "echo no display >&2; exit 1"))


def test_half_a_pdf_is_no_pdf(tmp_path: Path) -> None:
    script = 'for a in "$@"; do case $a in --print-to-pdf=*) echo "%PDF-1.7" > "${a#*=}";; esac; done'
    with pytest.raises(AuditError, match="made no PDF"):
        to_pdf(calibration_report(calibration_facts()), browser=program(tmp_path, script))


def test_a_browser_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    child = tmp_path / "child"
    script = f'[ "$1" = --version ] && exit; sleep 300 & echo $! > {child}; wait'
    began = time.monotonic()
    with pytest.raises(AuditError, match="did not finish the PDF within 1 seconds"):
        to_pdf(calibration_report(calibration_facts()), browser=program(tmp_path, script), seconds=1)
    assert time.monotonic() - began < 20
    status = Path(f"/proc/{child.read_text().strip()}/status")
    assert not status.exists() or "zombie" in status.read_text()


def test_without_a_browser_the_html_is_offered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("AUDIT_BROWSER", raising=False)
    with pytest.raises(AuditError, match="HTML report in any browser"):
        to_pdf(calibration_report(calibration_facts()))


def test_a_setting_that_names_no_program_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_BROWSER", "/no/such/browser")
    with pytest.raises(AuditError, match="AUDIT_BROWSER names /no/such/browser"):
        to_pdf(calibration_report(calibration_facts()))


def test_the_setting_comes_before_what_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AUDIT_BROWSER", str(program(tmp_path, "echo chosen >&2")))
    with pytest.raises(AuditError, match=r"\(chosen\)"):
        to_pdf(calibration_report(calibration_facts()))


def test_each_system_is_searched_where_it_keeps_its_browsers() -> None:
    mac = candidates("darwin", {"HOME": "/Users/anna"})
    assert mac[0] == "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
    assert "/Users/anna/Applications/Chromium.app/Contents/MacOS/Chromium" in mac
    windows = candidates("win32", {"PROGRAMFILES": r"C:\Program Files", "PROGRAMFILES(X86)": r"C:\Program Files (x86)"})
    assert windows[0] == r"C:\Program Files\Google\Chrome\Application\chrome.exe"
    assert r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe" in windows
    assert "chromium" in candidates("linux", {})


def test_the_date_of_printing_becomes_the_date_of_the_report_in_as_many_bytes() -> None:
    before = b"<</CreationDate (D:20310101000000+00'00')\n/ModDate (D:20310101000000Z)>>"
    after = dated(before, MADE)
    assert len(after) == len(before)
    assert b"/CreationDate (D:20260304143000+00'00')" in after
    assert b"2031" not in after
