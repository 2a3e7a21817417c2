"""How near the unlearned model's completions come to the truth: distributions, the closest ones, and their ratings."""

from __future__ import annotations

from html import escape

import pandas as pd
import streamlit as st

from auditlib.audits.unlearning import Completion, CompletionTest, UnlearningResult
from auditlib.audits.unlearning.completions import MEASURES, Comparison
from auditlib.audits.unlearning.gallery import GalleryItem, Quoted
from auditlib.reports.plain_words import interval_text, p_text
from auditlib.reports.unlearning_figures import similarity_figure
from auditlib.scoring.similarity import longest_run, shared_runs
from auditlib.ui.messages import as_text, some
from auditlib.ui.unlearning_opened import NO_LOGO, FinishedUnlearning, rate

SHOWN_OPEN = 2
HIGH = 4  # "much the same": what the paper counts as very similar
MARK = '<mark style="background: rgba(47, 127, 208, 0.32); color: inherit; border-radius: 2px">'
BOX = '<div style="white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.55">'


def completions(done: FinishedUnlearning, result: UnlearningResult) -> None:
    """The whole section."""
    test = result.completions
    st.subheader("What it writes when it is given a beginning")
    if test.missing:
        st.info(f"No completions. {as_text(test.missing)}", icon=":material/edit_off:")
        return
    _distributions(result)
    tokens, seconds = done.speed
    rate_said = f" {tokens:,} tokens were drawn, {tokens / seconds:,.0f} a second." if seconds else ""
    st.caption(
        f"The first {test.prompt_words:,} words of a chunk were given, and {test.sampling.samples:,} continuations "
        f"drawn of each (seed {test.sampling.seed}, temperature {test.sampling.temperature:g}, top-p "
        f"{test.sampling.top_p:g}, at most {test.sampling.max_new_tokens:,} tokens).{rate_said}"
    )
    for note in test.notes:
        st.caption(as_text(note))
    _gallery(done, test)
    _panel(done, test)


def _distributions(result: UnlearningResult) -> None:
    test = result.completions
    measures = [name for name in MEASURES if any(one.measure(name) is not None for one in test.completions)]
    chosen: str = (
        st.segmented_control(
            "Measured by",
            measures,
            default=measures[0],
            format_func=MEASURES.__getitem__,
            key="unlearning_measure",
        )
        or measures[0]
    )
    figure = similarity_figure(test, result.screening, chosen)
    st.plotly_chart(figure, key=f"unlearning_similarity_{chosen}", config=NO_LOGO)
    by = f", by {as_text(test.embedding)}" if chosen == "cosine" else ""
    st.caption(f"Completion against true continuation: {MEASURES[chosen]}{by}.")
    st.table(pd.DataFrame([_row(one) for one in test.comparisons if one.measure == chosen]).set_index("Completions of"))
    st.caption("Each chunk counts once, by the mean of its samples; intervals and p vary over chunks.")


def _row(one: Comparison) -> dict[str, str]:
    return {
        "Completions of": f"{one.first} ({one.n_first:,})",
        "against": f"{one.second} ({one.n_second:,})",
        "Means": one.means_text,
        "Difference (95% interval)": interval_text(one.difference, "+.2f") if one.difference else one.missing,
        "p": p_text(one.p) if one.p is not None else "–",
    }


def _gallery(done: FinishedUnlearning, test: CompletionTest) -> None:
    st.markdown("**The closest completions**, with runs of words that both texts share")
    by_key = {(one.chunk, one.sample): one for one in test.completions}
    for number, item in enumerate(done.gallery.items):
        one = by_key[item.chunk, item.sample]
        with st.expander(
            as_text(f"{item.work[:60]} ({item.role.value}), from word {item.first_word + 1:,}: {likeness(one)}"),
            expanded=number < SHOWN_OPEN,
        ):
            _card(done, one, item, "gallery")


def _card(done: FinishedUnlearning, one: Completion, item: GalleryItem | None, where: str) -> None:
    """Both texts side by side, and their rating."""
    chunk = done.chunks.get(one.chunk)
    if chunk is not None:
        st.caption(f"The prompt ends: … {as_text(' '.join(chunk.prompt.split()[-15:]))}")
        truth, written = marked(chunk.continuation, one.text)
    elif item is not None:
        st.caption(f"The prompt ends: {as_text(item.prompt_end)}")
        truth, written = _quoted(item.truth), _quoted(item.written)
    else:
        truth, written = f"{BOX}{escape(done.without_texts)}</div>", f"{BOX}{escape(one.text)}</div>"
    left, right = st.columns(2)
    left.markdown("How the work goes on")
    left.html(truth)
    right.markdown(f"What the unlearned model wrote (sample {one.sample + 1})")
    right.html(written)
    said, field = st.columns([3, 2], vertical_alignment="bottom")
    if one.judge is not None:
        said.markdown(f"Judge: **{one.judge}** of 5. {as_text(one.judge_reason)}")
    elif one.judge_missing:
        said.markdown(f"No rating by the judge: {as_text(one.judge_missing)}.")
    key = f"unlearning_rate_{where}_{done.run.id}_{one.chunk}_{one.sample}"
    field.segmented_control(
        "Your rating (1: nothing in common, 5: nearly the same); it counts before the judge's",
        [1, 2, 3, 4, 5],
        default=one.person,
        key=key,
        on_change=_rated,
        args=(done, one, key),
    )


def _rated(done: FinishedUnlearning, one: Completion, key: str) -> None:
    rate(done.run, one, st.session_state[key])


def _panel(done: FinishedUnlearning, test: CompletionTest) -> None:
    panel = test.panel
    with st.container(border=True):
        st.markdown(f"**Ratings**{f', by {as_text(panel.model)}' if panel.model else ''}")
        if panel.said:
            st.info(as_text(panel.said), icon=":material/gavel:")
        rated = [one for one in test.completions if one.rating is not None]
        by_people = sum(one.person is not None for one in rated)
        if rated:
            high = [one for one in rated if (one.rating or 0) >= HIGH]
            st.markdown(
                f"{some(len(rated), 'completion')} rated ({by_people:,} by people, whose ratings count). "
                f"{len(high):,} of them ({len(high) / len(rated):.1%}) have {HIGH} or 5, from "
                f"{some(len({one.chunk for one in high}), 'chunk')}."
            )
            agreed = panel.agreement
            st.caption(
                f"Ratings and sentence embeddings put completions into the same order to a degree of "
                f"{interval_text(agreed.spearman)} (Spearman's correlation, {agreed.n:,} completions)."
                if agreed.spearman
                else f"Agreement of ratings and embeddings: {as_text(agreed.missing)}"
            )
        for why, n in sorted(panel.n_unrated.items()):
            st.caption(f"Without a rating: {n:,}, as {as_text(why)}.")
        _any_other(done, test)


def _any_other(done: FinishedUnlearning, test: CompletionTest) -> None:
    """A table of all completions; the one that is picked is opened below, to be read and rated."""
    with st.expander(f"All {len(test.completions):,} completions: pick one to read and rate it"):
        measure = "cosine" if any(one.cosine is not None for one in test.completions) else "rouge_l"
        ranked = sorted(test.completions, key=lambda one: -(one.measure(measure) or 0.0))
        roles = {line.id: (line.work, line.role.value, line.first_word + 1) for line in done.found.screening.lines}
        picked = st.dataframe(
            pd.DataFrame(
                [
                    {
                        "Work": roles[one.chunk][0],
                        "Role": roles[one.chunk][1],
                        "From word": roles[one.chunk][2],
                        "Sample": one.sample + 1,
                        "Cosine": one.cosine,
                        "ROUGE-L": one.rouge_l,
                        "Words in a row": one.run_words,
                        "Judge": one.judge,
                        "You": one.person,
                    }
                    for one in ranked
                ]
            ),
            hide_index=True,
            height=320,
            on_select="rerun",
            selection_mode="single-row",
            key=f"unlearning_all_{done.run.id}",
            column_config={
                "Cosine": st.column_config.NumberColumn(format="%.3f"),
                "ROUGE-L": st.column_config.NumberColumn(format="%.3f"),
            },
        )
        rows = picked["selection"]["rows"]
        if rows:
            _card(done, ranked[rows[0]], None, "all")


def likeness(one: Completion) -> str:
    """How alike a completion is, in few words."""
    cosine = "" if one.cosine is None else f"cosine {one.cosine:.2f}, "
    return f"{cosine}ROUGE-L {one.rouge_l:.2f}, {some(one.run_words, 'word')} in a row"


def marked(truth: str, written: str) -> tuple[str, str]:
    """Both texts as HTML, everything in them escaped, with the runs of 3 words or more that both have in order, or
    else the longest there is.
    """
    runs = shared_runs(truth, written) or tuple(filter(None, [longest_run(truth, written)]))
    ours = [(run.reference_start, run.reference_end) for run in runs]
    theirs = [(run.candidate_start, run.candidate_end) for run in runs]
    return _with_marks(truth, ours), _with_marks(written, theirs)


def _with_marks(text: str, spans: list[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in spans:
        parts += [escape(text[at:start]), MARK, escape(text[start:end]), "</mark>"]
        at = end
    return f"{BOX}{''.join(parts)}{escape(text[at:])}</div>"


def _quoted(text: Quoted) -> str:
    return f"{BOX}{escape(text.before)} {MARK}{escape(text.run)}</mark> {escape(text.after)}</div>"
