"""The member and the non-member set: cut into snippets, counted, compared, and searched for shared passages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from auditlib.core import Label, Snippet, settings
from auditlib.documents.sets import (
    LengthHistogram,
    SharedPassage,
    count_sets,
    length_histogram,
    shared_passages,
    without_shared,
)
from auditlib.store import StoredDocument
from auditlib.ui.charts import MARKED, REST, framed
from auditlib.ui.cutting import choose_cutting, cuts_of, key_of
from auditlib.ui.library import labelled_documents
from auditlib.ui.messages import as_text

MOST_PAIRS_SHOWN = 200
QUOTED_CHARACTERS = 90


def document_sets(documents: list[StoredDocument]) -> None:
    """Both sets as they would go into a calibration."""
    labelled = [d for d in documents if d.label is not Label.UNKNOWN]
    if not labelled:
        st.info("Mark texts as member or non-member in the table above, and the two sets are compared here.")
        return
    marks = tuple((d.key, d.document_id, d.label.value, d.group) for d in labelled)
    texts = labelled_documents(str(settings().home_folder), marks)
    cuts = cuts_of(key_of(texts), texts, choose_cutting("sets"))
    snippets = [snippet for cut in cuts for snippet in cut.snippets]
    notes = [cut.note for cut in cuts if cut.note]
    pairs = _shared(snippets)
    if pairs and st.toggle(f"Drop the texts behind the {len(pairs):,} shared passages", value=True):
        snippets = without_shared(snippets, pairs)
    _counts(snippets)
    for note in notes[:5]:
        st.caption(as_text(note))
    if len(notes) > 5:
        st.caption(f"… and {len(notes) - 5:,} more notes of this kind.")
    if snippets:
        st.plotly_chart(lengths_chart(length_histogram(snippets)), key="lengths", config={"displaylogo": False})
        st.caption("Lengths of both sets in words. Where they differ, a score may tell lengths apart only.")
    if pairs:
        _pairs_table([s for cut in cuts for s in cut.snippets], pairs)
    st.download_button(
        "Both sets (JSONL)",
        "".join(json.dumps(asdict(snippet), ensure_ascii=False) + "\n" for snippet in snippets),
        file_name="sets.jsonl",
        mime="application/jsonl",
        icon=":material/download:",
        on_click="ignore",
    )


def lengths_chart(histogram: LengthHistogram) -> go.Figure:
    """Lengths in words of members and non-members in the same bins, side by side."""
    middles = (histogram.edges[:-1] + histogram.edges[1:]) / 2
    figure = go.Figure()
    for label, colour in ((Label.MEMBER, MARKED), (Label.NON_MEMBER, REST)):
        figure.add_bar(x=middles, y=histogram.counts[label], name=f"{label.value}s", marker_color=colour)
    figure.update_layout(barmode="group")
    return framed(figure, "words", "snippets")


@st.cache_data(show_spinner="Looking for shared passages …", max_entries=4)
def _shared(snippets: list[Snippet]) -> list[SharedPassage]:
    return shared_passages(snippets)


def _counts(snippets: Sequence[Snippet]) -> None:
    counts = count_sets(snippets)
    rows = []
    for label in (Label.MEMBER, Label.NON_MEMBER):
        lengths = [s.word_count for s in snippets if s.label is label]
        rows.append(
            {
                "Set": f"{label.value}s",
                "Snippets": f"{counts[label].snippets:,}",
                "Groups": f"{counts[label].groups:,}",
                "Words": f"{counts[label].words:,}",
                "Words a snippet (median)": f"{np.median(lengths):,.0f}" if lengths else "–",
            }
        )
    st.table(pd.DataFrame(rows).set_index("Set"))


def _pairs_table(snippets: Sequence[Snippet], pairs: Sequence[SharedPassage]) -> None:
    across = sum(pair.across for pair in pairs)
    st.markdown(
        f"**{len(pairs):,} pairs of texts share a passage, {across:,} of them across the two sets.** "
        "A passage that stands in both sets is called member and non-member at once."
    )
    rows = [
        {
            "where": "across the sets" if pair.across else f"within {snippets[pair.first].label.value}s",
            "words shared": pair.shared_words,
            "share of the shorter": f"{100 * pair.share:.0f}%",
            "one text": _quoted(snippets[pair.first]),
            "the other": _quoted(snippets[pair.second]),
        }
        for pair in pairs[:MOST_PAIRS_SHOWN]
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True)
    if len(pairs) > MOST_PAIRS_SHOWN:
        st.caption(f"The first {MOST_PAIRS_SHOWN} are shown.")


def _quoted(snippet: Snippet) -> str:
    beginning = " ".join(snippet.text[: 2 * QUOTED_CHARACTERS].split())
    return f"{snippet.group}, word {snippet.first_word + 1:,}: {beginning[:QUOTED_CHARACTERS]}…"
