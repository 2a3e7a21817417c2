"""The HTML report as a browser shows it: offline, harmless, with every figure, in light, dark and print."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from auditlib.reports.blocks import Figure, Paragraph, Report, quoted
from auditlib.reports.calibration import calibration_report
from auditlib.reports.html import to_html
from auditlib.reports.plain_words import shortened
from tests.reports.builders import MADE, calibration_facts

pytestmark = pytest.mark.browser

Show = Callable[[Report], Page]
ATTACKS = (
    "</title><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "</style><svg onload=window.hacked=1>",
    '"><a href="javascript:window.hacked=1">click</a>',
    "{body}\\u003c/script><script>window.hacked=1</script>",
)


@pytest.fixture
def show(new_page: Callable[[str], Page], tmp_path: Path) -> Show:
    """The report in a tab that fails the test if it asks anybody for anything or something in it throws."""

    def opened(report: Report) -> Page:
        path = tmp_path / "report.html"
        path.write_text(to_html(report), encoding="utf-8")
        return new_page(path.as_uri())

    return opened


def colour_of(page: Page, selector: str, what: str) -> tuple[int, ...]:
    value = page.locator(selector).first.evaluate(f"element => getComputedStyle(element).{what}")
    return tuple(int(part) for part in value[value.index("(") + 1 : -1].split(",")[:3])


def test_it_opens_offline_and_asks_nobody_for_anything(show: Show) -> None:
    page = show(calibration_report(calibration_facts()))
    page.context.set_offline(True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    page.locator(".main-svg").last.wait_for(state="attached")
    assert asked == [page.url]


def test_every_figure_is_drawn(show: Show) -> None:
    report = calibration_report(calibration_facts())
    page = show(report)
    n_figures = sum(isinstance(block, Figure) for block in report.blocks)
    assert page.evaluate("document.documentElement.dataset.figuresDrawn") == str(n_figures)
    for chart in page.locator(".chart").all():
        assert chart.locator(".trace").count() > 0
        box = chart.bounding_box()
        assert box is not None
        assert box["height"] > 200


def test_scripts_in_titles_works_and_model_names_do_not_run(show: Show) -> None:
    attack = "".join(ATTACKS)
    facts = calibration_facts(name=attack, model=attack, groups=ATTACKS)
    page = show(calibration_report(facts))
    page.wait_for_timeout(300)
    assert page.evaluate("window.hacked") is None
    assert page.locator("h1").text_content() == shortened(attack) == page.title()
    assert page.locator("a[href^=javascript], main img, main svg:not(.main-svg):not(.main-svg *)").count() == 0
    assert page.evaluate("document.documentElement.dataset.figuresDrawn") == "6"


def test_a_script_that_got_in_would_not_run(show: Show) -> None:
    page = show(calibration_report(calibration_facts()))
    page.evaluate(
        """() => { const script = document.createElement("script"); script.textContent = "window.hacked = 1";
        document.body.append(script);
        document.body.insertAdjacentHTML("beforeend", "<i onclick='window.hacked=1'>"); }"""
    )
    page.locator("i").last.dispatch_event("click")
    assert page.evaluate("window.hacked") is None


def test_axes_can_be_read_in_dark_and_in_print_from_a_dark_screen(show: Show) -> None:
    page = show(calibration_report(calibration_facts()))
    assert max(colour_of(page, ".chart .xtick text", "fill")) < 90
    page.emulate_media(color_scheme="dark")
    assert min(colour_of(page, "body", "color")) > 200
    assert max(colour_of(page, "body", "backgroundColor")) < 60
    assert min(colour_of(page, ".chart .xtick text", "fill")) > 200
    page.emulate_media(color_scheme="dark", media="print")
    assert max(colour_of(page, ".chart .xtick text", "fill")) < 90


def test_nothing_is_wider_than_the_screen_of_a_telephone(show: Show) -> None:
    long = "x" * 3000
    page = show(calibration_report(calibration_facts(name=long, model=long, groups=(long,))))
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_writing_from_right_to_left_stays_inside_its_cell(show: Show) -> None:
    report = Report("שלום", "مرحبا", (Paragraph("plain"), quoted("שלום עולם", "p. 3")), MADE, "0.1.0")
    page = show(report)
    assert page.locator("blockquote p").evaluate("e => getComputedStyle(e).unicodeBidi") == "plaintext"
    assert page.locator("script").count() == 0


def test_where_a_figure_cannot_be_drawn_its_words_are_shown(show: Show, tmp_path: Path) -> None:
    page = show(calibration_report(calibration_facts()))
    broken = (tmp_path / "report.html").read_text(encoding="utf-8").replace('"data": [', '"data": [[', 1)
    (tmp_path / "report.html").write_text(broken, encoding="utf-8")
    page.reload()
    assert page.evaluate("document.documentElement.dataset.figuresDrawn") == "5"
    assert page.locator(".chart.failed .alternative").is_visible()
