"""The heatmap as a Streamlit component of our own: inline HTML, CSS and JavaScript, no build step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

HERE = Path(__file__).parent
HTML = (HERE / "heatmap.html").read_text(encoding="utf-8")
CSS = (HERE / "heatmap.css").read_text(encoding="utf-8")
JS = (HERE / "heatmap.js").read_text(encoding="utf-8")

_component = st.components.v2.component("pretraining_audit_heatmap", html=HTML, css=CSS, js=JS)


def heatmap(payload: dict[str, Any], key: str) -> int:
    """Draws the heatmap and returns the k (percent) that the person has chosen in it.

    Colours, outlines and scores follow the slider in the browser; the page hears of k when it is let go.
    """
    result = _component(key=key, data=payload, default={"k": payload["k"]}, on_k_change=lambda: None)
    return int(result.k or payload["k"])
