"""The heatmap as one HTML file that works offline, for sending on or keeping with a case."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from auditlib.core import ModelIdentity, library_versions
from auditlib.ui.heatmap.component import CSS, HTML, JS

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ --st-text-color: #1b2430; --st-background-color: #ffffff; --st-secondary-background-color: #f3f5f8;
  --st-border-color: #c9d0d9; --st-primary-color: #1f5a94; }}
@media (prefers-color-scheme: dark) {{ :root {{ --st-text-color: #e4e9f0; --st-background-color: #11161d;
  --st-secondary-background-color: #1b222c; --st-border-color: #3a4452; --st-primary-color: #3f81c4; }} }}
body {{ max-width: 62rem; margin: 1.5rem auto; padding: 0 1rem; font-family: system-ui, sans-serif;
  color: var(--st-text-color); background: var(--st-background-color); }}
h1 {{ font-size: 1.3rem; }}
table {{ border-collapse: collapse; font-size: 0.82rem; }}
th, td {{ text-align: left; padding: 0.1rem 0.8rem 0.1rem 0; vertical-align: top; overflow-wrap: anywhere; }}
th {{ font-weight: 500; white-space: nowrap; }}
{css}
.text {{ max-height: 75vh; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>Each token's log-probability under one model. A score of one text says nothing about where the text came from
until it is compared with texts whose origin is known.</p>
<div id="heatmap">{html}</div>
<h2 style="font-size:1rem">Where these numbers come from</h2>
<table>{facts}</table>
<script type="application/json" id="data">{data}</script>
<script type="module">
{js}
mount({{
  data: JSON.parse(document.getElementById("data").textContent),
  parentElement: document.getElementById("heatmap"),
  setStateValue() {{}},
}});
</script>
</body>
</html>
"""


def standalone_html(payload: dict[str, Any], identity: ModelIdentity, title: str, text_sha256: str, k: int) -> str:
    """A whole HTML page that shows `payload`, opened at `k` percent, without asking anybody for anything."""
    facts = {"text (SHA-256)": text_sha256, **identity.as_dict(), **library_versions()}
    rows = "".join(
        f"<tr><th>{escape(name.replace('_', ' '))}</th><td>{escape(value)}</td></tr>"
        for name, value in facts.items()
        if value is not None
    )
    # Inside a script element only "</" could end it early; as \u003c no "<" is left at all.
    data = json.dumps(payload | {"k": k}).replace("<", "\\u003c")
    return PAGE.format(title=escape(title), css=CSS, html=HTML, facts=rows, data=data, js=JS)
