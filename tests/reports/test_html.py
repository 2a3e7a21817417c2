"""The HTML report: whole, escaped, asking nobody for anything, and the same for the same report."""

from __future__ import annotations

import re

import plotly.graph_objects as go
import pytest
from lxml import html as parser

from auditlib.evidence import Reason
from auditlib.reports.blocks import (
    Block,
    Bullets,
    Column,
    Figure,
    Heading,
    PageBreak,
    Paragraph,
    Parameters,
    Quotation,
    Report,
    Signatures,
    Table,
    VerdictBlock,
)
from auditlib.reports.html import to_html
from auditlib.reports.plain_words import number_text, p_text
from tests.reports.builders import MADE

HOSTILE = "</style></title></script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&{x}%{y}\u202e\x00\ud800"


def report(*blocks: Block, title: str = "A title") -> Report:
    return Report(title, "A subtitle", blocks, MADE, "0.1.0")


def page(*blocks: Block, title: str = "A title") -> parser.HtmlElement:
    return parser.document_fromstring(to_html(report(*blocks, title=title)))


def every_block(text: str) -> tuple[Block, ...]:
    """One of each, with `text` wherever text may stand."""
    return (
        Heading(text),
        Heading(text, 2),
        Paragraph(text),
        Paragraph(text, quiet=True),
        Bullets((text,)),
        Table((Column(text, text),), ((text,),), text, text),
        Figure(go.Figure(layout={"title": {"text": text}}), text, text),
        VerdictBlock(text, text, (Reason(True, text),), 0.5, text),
        Parameters(((text, text),), text),
        Quotation(text, text),
        Signatures((text,)),
        PageBreak(),
    )


def test_nothing_of_a_strangers_text_becomes_markup() -> None:
    harmless = page(*every_block("plain"), title="plain")
    hostile = page(*every_block(HOSTILE), title=HOSTILE)
    tags = [[element.tag for element in tree.iter() if element.tag != "wbr"] for tree in (harmless, hostile)]
    assert tags[0] == tags[1]
    assert not [name for element in hostile.iter() for name in element.attrib if name.startswith("on")]
    source = to_html(report(*every_block(HOSTILE), title=HOSTILE))
    assert not re.search("[\u202e\x00\ud800]", source)
    source.encode()  # a lone surrogate could not be written


def test_the_policy_allows_the_two_scripts_that_stand_there_and_no_network() -> None:
    tree = page(Figure(go.Figure(), "caption", "words"))
    (policy,) = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert "default-src 'none'" in policy
    assert "http" not in policy
    assert "unsafe" not in policy.split("script-src")[1].split(";")[0]
    assert len(re.findall(r"'sha256-[^']+'", policy)) == 2
    assert len([script for script in tree.xpath("//script") if script.get("type") is None]) == 2


def test_plotly_is_there_once_however_many_figures_and_not_at_all_without() -> None:
    one = Figure(go.Figure(), "caption", "words")
    assert to_html(report(one, one, one)).count("* plotly.js v") == 1
    assert to_html(report(Paragraph("no figure"))).count("plotly.js") == 0


def test_no_element_names_an_address() -> None:
    tree = page(*every_block("plain"))
    addresses = [value for element in tree.iter() for name, value in element.attrib.items() if name in ("src", "href")]
    assert all(value.startswith("#") for value in addresses)


def test_contents_name_every_section_and_lead_to_it() -> None:
    tree = page(Heading("First"), Heading("inside", 2), Heading("Second"))
    links = tree.xpath("//nav//a")
    assert [" ".join(link.text_content().split()) for link in links] == ["1 First", "2 Second"]
    assert [tree.get_element_by_id(link.get("href")[1:]).tag for link in links] == ["h2", "h2"]


def test_tables_tell_a_screen_reader_what_is_what() -> None:
    table = Table((Column("Work"), Column("AUC", numeric=True, form=".2f")), (("A", 0.5), ("B", None)), "Works.")
    tree = page(table)
    assert tree.get("lang") == "en"
    assert tree.xpath("//caption")[0].text_content() == "Table 1. Works."
    assert tree.xpath("//thead//th/@scope") == ["col", "col"]
    assert tree.xpath("//tbody//th/@scope") == ["row", "row"]
    assert [cell.text_content() for cell in tree.xpath("//td")] == ["0.50", "–"]
    assert tree.xpath("//td/@class") == ["numeric", "numeric"]


def test_a_figure_has_its_content_in_words() -> None:
    tree = page(Figure(go.Figure(), "Scores.", "Members score higher."))
    assert tree.xpath("//*[@role='img']/@aria-label") == ["Members score higher."]
    assert "Members score higher." in tree.xpath("//noscript")[0].text_content()


def test_reasons_say_in_words_whether_they_hold() -> None:
    tree = page(VerdictBlock("inconclusive", "", (Reason(True, "one"), Reason(False, "two")), None))
    reasons = [reason.text_content() for reason in tree.xpath("//*[@class='reasons']/li")]
    assert reasons == ["✓Holds: one", "✗Does not hold: two"]


def test_the_corrected_p_stands_over_the_verdict() -> None:
    tree = page(VerdictBlock("supported", "", (), 0.00123))
    assert tree.xpath("//*[@class='of']")[0].text_content() == "Verdict, p after correction 0.0012"


def test_the_given_figure_is_not_changed() -> None:
    figure = go.Figure(layout={"paper_bgcolor": "red"})
    to_html(report(Figure(figure, "caption", "words")))
    assert figure.layout.paper_bgcolor == "red"


def test_the_same_report_gives_the_same_bytes() -> None:
    blocks = every_block("plain")
    assert to_html(report(*blocks)) == to_html(report(*blocks))


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [(1234567, "", "1,234,567"), (-0.123456, "", "−0.1235"), (0.5, ".3f", "0.500"), (1e-7, "", "1e-07")],
)
def test_numbers_are_written_for_people(value: float, form: str, text: str) -> None:
    assert number_text(value, form) == text


def test_a_p_value_is_never_zero() -> None:
    assert p_text(0.0) == "below 0.0001"
    assert p_text(0.0312) == "0.031"
