"""What the Calibrate page says once both sets were read: verdict, charts, methods, and what could be wrong with it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from auditlib.audits.calibration import K_SCORES, Calibrated, MethodResult, judged_at
from auditlib.audits.sets import score_table
from auditlib.core import AuditError
from auditlib.evidence import Difference, Interval, TprAtFpr, Word
from auditlib.jobs import calibration_parameters
from auditlib.reports.figures import auc_by_method, k_sweep_figure, roc_figure, roc_log_figure
from auditlib.reports.package import spreadsheet_csv
from auditlib.scoring import SCORES
from auditlib.store import Run
from auditlib.ui import calibration_run
from auditlib.ui.calibration_charts import length_classes_figure, length_figure, score_histogram
from auditlib.ui.calibration_report import report_and_package
from auditlib.ui.calibration_run import FinishedCalibration
from auditlib.ui.calibration_save import save_and_export
from auditlib.ui.messages import as_text, show_error, signed
from auditlib.ui.rules import name_of_rule, rules_with
from auditlib.ui.run_heading import run_heading
from auditlib.ui.verdicts import verdict_box

NO_LOGO = {"displaylogo": False}


def show_calibration(run: Run) -> None:
    """Everything that a finished run found about one pair of sets under one model."""
    try:
        done = calibration_run.finished(run)
        _heading(done)
        method_name, found = _controls(done)
        method = found.methods[method_name]
        _answer(done, method)
        _charts(done, found, method)
        _methods(found, method_name)
        save_and_export(done, found, method_name)
        report_and_package(done, found, method_name)
        _sweep(done, found, method_name)
        _length(done, method, found.k)
        _words(found)
        _nulls(done, found, method_name)
        _origin(done, found)
    except AuditError as error:
        show_error(error)


def _heading(done: FinishedCalibration) -> None:
    run_heading(
        done.run,
        done.summary.model,
        calibration_parameters(done.run.parameters).model,
        f"{len(done.table):,} texts",
        done.summary.notes,
    )
    if done.read is None:
        st.info(
            "Texts or readings of this run were deleted since. What it found is shown below; k and threshold rule stay "
            "as they were, as another would need them.",
            icon=":material/history:",
        )


def _controls(done: FinishedCalibration) -> tuple[str, Calibrated]:
    first = done.summary.found
    names, fixed = list(first.methods), done.read is None
    method, k, alpha, rule = st.columns(4)
    chosen: str = method.selectbox(
        "Score",
        names,
        index=names.index("min_k") if "min_k" in names else 0,
        format_func=lambda name: SCORES[name].label,
        key="calibration_score",
    )
    rules = rules_with(first.rule)
    began = {
        "calibration_k": round(first.k),
        "calibration_alpha": first.alpha,
        "calibration_rule": name_of_rule(first.rule),
    }
    for name, value in began.items():
        st.session_state.setdefault(name, value)
    percent = k.slider("k (% of tokens, Min-K% family)", 1, 100, key="calibration_k", disabled=fixed)
    level = alpha.number_input("Alpha", 0.001, 0.5, step=0.01, format="%.3f", key="calibration_alpha")
    way: str = rule.selectbox("Threshold by", list(rules), key="calibration_rule", disabled=fixed)
    moved = percent != round(first.k)
    found = calibration_run.calibrated(done, float(percent) if moved else first.k, rules[way])
    return chosen, judged_at(found, float(level))


def _answer(done: FinishedCalibration, method: MethodResult) -> None:
    label, model = SCORES[method.name].label, done.summary.model.name
    meaning = {
        Word.SUPPORTED: f"{label} tells texts that {model} was trained on from texts that it was not, on these sets.",
        Word.NOT_SUPPORTED: f"No evidence in this test that {label} tells these sets apart under {model}.",
        Word.INCONCLUSIVE: f"The test could not tell whether {label} recognises what {model} was trained on.",
    }
    verdict_box(method.verdict, meaning[method.verdict.word])


def _charts(done: FinishedCalibration, found: Calibrated, method: MethodResult) -> None:
    is_member, score = done.is_member, SCORES[method.name]
    left, right = st.columns(2)
    with left:
        st.subheader("Scores of both sets")
        threshold = method.threshold.threshold if method.threshold else None
        figure = score_histogram(method.scores[is_member], method.scores[~is_member], score.unit, threshold)
        st.plotly_chart(figure, key="calibration_histogram", config=NO_LOGO)
        if method.threshold:
            st.caption(
                f"At the threshold of {signed(method.threshold.threshold)}, {_percent(method.threshold.accuracy)} of "
                f"texts are called rightly out of fold: {_percent(method.threshold.tpr)} of members are found, "
                f"{_percent(method.threshold.fpr)} of non-members are called members."
            )
        else:
            st.caption(as_text(method.no_threshold))
    with right:
        st.subheader("ROC")
        logarithmic = st.toggle("Logarithmic axes: what happens at few false positives", key="calibration_log")
        others = {SCORES[name].label: m.roc for name, m in found.methods.items() if name != method.name}
        figure = (roc_log_figure if logarithmic else roc_figure)({score.label: method.roc} | others)
        st.plotly_chart(figure, key="calibration_roc", config=NO_LOGO)
        n = len(is_member)
        st.caption(f"{n:,} texts, {int(is_member.sum()):,} of them members. The dotted line is chance.")


def _methods(found: Calibrated, chosen: str) -> None:
    st.subheader("All methods")
    aucs = {SCORES[name].label: method.findings.auc for name, method in found.methods.items()}
    figure = auc_by_method(aucs, found.words.blind.auc, SCORES[chosen].label)
    st.plotly_chart(figure, key="calibration_aucs", config=NO_LOGO)
    rows = []
    for name, method in found.methods.items():
        rows.append(
            {
                "Method": f"{SCORES[name].label} (k = {found.k:g}%)" if name in K_SCORES else SCORES[name].label,
                "AUC": _interval(method.findings.auc),
                "TPR at 5% FPR": _rate(method.tpr_at[0.05]),
                "TPR at 1% FPR": _rate(method.tpr_at[0.01]),
                "Accuracy": _percent(method.threshold.accuracy) if method.threshold else "–",
                "Threshold": signed(method.threshold.threshold) if method.threshold else "–",
                "Over the words alone": _interval(method.findings.over_blind),
                "Verdict": method.verdict.word.value,
            }
        )
    blind = {"Method": "the words alone, without the model", "AUC": _interval(found.words.blind.auc)}
    table = pd.DataFrame([*rows, blind]).fillna("").set_index("Method")
    st.table(table)
    for reason in dict.fromkeys(r for method in found.methods.values() for r in method.unresolved.values()):
        st.caption(f"– {as_text(reason)}")
    for name, reason in found.unavailable.items():
        st.caption(f"{SCORES[name].label}: {as_text(reason)}")
    st.caption(
        "Estimates with 95% intervals in brackets. TPR is measured on the half of the texts that did not fix the "
        "threshold, at the FPR that came out there; accuracy out of fold. p is corrected for the number of methods."
    )


def _sweep(done: FinishedCalibration, found: Calibrated, name: str) -> None:
    with st.expander("How much k matters"):
        if name not in K_SCORES:
            st.caption(f"{SCORES[name].label} has no k.")
            return
        try:
            sweep = calibration_run.sweep(done, name)
        except AuditError as error:
            st.caption(as_text(str(error)))
            return
        if sweep is None:
            st.caption("The run did not compute it.")
            return
        st.plotly_chart(
            k_sweep_figure(sweep.ks, sweep.auc_by_k, sweep.chosen_k), key="calibration_sweep", config=NO_LOGO
        )
        st.caption(
            f"Choosing k by the best AUC flatters it. Chosen on one half of the texts it is {sweep.chosen_k}%, with an "
            f"AUC of {_interval(sweep.chosen.held_out)} on the other half."
        )


def _length(done: FinishedCalibration, method: MethodResult, k: float) -> None:
    with st.expander("Does length explain it?"):
        figure = length_figure(done.n_tokens, method.scores, done.is_member)
        st.plotly_chart(figure, key="calibration_length", config=NO_LOGO)
        st.caption(
            f"Spearman correlation of score and length: {signed(method.length.rho, 2)} (p {method.length.p:.2g}), over "
            f"{len(method.scores):,} texts."
        )
        classes = calibration_run.by_length(done, method, k)
        if classes:
            st.plotly_chart(length_classes_figure(classes), key="calibration_length_classes", config=NO_LOGO)
            st.caption("AUC among texts of about one length.")


def _words(found: Calibrated) -> None:
    with st.expander("What the words tell by themselves"):
        blind = found.words.blind
        st.markdown(
            "A classifier that never asks the model learns to tell the sets apart from words, letters, lengths and "
            f"years. Its AUC on texts it has not seen is **{_interval(blind.auc)}**. If it does as well as a score, "
            "then the score may have recognised a difference between the texts and not the model's memory of them."
        )
        columns = st.columns(2)
        for column, sign, said in ((columns[0], 1, "members"), (columns[1], -1, "non-members")):
            told = [t for t in blind.strongest if t.weight * sign > 0][:10]
            column.markdown(f"Most typical of {said}")
            column.dataframe(
                pd.DataFrame({"what": [t.name for t in told], "weight": [round(abs(t.weight), 3) for t in told]}),
                hide_index=True,
            )


def _nulls(done: FinishedCalibration, found: Calibrated, name: str) -> None:
    with st.expander("Two runs that must find nothing"):
        st.markdown(
            "With the labels the other way round nothing may be supported; and non-members against other non-members "
            "must come out at an AUC of 0.5. If either finds something, the audit is at fault and not the model."
        )
        runs = calibration_run.nulls(done, found, name)
        st.markdown(f"- Labels reversed: AUC {_interval(runs.reversed_auc)}, verdict {runs.reversed_verdict.value}.")
        if runs.a_a is None:
            st.markdown(f"- Non-members against non-members: {as_text(runs.a_a_missing)}")
        else:
            holds = "holds 0.5, as it should" if runs.a_a.low <= 0.5 <= runs.a_a.high else "does not hold 0.5"
            st.markdown(
                f"- Non-members against non-members: AUC {_interval(runs.a_a)}, which {holds} (by chance one run in "
                "twenty does not)."
            )


def _origin(done: FinishedCalibration, found: Calibrated) -> None:
    with st.expander("Where these numbers come from"):
        facts = {
            **done.summary.model.as_dict(),
            "run": done.run.id,
            "members (SHA-256 over all)": done.summary.members_sha256,
            "non-members (SHA-256 over all)": done.summary.non_members_sha256,
            "seed": str(found.seed),
            **done.summary.versions,
        }
        st.dataframe(
            pd.DataFrame(
                {
                    "what": [n.replace("_", " ") for n in facts],
                    "value": ["–" if v is None else v for v in facts.values()],
                }
            ),
            hide_index=True,
        )
        st.download_button(
            "Score table (CSV)",
            lambda: spreadsheet_csv(
                done.table if done.read is None else score_table(done.read, found.k)
            ),  # takes seconds for 10,000 texts: made when asked for
            file_name="scores.csv",
            mime="text/csv",
            icon=":material/table:",
            on_click="ignore",
        )


def _interval(value: Interval | Difference | None) -> str:
    if value is None:
        return "–"
    return f"{signed(value.estimate, 2)} [{signed(value.low, 2)}, {signed(value.high, 2)}]"


def _percent(value: Interval) -> str:
    return f"{value.estimate:.0%} [{value.low:.0%}, {value.high:.0%}]"


def _rate(value: TprAtFpr | None) -> str:
    return "–" if value is None else f"{_percent(value.tpr)} at {_percent(value.fpr)}"
