"""Calibrations on the Runs page: their parameters in words, what a duplicate may change, and two of them compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from auditlib.audits.calibration import K_SCORES
from auditlib.core import Label
from auditlib.documents.cutting import METHODS, Cutting
from auditlib.evidence import Interval
from auditlib.evidence.thresholds import Rule
from auditlib.jobs import CalibrationParameters, CalibrationSummary, calibration_parameters, load_summary
from auditlib.reports.plain_words import interval_text
from auditlib.scoring import SCORES
from auditlib.store import Run
from auditlib.ui.companion_fields import companion_facts
from auditlib.ui.library import store
from auditlib.ui.messages import as_text, some
from auditlib.ui.model_fields import model_fields, model_words
from auditlib.ui.runs_charts import intervals_of_two

LARGEST_SEED = 2**31 - 1
USUAL_RULES: tuple[Rule, ...] = ("accuracy", 0.05, 0.01)
WORDS_ALONE = "the words alone, no model"


def calibration_words(run: Run) -> dict[str, str]:
    """See `RunView.words`."""
    asked = calibration_parameters(run.parameters)
    return {
        "Model": model_words(asked.model),
        "Texts": _texts(asked),
        "Cut": _cut(asked.cutting),
        "Texts in both sets": "left out" if asked.drop_shared else "kept",
        "k": f"{asked.k:g}% of tokens",
        "Alpha": f"{asked.alpha:g}",
        "Threshold": _rule(asked.rule),
        "Seed": str(asked.seed),
    } | companion_facts(asked.companions)


def calibration_changes(run: Run) -> dict[str, Any]:
    """See `RunView.changes`."""
    asked = calibration_parameters(run.parameters)
    left, middle, right = st.columns(3)
    # What an older or another program asked for is kept, also where these fields would not offer it.
    k = left.number_input("k (% of tokens)", min(0.1, asked.k), 100.0, asked.k, 5.0, "%g", key=f"copy_k_{run.id}")
    alpha = middle.number_input(
        "Alpha", min(0.001, asked.alpha), max(0.5, asked.alpha), asked.alpha, 0.01, "%.3g", key=f"copy_alpha_{run.id}"
    )
    seed = right.number_input(
        "Seed", 0, LARGEST_SEED, min(LARGEST_SEED, max(0, asked.seed)), 1, key=f"copy_seed_{run.id}"
    )
    rule = _chosen_rule(asked.rule, f"copy_rule_{run.id}")
    model = model_fields(asked.model, f"copy_{run.id}")
    now = replace(asked, k=float(k), alpha=float(alpha), seed=int(seed), rule=rule, model=model)
    return {
        name: getattr(now, name)
        for name in ("k", "alpha", "seed", "rule", "model")
        if getattr(now, name) != getattr(asked, name)
    }


def compare_calibrations(first: Run, second: Run) -> None:
    """See `RunView.compare`."""
    one, two = load_summary(store(), first), load_summary(store(), second)
    if one.sets_sha256 == two.sets_sha256:
        st.markdown("Both runs read the same texts.")
    else:
        st.warning(
            "The two runs read different texts, so a difference may be that of the texts.", icon=":material/compare:"
        )
    aucs = [_aucs(summary) for summary in (one, two)]
    names = list(dict.fromkeys([*aucs[0], *aucs[1]]))
    figure = intervals_of_two("first", aucs[0], "second", aucs[1], names, "AUC with its 95% interval", chance=0.5)
    st.plotly_chart(figure, key="compare_aucs", config={"displaylogo": False})
    verdicts = [
        {SCORES[name].label: method.verdict.word.value for name, method in summary.found.methods.items()}
        for summary in (one, two)
    ]
    rows = [
        {
            "Score": name,
            "AUC, first": _interval(aucs[0].get(name)),
            "AUC, second": _interval(aucs[1].get(name)),
            "Verdict, first": verdicts[0].get(name, "–"),
            "Verdict, second": verdicts[1].get(name, "–"),
        }
        for name in names
    ]
    st.table(pd.DataFrame(rows).set_index("Score"))
    n = [len(next(iter(summary.found.methods.values())).scores) for summary in (one, two)]
    st.caption(
        f"Estimates with 95% intervals, over {n[0]:,} and {n[1]:,} texts. Two intervals that overlap do not show that "
        "there is no difference, and k concerns "
        f"{' and '.join(as_text(SCORES[name].label) for name in K_SCORES)} only."
    )


def _aucs(summary: CalibrationSummary) -> dict[str, Interval]:
    found = summary.found
    aucs = {SCORES[name].label: method.findings.auc for name, method in found.methods.items()}
    return aucs | {WORDS_ALONE: found.words.blind.auc}


def _interval(value: Interval | None) -> str:
    return "–" if value is None else interval_text(value)


def _texts(asked: CalibrationParameters) -> str:
    if asked.texts == "demo":
        return "the demo that comes with the program"
    if asked.texts == "brought":
        return "uploaded for this run, and kept with it"
    n = {label: sum(one.label is label for one in asked.documents) for label in (Label.MEMBER, Label.NON_MEMBER)}
    return (
        f"{some(len(asked.documents), 'document')} of the workspace: {some(n[Label.MEMBER], 'member')}, "
        f"{some(n[Label.NON_MEMBER], 'non-member')}"
    )


def _cut(cutting: Cutting) -> str:
    said = METHODS[cutting.method]
    if cutting.method == "sample":
        return f"{said}: {some(cutting.count, 'snippet')} of {some(cutting.words, 'word')}, seed {cutting.seed}"
    return said if cutting.method == "whole" else f"{said}: {some(cutting.words, 'word')}"


def _rule(rule: Rule) -> str:
    return "by best accuracy" if rule == "accuracy" else f"at {100 * rule:.3g}% false positives"


def _chosen_rule(rule: Rule, key: str) -> Rule:
    options = list(dict.fromkeys([*USUAL_RULES, rule]))
    chosen: Rule = st.selectbox("Threshold", options, options.index(rule), format_func=_rule, key=key)
    return chosen
