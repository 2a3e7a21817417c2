"""The closest completions, quoted shortly (Shi et al. 2024, Table 10): what was written where the work goes on so."""

from __future__ import annotations

from dataclasses import dataclass, replace

from auditlib.audits.unlearning.audit import UnlearningResult
from auditlib.audits.unlearning.chunks import Chunks, Role
from auditlib.audits.unlearning.completions import CompletionTest, closest
from auditlib.scoring.similarity import longest_run

LONGEST_QUOTED = 300  # characters of a work
SHOWN = {Role.FORGET: 10, Role.KEEP: 3}


@dataclass(frozen=True)
class Quoted:
    """A few words around a run that two texts share: what stands before it, the run, and what follows."""

    before: str
    run: str
    after: str


@dataclass(frozen=True)
class GalleryItem:
    """One of the closest completions: the end of its prompt, the true continuation and what was written instead."""

    chunk: str
    sample: int
    work: str
    role: Role
    first_word: int
    cosine: float | None
    rouge_l: float
    run_words: int
    judge: int | None
    judge_reason: str
    prompt_end: str
    truth: Quoted
    written: Quoted


@dataclass(frozen=True)
class Gallery:
    """The closest completions of each role, the nearest first."""

    items: tuple[GalleryItem, ...]


def gallery_of(result: UnlearningResult, chunks: Chunks) -> Gallery:
    """The closest completions of works to be forgotten and to be kept, one a chunk, quoted around what they share."""
    by_id = {chunk.id: chunk for chunk in chunks.chunks}
    items = []
    ranked = closest(result.completions, len(result.completions.completions))
    shown = [one for role, most in SHOWN.items() for one in [o for o in ranked if by_id[o.chunk].role is role][:most]]
    for one in shown:
        chunk = by_id[one.chunk]
        run = longest_run(chunk.continuation, one.text)
        spans = (run.reference_start, run.reference_end) if run else (0, 0)
        written = (run.candidate_start, run.candidate_end) if run else (0, 0)
        items.append(
            GalleryItem(
                one.chunk,
                one.sample,
                chunk.work,
                chunk.role,
                chunk.first_word,
                one.cosine,
                one.rouge_l,
                one.run_words,
                one.rating,
                one.judge_reason,
                _tail(chunk.prompt, 80),
                _quoted(chunk.continuation, *spans),
                _quoted(one.text, *written),
            )
        )
    return Gallery(tuple(items))


def with_ratings(gallery: Gallery, test: CompletionTest) -> Gallery:
    """The same quotations with the ratings that their completions have by now."""
    rated = {(one.chunk, one.sample): one for one in test.completions}
    items = []
    for item in gallery.items:
        one = rated.get((item.chunk, item.sample))
        reason = one.judge_reason if one is not None and one.person is None else ""
        items.append(item if one is None else replace(item, judge=one.rating, judge_reason=reason))
    return Gallery(tuple(items))


def _quoted(text: str, start: int, end: int) -> Quoted:
    """At most 300 characters of `text` with the run from `start` to `end` in the middle, cut between words."""
    run = text[start:end][: LONGEST_QUOTED - 60]
    room = (LONGEST_QUOTED - len(run)) // 2
    return Quoted(_tail(text[:start], room), run, _head(text[end:], room))


def _tail(text: str, most: int) -> str:
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    cut = line[-(most - 2) :]
    return f"… {cut.partition(' ')[2] or cut}"


def _head(text: str, most: int) -> str:
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    cut = line[: most - 2]
    return f"{cut.rpartition(' ')[0] or cut} …"
