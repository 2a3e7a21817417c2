"""A finished run to hand over: its report as HTML and PDF, and the evidence package."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from auditlib.core import AuditError
from auditlib.reports.package import Package
from auditlib.store import Run
from auditlib.ui.messages import as_text, show_error


def hand_over(run: Run, settings: tuple[object, ...], make: Callable[[str, bool], Package]) -> None:
    """Makes all three on demand, and offers them as long as `settings`, what the page shows, are the same.

    `make` is given who ran it and whether the texts go into the package; it may raise `AuditError`.
    """
    st.subheader("Hand it over")
    who, texts, button = st.columns([2, 2, 1], vertical_alignment="bottom")
    by = who.text_input("Who ran it (stands on the report)", max_chars=200, value=run.who, key=f"report_by_{run.id}")
    with_texts = texts.checkbox("Put the texts themselves into the package", key=f"{run.kind}_report_texts")
    key, kept_as = (run.id, *settings, by, with_texts), f"{run.kind}_report"
    if button.button("Make the report", icon=":material/description:", width="stretch"):
        with st.spinner("Writing the report, and printing it …"):
            try:
                st.session_state[kept_as] = (key, make(by, with_texts))
            except AuditError as error:
                show_error(error)
    kept = st.session_state.get(kept_as)
    if kept is None or kept[0] != key:
        st.caption("A report for people who were not here, and a package with every number that lets others check it.")
        return
    _offer(run, kept[1])


def _offer(run: Run, package: Package) -> None:
    stem = f"{run.kind}-{run.id[:8]}"
    columns = st.columns(3)
    offered = [("Report (HTML)", package.html, f"{stem}-report.html", "text/html", ":material/description:")]
    if package.pdf is not None:
        offered.append(
            ("Report (PDF)", package.pdf, f"{stem}-report.pdf", "application/pdf", ":material/picture_as_pdf:")
        )
    offered.append(
        ("Evidence package (zip)", package.data, f"{stem}-evidence.zip", "application/zip", ":material/folder_zip:")
    )
    for column, (label, data, name, media_type, icon) in zip(columns, offered, strict=False):
        column.download_button(
            label, data, file_name=name, mime=media_type, icon=icon, on_click="ignore", width="stretch"
        )
    if package.without_pdf:
        st.caption(f"There is no PDF: {as_text(package.without_pdf)}")
