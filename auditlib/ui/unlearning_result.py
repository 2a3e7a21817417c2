"""What the Unlearning page says of a finished run: the answer first, then what it rests on."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from auditlib.audits.unlearning import Role, UnlearningResult
from auditlib.core import AuditError, ModelIdentity
from auditlib.jobs.unlearning_report import evidence_as_shown
from auditlib.reports.package import Package, make_package
from auditlib.reports.unlearning_facts import forgotten_sentence
from auditlib.store import Run
from auditlib.ui.handing_over import hand_over
from auditlib.ui.library import store
from auditlib.ui.messages import as_text, duration, show_error, some
from auditlib.ui.runs import jobs
from auditlib.ui.unlearning_completions import completions
from auditlib.ui.unlearning_opened import FinishedUnlearning, as_shown, opened
from auditlib.ui.unlearning_screening import chosen_factor, screening
from auditlib.ui.unlearning_tables import forgetting_tables, questions
from auditlib.ui.verdicts import verdict_box


def show_unlearning(run: Run) -> None:
    """Everything that a finished run found."""
    try:
        done = opened(run)
    except AuditError as error:
        show_error(error)
        return
    _heading(done)
    _body(done)


@st.fragment
def _body(done: FinishedUnlearning) -> None:
    """All that window and ratings change: drawn anew alone, without asking a model."""
    try:
        answer = st.container()
        st.subheader("Chunk by chunk")
        factor = chosen_factor(done)
        result, ratings = as_shown(done, factor)
        with answer:
            _answer(result)
        screening(done, result)
        completions(done, result)
        questions(result)
        forgetting_tables(result)
        hand_over(
            done.run,
            (factor, tuple(sorted(ratings.items()))),
            lambda by, with_texts: _package(done, result, by, with_texts),
        )
        _origin(done)
    except AuditError as error:
        show_error(error)


def _heading(done: FinishedUnlearning) -> None:
    run, found = done.run, done.found
    st.subheader(as_text(run.name))
    took = f" · took {duration(run.seconds)}" if run.seconds is not None else ""
    who = f" · {as_text(run.who)}" if run.who else ""
    n_works = len({(line.role, line.work) for line in found.screening.lines})
    st.caption(
        f"{as_text(_short(found.original))} before, {as_text(_short(found.unlearned))} after · "
        f"{some(n_works, 'work')}, {some(len(found.screening.lines), 'chunk')} of {found.settings.chunk_words:,} words "
        f"· {run.created:%Y-%m-%d %H:%M} UTC{took}{who}"
    )
    for note in (*found.notes, *jobs().notes(run.id)):
        st.caption(as_text(note))


def _answer(result: UnlearningResult) -> None:
    verdict_box(result.verdict, forgotten_sentence(result.verdict.word))
    for sentence in result.verdict.over_forgetting:
        st.warning(f"**Over-forgetting.** {as_text(sentence)}", icon=":material/healing:")
    columns = st.columns(3)
    count, own = result.screening.count(Role.FORGET), result.forgetting.forgotten
    if count is not None:
        columns[0].metric(
            "Chunks to be forgotten, read as before",
            f"{count.n_suspicious:,} of {count.n_chunks:,}",
            help="suspicious: the ratio of both models' scores lies in the window",
        )
    if own.original is not None and own.unlearned is not None:
        columns[1].metric(
            "AUC, before → after",
            f"{own.original.estimate:.2f} → {own.unlearned.estimate:.2f}",
            help="of works to be forgotten against works never seen; 1: told apart every time, 0.5: not at all",
        )
    found = result.completions.comparison(
        "cosine", Role.KEEP.value, Role.FORGET.value
    ) or result.completions.comparison("rouge_l", Role.KEEP.value, Role.FORGET.value)
    if found is not None and found.difference is not None:
        one = found.difference
        columns[2].metric(
            "Completions of kept works nearer by",
            f"{one.estimate:+.2f}".replace("-", "−"),
            help=f"{'cosine' if found.measure == 'cosine' else 'ROUGE-L'}, than of works to be forgotten; 95% interval "
            f"{one.low:+.2f} to {one.high:+.2f}, by chunks",
        )


def _package(done: FinishedUnlearning, result: UnlearningResult, by: str, with_texts: bool) -> Package:
    return make_package(evidence_as_shown(store(), done.run, result, by, with_texts))


def _origin(done: FinishedUnlearning) -> None:
    found = done.found
    with st.expander("Where these numbers come from"):
        models = {"original": found.original, "unlearned": found.unlearned}
        models |= {"never trained": found.reference} if found.reference else {}
        st.dataframe(
            pd.DataFrame(
                {
                    "what": [name.replace("_", " ") for name in found.original.as_dict()],
                    **{
                        part: ["–" if value is None else str(value) for value in identity.as_dict().values()]
                        for part, identity in models.items()
                    },
                }
            ),
            hide_index=True,
        )
        facts = {"run": done.run.id, "seed": str(found.settings.seed), **done.run.versions}
        st.dataframe(pd.DataFrame({"what": list(facts), "value": list(facts.values())}), hide_index=True)


def _short(identity: ModelIdentity) -> str:
    return identity.name if not identity.adapter else f"{identity.name} (adapter {identity.adapter[:8]})"
