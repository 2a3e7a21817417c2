"""Chunk by chunk: the ratio of both models' scores, the window of suspicion, and one chunk opened under both."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from auditlib.audits.unlearning import Role, UnlearningResult
from auditlib.audits.unlearning.screening import FACTOR, ChunkLine
from auditlib.core import AuditError
from auditlib.reports.unlearning_facts import ROLE_WORDS
from auditlib.reports.unlearning_figures import ratio_figure
from auditlib.scoring import SCORES, read_texts
from auditlib.ui.heatmap import difference_payload, heatmap, heatmap_payload
from auditlib.ui.messages import show_error, signed
from auditlib.ui.reading import ALTERNATIVES_SHOWN
from auditlib.ui.runs import jobs
from auditlib.ui.unlearning_opened import NO_LOGO, FinishedUnlearning

WIDEST = 3.0


def chosen_factor(done: FinishedUnlearning) -> float:
    """The window as the person wants it, at first the run's."""
    began = done.found.settings.factor
    factor: float = st.slider(
        "Window: a chunk is suspicious where unlearned over original lies between 1/x and x, with x =",
        1.01,
        max(WIDEST, began),
        began,
        0.01,
        key=f"unlearning_factor_{done.run.id}",
        help=f"The paper takes {FACTOR:g}.",
    )
    return factor


def screening(done: FinishedUnlearning, result: UnlearningResult) -> None:
    """The chart with all chunks, the counts, the list, and heatmaps."""
    found = result.screening
    st.plotly_chart(ratio_figure(found), key="unlearning_ratios", config=NO_LOGO)
    st.caption(
        f"Each point is a chunk: its {SCORES[found.score].label} under the unlearned model over that under the "
        "original. In the band both read it alike: for a work that the original was taught, that is where unlearning "
        "may have failed. A work that neither ever saw lies there too. Above it the unlearned model finds the chunk "
        "stranger."
    )
    st.table(
        pd.DataFrame(
            [
                {
                    "": ROLE_WORDS[count.role],
                    "Chunks": f"{count.n_chunks:,}",
                    "Suspicious": f"{count.n_suspicious:,}",
                    "Share (95% interval)": f"{count.share.estimate:.0%} ({count.share.low:.0%} to "
                    f"{count.share.high:.0%})",
                    "By perplexity alone": f"{count.n_by_perplexity:,}",
                }
                for count in found.counts
            ]
        ).set_index("")
    )
    st.caption(
        "By perplexity alone: chunks whose ratio of perplexities lies in the same window, which is what would have "
        "been found without the score."
    )
    _list(done, result)


def _list(done: FinishedUnlearning, result: UnlearningResult) -> None:
    lines = [line for line in result.screening.lines if line.suspicious and line.role is not Role.HELD_OUT]
    others = [line for line in result.screening.lines if line not in lines]
    st.markdown("**Suspicious chunks** of works that the original was taught")
    if lines:
        st.dataframe(
            pd.DataFrame([_row(line) for line in lines]),
            hide_index=True,
            height=min(320, 38 + 35 * len(lines)),
        )
    else:
        st.caption("There is none in this window.")
    names = {
        line.id: f"{line.work[:60]}, from word {line.first_word + 1:,} ({line.role.value})"
        for line in result.screening.lines
    }
    choice, button = st.columns([3, 1], vertical_alignment="bottom")
    chosen: str = choice.selectbox(
        "Chunk", [line.id for line in (*lines, *others)], format_func=names.__getitem__, key="unlearning_chunk"
    )
    if button.button("Compare models", icon=":material/compare:", width="stretch"):
        st.session_state["unlearning_heatmap"] = (done.run.id, chosen)
    if st.session_state.get("unlearning_heatmap") == (done.run.id, chosen):
        try:
            _heatmaps(done, chosen)
        except AuditError as error:
            show_error(error)


def _heatmaps(done: FinishedUnlearning, chunk_id: str) -> None:
    if not done.chunks:
        raise AuditError("The words of this chunk cannot be shown.", done.without_texts)
    key = (done.run.id, chunk_id)
    if st.session_state.get("unlearning_payloads", (None,))[0] != key:
        with st.spinner("Both models read the chunk …"):
            st.session_state["unlearning_payloads"] = (key, _payloads(done, chunk_id))
    payloads: dict[str, dict[str, Any] | None] = st.session_state["unlearning_payloads"][1]
    for column, part in zip(st.columns(2), ("original", "unlearned"), strict=True):
        payload = payloads[part]
        with column:
            st.markdown(f"**{part.capitalize()} model**")
            if payload is not None:
                heatmap(payload, key=f"unlearning-{part}-{payload['id'][:16]}")
    difference = payloads["difference"]
    st.markdown("**Unlearned less original**")
    if difference is None:
        st.caption("The two models cut this text into different tokens, so there is no difference token by token.")
    else:
        heatmap(difference, key=f"unlearning-difference-{difference['id'][:16]}")


def _payloads(done: FinishedUnlearning, chunk_id: str) -> dict[str, dict[str, Any] | None]:
    chunk, settings = done.chunks[chunk_id], done.found.settings
    payloads: dict[str, dict[str, Any] | None] = {}
    readings, models = [], []
    for part, request in (("original", done.parameters.original), ("unlearned", done.parameters.unlearned)):
        model = jobs().model(request)
        ((_, reading),) = read_texts(
            model, [chunk.text], settings.k, lowercase=False, top=ALTERNATIVES_SHOWN, names=[chunk.name]
        )
        payloads[part] = heatmap_payload(model, reading)
        readings.append(reading)
        models.append(model)
    payloads["difference"] = difference_payload(models[1], readings[1], readings[0])
    return payloads


def _row(line: ChunkLine) -> dict[str, object]:
    return {
        "Work": line.work,
        "Role": line.role.value,
        "From word": line.first_word + 1,
        "Score, original": signed(line.original, 3),
        "Score, unlearned": signed(line.unlearned, 3),
        "Ratio": f"{line.ratio:.3f}",
        "Loss, original": f"{line.loss_original:.2f}",
        "Loss, unlearned": f"{line.loss_unlearned:.2f}",
        "Also by perplexity": "yes" if line.suspicious_by_perplexity else "no",
    }
