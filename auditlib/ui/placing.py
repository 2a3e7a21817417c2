"""Where the text on the Inspect page stands among the texts of a saved calibration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from auditlib.audits.saved_calibration import Calibration, Placement, differences, place
from auditlib.core import AuditError
from auditlib.evidence import Word
from auditlib.scoring import SCORES
from auditlib.ui.calibration_charts import score_histogram
from auditlib.ui.calibration_save import saved_calibrations
from auditlib.ui.messages import as_text, show_error, signed
from auditlib.ui.reading import Inspection
from auditlib.ui.verdicts import verdict_box


def where_it_stands(inspection: Inspection) -> None:
    """A choice among the saved calibrations, and the text's place in the chosen one."""
    st.subheader("Where this text stands")
    try:
        saved = saved_calibrations()
        if not saved:
            st.info(
                "One text by itself cannot be told from luck. Calibrate this model on texts with a known answer, save "
                "that, and this text is placed among them.",
                icon=":material/balance:",
            )
            return
        # One that fits this model comes first: it is what people are looking for.
        names = sorted(saved, key=lambda name: bool(differences(saved[name], inspection.identity)))
        calibration = saved[st.selectbox("Calibration", names, key="placing_calibration")]
        if differences(calibration, inspection.identity):
            _another_model(calibration, inspection)
        else:
            _placed(calibration, inspection)
    except AuditError as error:
        show_error(error)


def _placed(calibration: Calibration, inspection: Inspection) -> None:
    score = SCORES[calibration.score]
    reading = replace(inspection.reading, k=calibration.k)
    if reason := score.unavailable_because(reading, inspection.capabilities):
        st.info(f"{score.label} cannot be had for this text. {as_text(reason)}")
        return
    placement = place(calibration, score.compute(reading), reading.stats.n_tokens, inspection.identity)
    _answer(calibration, placement)
    figure = score_histogram(
        np.array(calibration.members),
        np.array(calibration.non_members),
        score.unit,
        calibration.threshold,
        placement.score,
    )
    st.plotly_chart(figure, key="placing_histogram", config={"displaylogo": False})
    st.caption(
        f"{score.label} at k = {calibration.k:g}%: {signed(placement.score)} {score.unit}, higher than "
        f"{placement.members_below:.0%} of the {len(calibration.members):,} members and "
        f"{placement.non_members_below:.0%} of the {len(calibration.non_members):,} non-members. The number above "
        "follows the calibration's k, not the slider's."
    )


def _answer(calibration: Calibration, placement: Placement) -> None:
    meaning = {
        Word.SUPPORTED: "This text is more like the texts the model was trained on than like those it was not.",
        Word.NOT_SUPPORTED: "No evidence in this test that the model was trained on this text.",
        Word.INCONCLUSIVE: "The test could not tell whether the model was trained on this text.",
    }
    verdict_box(placement.verdict, meaning[placement.verdict.word])
    p = placement.p.p
    st.markdown(
        f"**p = {p:.3g}**: if the model had not been trained on this text, a score this high would come up in about "
        f"{100 * p:.3g}% of such texts. {as_text(placement.p.note)} This holds as far as the text is of the same kind "
        "as the calibration's non-members; it is one text, and p is not corrected for others that you may have tried."
    )


def _another_model(calibration: Calibration, inspection: Inspection) -> None:
    st.warning(
        "This calibration was made on another model, so it says nothing about this reading. Choose the model that was "
        "calibrated, or calibrate this one.",
        icon=":material/compare_arrows:",
    )
    own, other = calibration.model.as_dict(), inspection.identity.as_dict()
    st.dataframe(
        pd.DataFrame(
            {
                "what": [field.replace("_", " ") for field in own],
                "calibrated": [value or "–" for value in own.values()],
                "read by": [other[field] or "–" for field in own],
                "the same": ["yes" if own[field] == other[field] else "no" for field in own],
            }
        ),
        hide_index=True,
    )
