"""What the Inspect page says of a text once it was read: answer, heatmap, scores, charts, downloads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import PurePath

import pandas as pd
import streamlit as st

from auditlib.core import library_versions
from auditlib.scoring import SCORES, Reading
from auditlib.scoring.loss import perplexity
from auditlib.scoring.min_k import bottom_mask
from auditlib.scoring.token_table import token_table
from auditlib.ui.charts import logprob_histogram, running_logprob
from auditlib.ui.heatmap import heatmap, standalone_html
from auditlib.ui.messages import as_text, signed
from auditlib.ui.placing import where_it_stands
from auditlib.ui.reading import Inspection


@st.fragment
def show_result(inspection: Inspection) -> None:
    """Everything about one reading. Redrawn alone, without the model, when k is moved."""
    _answer(inspection)
    k = heatmap(inspection.payload, key=f"heatmap-{inspection.payload['id'][:16]}")
    reading = replace(inspection.reading, k=float(k))
    _scores(inspection, reading)
    where_it_stands(inspection)
    _charts(reading)
    _downloads(inspection, reading)
    _method(inspection)


def _answer(inspection: Inspection) -> None:
    stats = inspection.reading.stats
    for warning in inspection.document.warnings:
        st.warning(as_text(warning), icon=":material/warning:")
    st.subheader(as_text(inspection.document.title))
    st.markdown(
        f"**{as_text(inspection.identity.name)} read {stats.n_tokens:,} tokens and was, on average, as unsure "
        f"of each as among {perplexity(stats.logprob):,.1f} equally likely ones** (its perplexity). "
        "This is one text without a comparison: by itself it cannot tell whether the model was trained on it."
    )


def _scores(inspection: Inspection, reading: Reading) -> None:
    st.subheader("Scores")
    rows = []
    of_the_text_alone = {name: score for name, score in SCORES.items() if not score.needs_a_second_look}
    for name, score in of_the_text_alone.items():
        reason = score.unavailable_because(reading, inspection.capabilities)
        value = f"– ({reason})" if reason else f"{signed(score.compute(reading), 5)} {score.unit}"
        if name == "loss":
            value += f" (perplexity {perplexity(reading.stats.logprob):,.2f})"
        label = f"{score.label} (k = {reading.k:g}%)" if name.startswith("min_k") else score.label
        rows.append(
            {"Score": label, "Value": value, "What it measures": score.meaning, "How to read it": score.direction}
        )
    st.table(pd.DataFrame(rows).set_index("Score"))
    st.caption(
        f"One text of {reading.stats.n_tokens:,} scored tokens. In every score, higher means more like what the model "
        "was trained on. "
        f"{', '.join(score.label for score in SCORES.values() if score.needs_a_second_look)} need another model, other "
        "texts or a corpus besides: Calibrate and Books have them."
    )


def _charts(reading: Reading) -> None:
    logprob = reading.stats.logprob
    marked = bottom_mask(logprob, reading.k)
    left, right = st.columns(2)
    with left:
        st.subheader("How surprising its tokens are")
        st.plotly_chart(logprob_histogram(logprob, marked, reading.k), key="histogram", config={"displaylogo": False})
        st.caption(f"{len(logprob):,} tokens by log-probability. Min-K% is the mean of those left of the dashed cut.")
    with right:
        st.subheader("Along the text")
        st.plotly_chart(running_logprob(logprob, marked, reading.k), key="running", config={"displaylogo": False})
        st.caption("Where the text runs as the model foresees it (near 0) and where it does not.")


def _downloads(inspection: Inspection, reading: Reading) -> None:
    table = _spreadsheet_safe(token_table(reading, inspection.token_texts))
    stem = _file_stem(inspection.document.source_name)
    page = standalone_html(
        inspection.payload, inspection.identity, inspection.document.title, inspection.document.id, k=round(reading.k)
    )
    left, right, _ = st.columns([1, 1, 2])
    left.download_button(
        "Token table (CSV)",
        table.to_csv(index=False).encode("utf-8-sig"),
        file_name=f"{stem}-tokens.csv",
        mime="text/csv",
        icon=":material/table:",
        on_click="ignore",
        width="stretch",
    )
    right.download_button(
        "Heatmap (HTML)",
        page,
        file_name=f"{stem}-heatmap.html",
        mime="text/html",
        icon=":material/download:",
        on_click="ignore",
        width="stretch",
    )
    with st.expander("Every token as a table"):
        st.dataframe(table, hide_index=True, height=320)


def _method(inspection: Inspection) -> None:
    with st.expander("Where these numbers come from"):
        facts = {"text (SHA-256)": inspection.document.id, **inspection.identity.as_dict(), "device": inspection.device}
        facts |= library_versions()
        names = [name.replace("_", " ") for name in facts]
        st.dataframe(
            pd.DataFrame({"what": names, "value": ["–" if v is None else str(v) for v in facts.values()]}),
            hide_index=True,
        )
        st.markdown("The Method page explains each step and each score.")


def _spreadsheet_safe(table: pd.DataFrame) -> pd.DataFrame:
    """Text columns as JSON strings: white space shows, and no spreadsheet takes `=1+1` for a formula."""
    quoted = {name: [json.dumps(t, ensure_ascii=False) for t in table[name]] for name in ("text", "token")}
    return table.assign(**quoted)


def _file_stem(source_name: str) -> str:
    stem = "".join(c if c.isalnum() or c in "-_" else "-" for c in PurePath(source_name).stem).strip("-")
    return stem[:60] or "text"
