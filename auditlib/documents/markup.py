"""XML and HTML to text: parsing that expands nothing and fetches nothing, and the words in reading order."""

from __future__ import annotations

import html
import re
from typing import Any

from lxml import etree

from auditlib.core import AuditError
from auditlib.documents.decoding import decode
from auditlib.documents.limits import MARKUP_BYTES
from auditlib.documents.refusals import bomb, damaged, too_large

_DECLARED_ENCODING = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})""")
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_HTML_SPACE = re.compile(r"[ \t\n\r\f]+")

_UNSEEN = {"script", "style", "head", "template", "noscript", "rt", "rp", "iframe", "object", "svg"}
_PARAGRAPHS = {
    *(
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "caption",
        "center",
        "details",
        "dialog",
        "div",
        "dl",
    ),
    *(
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
    ),
    *(
        "html",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "tfoot",
        "thead",
        "ul",
    ),
}
_LINES = {"dd", "dt", "li", "option", "tr"}


def parse_xml(data: bytes, name: str, kind: str) -> Any:
    """The root element of an XML part.

    Entities are never expanded, and a part that declares any is refused: no book needs them and every
    "billion laughs" does. Raises `AuditError`; `name` and `kind` are what it calls the file.
    """
    try:
        return _xml_root(_markup_text(data, name), name)
    except etree.LxmlError as error:
        raise damaged(name, kind) from error


def parse_page(data: bytes, name: str) -> Any | None:
    """The root of an HTML or XHTML page, or None where there is nothing in it. Raises `AuditError`.

    XHTML is parsed as XML first, because `<title/>` ends there at once and in HTML never; what is not
    well-formed is parsed as HTML, which takes anything.
    """
    text = _markup_text(data, name)
    if text.lstrip().startswith("<?xml") or "http://www.w3.org/1999/xhtml" in text[:2000]:
        try:
            return _xml_root(text, name)
        except etree.LxmlError:
            pass
    clean = _NOT_XML.sub("", _XML_DECLARATION.sub("", text))
    if not clean.strip():
        return None
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        root = etree.fromstring(clean.encode("utf-8"), parser)
    except etree.LxmlError:
        root = None
    # The parser does not raise at its limits but gives what it has until then.
    limits_met = {entry.type_name for entry in parser.error_log} & {"ERR_NO_MEMORY", "ERR_RESOURCE_LIMIT"}
    if "ERR_NO_MEMORY" in limits_met:
        raise MemoryError
    if limits_met:
        raise AuditError(
            f"“{name}” nests its elements thousands deep, as no text does.", "Bring it as plain text instead."
        )
    return root


def page_text(root: Any) -> str:
    """The words of a page as a browser shows them: a blank line between paragraphs."""
    shown = _Lines()
    walker = etree.iterwalk(root, events=("start", "end"))
    preformatted = 0
    for event, element in walker:
        tag = local_name(element)
        shown.separate(tag)
        if event == "end":
            preformatted -= tag == "pre"
            if element is not root:
                shown.add(element.tail, preformatted > 0)
            continue
        preformatted += tag == "pre"
        if tag in _UNSEEN or (tag and element.get("hidden") is not None):
            walker.skip_subtree()
        elif element.tag is etree.Entity:
            shown.add(html.unescape(element.text or ""), preformatted > 0)
        else:
            shown.add(element.text, preformatted > 0)
    return shown.text()


def page_title(root: Any) -> str:
    """What the page's `title` element says, or nothing."""
    for element in root.iter():
        if local_name(element) == "title":
            return " ".join("".join(element.itertext()).split())
    return ""


def local_name(element: Any) -> str:
    """An element's name without its namespace, in lower case; empty for comments and the like."""
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


class _Lines:
    """Collects words; knows where a paragraph or a line ends."""

    def __init__(self) -> None:
        self._finished: list[str] = []
        self._line: list[str] = []

    def add(self, text: str | None, preformatted: bool) -> None:
        if text:
            self._line.append(text if preformatted else _HTML_SPACE.sub(" ", text))

    def separate(self, tag: str) -> None:
        """Ends the line or paragraph where `tag` does."""
        if tag in _PARAGRAPHS:
            self._end("\n\n")
        elif tag in _LINES or tag == "br":
            self._end("\n")
        elif tag in ("td", "th"):
            self._line.append(" ")

    def _end(self, separator: str) -> None:
        line = "".join(self._line)
        self._line = []
        words = line.strip("\n") if "\n" in line else re.sub(r"  +", " ", line).strip(" ")
        if words:
            self._finished += [words, separator]
        elif separator == "\n\n" and self._finished:
            self._finished[-1] = separator

    def text(self) -> str:
        self._end("\n\n")
        return "".join(self._finished[:-1])


def _markup_text(data: bytes, name: str) -> str:
    if len(data) > MARKUP_BYTES:
        raise too_large(name, len(data), MARKUP_BYTES)
    declared = _DECLARED_ENCODING.search(data[:2048])
    return decode(data, name, declared[1].decode("ascii") if declared else None).text


def _xml_root(text: str, name: str) -> Any:
    if "<!ENTITY" in text:
        raise bomb(name, "declares XML entities, which can swell without limit")
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    # The text is characters by now, so what it says of its own encoding no longer holds.
    bare = _XML_DECLARATION.sub("", text.lstrip("\ufeff"))
    return etree.fromstring(bare.encode("utf-8", "replace"), parser)
