"""A report as one HTML file that works offline: Plotly once, no request to anywhere, dark mode, and ready for print.

Texts of strangers stand in a report (titles, names, quotations). Everything is escaped, and the page's policy names
the hashes of the two scripts that may run, so that nothing else would run even if it got in.
"""

from __future__ import annotations

import json
import re
import unicodedata
from base64 import b64encode
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from html import escape
from itertools import count
from pathlib import Path
from typing import Literal

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from auditlib.reports.blocks import (
    Block,
    Bullets,
    Cell,
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
    headings,
)
from auditlib.reports.plain_words import number_text, p_text

Paper = Literal["A4", "letter"]

HERE = Path(__file__).parent
CSS = (HERE / "report.css").read_text(encoding="utf-8")
JS = (HERE / "report.js").read_text(encoding="utf-8")

MOST_KEPT_TOGETHER = 12  # pairs that a printed page does not part

_NUMERIC = {True: ' class="numeric"', False: ""}
_SHA256 = re.compile(r"[0-9a-f]{64}")
_KEPT_FORMATS = "\n\u200c\u200d\u00ad"  # joiners that scripts and emoji need; a soft hyphen does no harm

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="pretraining-audit {version}">
<title>{title}</title>
<style>
{css}
{page_rule}
</style>
</head>
<body>
<div class="sheet">
<header>
<h1>{title}</h1>
<p class="subtitle">{subtitle}</p>
<p class="made">Made on {made} with Pretraining Audit {version}</p>
</header>
<nav aria-labelledby="contents"><h2 id="contents">Contents</h2><ol>{contents}</ol></nav>
<main>
{body}
</main>
</div>
{scripts}
</body>
</html>
"""


def to_html(report: Report, paper: Paper | None = None) -> str:
    """The whole file. `paper` fixes the size that it prints on; without it the reader's printer decides."""
    sections = count(1)
    numbers: dict[str, Iterator[int]] = {"table": count(1), "figure": count(1)}
    body = "\n".join(_block(block, sections, numbers) for block in report.blocks)
    contents = "".join(
        f'<li><a href="#section-{n}"><span class="number">{n}</span> {shown(heading.text)}</a></li>'
        for n, heading in enumerate(headings(report.blocks), start=1)
    )
    has_figures = any(isinstance(block, Figure) for block in report.blocks)
    return _PAGE.format(
        policy=_policy(has_figures),
        title=shown(report.title),
        subtitle=shown(report.subtitle),
        made=f"{report.made.day} {report.made:%B %Y, %H:%M %Z}",
        version=shown(report.version),
        css=CSS,
        page_rule=_page_rule(report.title, paper),
        contents=contents,
        body=body,
        scripts=_scripts() if has_figures else "",
    )


def shown(text: str) -> str:
    """`text` as it may stand in HTML: escaped, without control characters and without tricks of text direction."""
    kept = "".join(
        character if character in _KEPT_FORMATS or not unicodedata.category(character).startswith("C") else "\ufffd"
        for character in text.replace("\r\n", "\n").replace("\t", " ")
    )
    return escape(kept)


@lru_cache(maxsize=1)
def _plotly() -> str:
    """Plotly as it came with the installed package; its text must not end the element it stands in."""
    script = str(get_plotlyjs())
    if "</script" in script.lower() or "<!--" in script:
        raise RuntimeError("this Plotly cannot stand inside a page")
    return script


@lru_cache(maxsize=1)
def _script_hashes() -> tuple[str, str]:
    """SHA-256 of both scripts as a policy writes them."""
    plotly, own = (b64encode(sha256(text.encode()).digest()).decode() for text in (_plotly(), JS))
    return plotly, own


def _scripts() -> str:
    return f"<script>{_plotly()}</script>\n<script>{JS}</script>"


def _policy(has_figures: bool) -> str:
    may_run = " ".join(f"'sha256-{digest}'" for digest in _script_hashes()) if has_figures else "'none'"
    return f"default-src 'none'; script-src {may_run}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def _page_rule(title: str, paper: Paper | None) -> str:
    """Margins of the printed page, with the running title and page numbers in them."""
    size = f"size: {paper};" if paper else ""
    small = 'font: 8pt "Helvetica Neue", Arial, "Liberation Sans", sans-serif; color: #55606f;'
    return f"""@page {{ {size} margin: 20mm 18mm 20mm;
  @top-left {{ content: {_css_string(title)}; {small} }}
  @bottom-right {{ content: "page " counter(page) " of " counter(pages); {small} }}
}}
@page :first {{ @top-left {{ content: ""; }} }}"""


def _css_string(text: str) -> str:
    """`text` as a CSS string in which no character but letters and digits stands for itself."""
    short = text if len(text) <= 90 else text[:89] + "…"
    plain = "".join(" " if unicodedata.category(c).startswith("C") else c for c in short)
    return '"' + "".join(c if c.isascii() and c.isalnum() else f"\\{ord(c):06x}" for c in plain) + '"'


def _block(block: Block, sections: Iterator[int], numbers: dict[str, Iterator[int]]) -> str:
    match block:
        case Heading(level=1):
            n = next(sections)
            return f'<h2 id="section-{n}"><span class="number">{n}</span> {shown(block.text)}</h2>'
        case Heading():
            return f"<h3>{shown(block.text)}</h3>"
        case Paragraph():
            return f'<p class="quiet">{shown(block.text)}</p>' if block.quiet else f"<p>{shown(block.text)}</p>"
        case Bullets():
            return "<ul>" + "".join(f"<li>{shown(item)}</li>" for item in block.items) + "</ul>"
        case Table():
            return _table(block, next(numbers["table"]))
        case Figure():
            return _figure(block, next(numbers["figure"]))
        case VerdictBlock():
            return _verdict(block)
        case Parameters():
            return _parameters(block)
        case Quotation():
            start, end = block.marked
            before, run, after = block.text[:start], block.text[start:end], block.text[end:]
            text = shown(before) + (f"<mark>{shown(run)}</mark>" if run else "") + shown(after)
            return f"<blockquote><p>{text}</p><footer>{shown(block.source)}</footer></blockquote>"
        case Signatures():
            lines = "".join(
                f'<div class="signature"><span class="role">{shown(role)}</span><span>date</span></div>'
                for role in block.roles
            )
            return f'<div class="signatures">{lines}</div>'
        case PageBreak():
            return '<div class="page-break"></div>'


def _table(table: Table, number: int) -> str:
    head = "".join(
        f'<th scope="col"{_NUMERIC[column.numeric]}>{shown(column.name)}'
        + (f'<span class="unit">{shown(column.unit)}</span>' if column.unit else "")
        + "</th>"
        for column in table.columns
    )
    rows = "".join("<tr>" + "".join(_cells(table.columns, row)) + "</tr>" for row in table.rows)
    note = f'<p class="note">{shown(table.note)}</p>' if table.note else ""
    # Scrolls by itself where the screen is narrow, so it must be reachable by keyboard.
    return (
        f'<div class="table" tabindex="0" role="region" aria-label="Table {number}">'
        f"<table><caption><b>Table {number}.</b> {shown(table.caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}</div>"
    )


def _cells(columns: tuple[Column, ...], row: tuple[Cell, ...]) -> Iterator[str]:
    for place, (column, cell) in enumerate(zip(columns, row, strict=True)):
        tag, scope = ("th", ' scope="row"') if place == 0 else ("td", "")
        yield f"<{tag}{scope}{_NUMERIC[column.numeric]}>{_cell(cell, column)}</{tag}>"


def _cell(cell: Cell, column: Column) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return _value(cell) if isinstance(cell, str) else shown(number_text(cell, column.form))


def _value(text: str) -> str:
    """A value as it stands in a table: fingerprints in two even lines, everything else as text."""
    if _SHA256.fullmatch(text):
        return f'<span class="hash">{text}</span>'
    # A column is as wide as its longest word, so words that nobody writes may be broken.
    pieces = re.split(r"(\S{25,})", text)
    return "".join(
        "<wbr>".join(shown(piece[at : at + 16]) for at in range(0, len(piece), 16)) if place % 2 else shown(piece)
        for place, piece in enumerate(pieces)
    )


def _figure(block: Figure, number: int) -> str:
    drawing = go.Figure(block.figure)  # a copy: what is given is not changed
    drawing.update_layout(
        template="none", paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)", font_size=12, autosize=True
    )
    drawing.update_xaxes(title_font_size=12)
    drawing.update_yaxes(title_font_size=12)
    data = json.dumps(json.loads(drawing.to_json(engine="json"))).replace("<", "\\u003c")
    height = int(drawing.layout.height or 320)
    words = shown(block.alternative)
    return (
        f"<figure><figcaption><b>Figure {number}.</b> {shown(block.caption)}</figcaption>"
        f'<div class="chart" role="img" aria-label="{words}"><div class="stage" style="height:{height}px"></div>'
        f'<p class="alternative">{words}</p><noscript><p>{words}</p></noscript>'
        f'<script type="application/json">{data}</script></div></figure>'
    )


def _verdict(block: VerdictBlock) -> str:
    reasons = "".join(
        f'<li><span class="mark" aria-hidden="true">{"✓" if reason.holds else "✗"}</span>'
        f'<span><span class="hidden">{"Holds: " if reason.holds else "Does not hold: "}</span>'
        f"{shown(reason.sentence)}</span></li>"
        for reason in block.reasons
    )
    p = f", p after correction {p_text(block.p)}" if block.p is not None else ""
    return (
        f'<section class="verdict" aria-label="Verdict"><p class="of">Verdict{p}</p>'
        f'<p class="word">{shown(block.word)}</p><p>{shown(block.sentence)}</p>'
        f'<ul class="reasons">{reasons}</ul><p class="limits">{shown(block.limits)}</p></section>'
    )


def _parameters(block: Parameters) -> str:
    code = ' class="code"' if block.code else ""
    pairs = "".join(f"<dt>{shown(name)}</dt><dd{code}>{_value(value)}</dd>" for name, value in block.pairs)
    caption = f"<h3>{shown(block.caption)}</h3>" if block.caption else ""
    kept_whole = ' class="short"' if len(block.pairs) <= MOST_KEPT_TOGETHER else ""
    return f"{caption}<dl{kept_whole}>{pairs}</dl>"
