"""The parts of an unlearning audit by hand: chunks, ratios, comparisons, questions, forgetting, and the verdict."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from auditlib.audits.unlearning import (
    Chunk,
    CompletionTest,
    ForgottenWord,
    JudgePanel,
    Numbers,
    Role,
    Screening,
    UnlearningResult,
    UnlearningSettings,
    Work,
    cut_works,
    forgetting,
    judged_again,
    question_test,
    rated_again,
    read_questions,
    screen,
    screened_again,
    unlearning_verdict,
)
from auditlib.audits.unlearning.completions import Agreement, agreement, compared, comparisons, with_judge
from auditlib.audits.unlearning.questions import Question, answer_of, place_of_answer
from auditlib.audits.unlearning.screening import ratios
from auditlib.core import AuditError, Document, ModelIdentity
from auditlib.models.judge_prompt import NoRating, Rating
from auditlib.models.sampling import Sampling

WORDS = 40


def document(title: str, text: str) -> Document:
    return Document(sha256(text.encode()).hexdigest(), title, text, "text/plain", title, group=title)


def book(title: str, n_words: int = 400) -> Document:
    return document(title, " ".join(f"{title}{n}" for n in range(n_words)))


def chunks_of(forget: int = 10, keep: int = 10, held_out: int = 10) -> tuple[Chunk, ...]:
    counts = {Role.FORGET: forget, Role.KEEP: keep, Role.HELD_OUT: held_out}
    works = [Work(book(role.name, n * WORDS), role) for role, n in counts.items() if n]
    return cut_works(works, WORDS, 10).chunks


def numbers(chunks: tuple[Chunk, ...], known: set[Role], seed: int = 0, worse: float = 0.0) -> Numbers:
    """Scores of about -5 (nats) for what a model knows and -9 for what it does not; losses a third of these."""
    rng = np.random.default_rng(seed)
    means = np.array([-5.0 if chunk.role in known else -9.0 for chunk in chunks])
    scores = means + rng.normal(0, 0.3, len(chunks)) - worse
    return Numbers(scores, -scores / 3)


def nothing_completed(missing: str = "It was not asked for.") -> CompletionTest:
    panel = JudgePanel("", 0, {}, 0, Agreement(0, None), "")
    return CompletionTest("", Sampling(), 10, (), (), panel, (), missing)


def completed(chunks: tuple[Chunk, ...], screening: Screening, near: set[Role]) -> CompletionTest:
    """Completions that repeat the truth for works of some roles, more of it in some samples, and else say nothing."""
    drawn = {
        (place, sample): " ".join(chunk.continuation.split()[: 5 + (place * 7 + sample) % 9])
        if chunk.role in near
        else " ".join(["nothing"] * 9 + chunk.continuation.split()[: (place // 2 + sample * place) % 4])
        for place, chunk in enumerate(chunks)
        for sample in range(3)
    }
    found = compared(chunks, drawn, None)
    return replace(nothing_completed(""), completions=found, comparisons=comparisons(found, screening, 0))


def test_chunks_are_the_works_own_words_and_know_where_they_stand() -> None:
    work = document("A", "  one two\nthree  four " + " ".join(f"w{n}" for n in range(46)))
    (first, second) = cut_works([Work(work, Role.FORGET)], 25, 5).chunks
    assert first.text in work.text
    assert first.prompt == "one two\nthree  four w0"
    assert first.text == first.prompt + " " + first.continuation
    assert second.first_word == 25
    assert second.prompt.split() == work.text.split()[25:30]


def test_works_too_short_are_said_and_those_of_two_roles_refused() -> None:
    long, short = book("long"), book("short", 12)
    found = cut_works([Work(long, Role.FORGET), Work(short, Role.KEEP)], WORDS, 10)
    assert "12 words" in found.notes[0]
    with pytest.raises(AuditError, match="too short: the longest has 12 words"):
        cut_works([Work(short, Role.FORGET), Work(long, Role.KEEP)], WORDS, 10)
    with pytest.raises(AuditError, match="No work to be forgotten"):
        cut_works([Work(long, Role.KEEP)], WORDS, 10)
    with pytest.raises(AuditError, match="at once"):
        cut_works([Work(long, Role.FORGET), Work(replace(long, group="other"), Role.KEEP)], WORDS, 10)
    with pytest.raises(AuditError, match="at once"):
        cut_works([Work(long, Role.FORGET), Work(replace(book("x"), group="long"), Role.HELD_OUT)], WORDS, 10)
    with pytest.raises(AuditError, match="too little"):
        cut_works([Work(long, Role.FORGET)], 20, 15)


def test_ratios_and_their_window_by_hand() -> None:
    original = np.array([-4.0, -4.0, -4.0, -4.0, 0.0, -1.0, 0.0])
    unlearned = np.array([-4.0, -4.59, -4.61, -3.47, 0.0, 1.0, -1.0])
    found = ratios(original, unlearned)
    assert found[:5] == pytest.approx([1, 1.1475, 1.1525, 0.8675, 1])
    assert np.isnan(found[5:]).all()
    chunks = chunks_of(7, 0, 0)
    screening = screen(chunks, Numbers(original, -original), Numbers(unlearned, -unlearned), "min_k", 20.0)
    # 1/1.15 is 0.8696: the fourth lies outside.
    assert [line.suspicious for line in screening.lines] == [True, True, False, False, True, False, False]
    wider = screened_again(screening, 1.2)
    assert [line.suspicious for line in wider.lines] == [True, True, True, True, True, False, False]
    # exp(0.59) and exp(0.61) are far outside, as in the paper: perplexity alone finds fewer.
    assert [line.suspicious_by_perplexity for line in screening.lines][:4] == [True, False, False, False]
    count = wider.count(Role.FORGET)
    assert count is not None
    assert (count.n_chunks, count.n_suspicious, count.n_by_perplexity) == (7, 5, 2)
    with pytest.raises(AuditError, match="above 1"):
        screened_again(screening, 1.0)


def test_a_persons_rating_wins_over_the_judges() -> None:
    chunks = chunks_of(6, 6, 0)
    screening = screen(chunks, *(numbers(chunks, {Role.FORGET, Role.KEEP}),) * 2, "min_k", 20.0)
    found = compared(chunks, {(place, 0): chunk.continuation for place, chunk in enumerate(chunks)}, None)
    rated = with_judge(found, [Rating(1 + n % 5, "why") for n in range(11)] + [Rating(None, "", NoRating.REFUSED)])
    test = replace(nothing_completed(""), completions=rated)
    again = rated_again(test, screening, {(chunks[0].id, 0): 5, (chunks[11].id, 0): 2}, 0)
    assert [one.rating for one in again.completions] == [5, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2]
    assert again.completions[0].judge == 1
    assert again.completions[11].judge_missing == "the judge refused"
    assert again.panel.n_rated == 12
    with pytest.raises(AuditError, match="from 1 to 5"):
        rated_again(test, screening, {(chunks[0].id, 0): 6}, 0)


def test_agreement_of_ratings_and_embeddings_counts_each_chunk_once() -> None:
    chunks = chunks_of(8, 0, 0)
    vectors = {text: np.array([1.0, 0.0]) for text in (chunk.continuation for chunk in chunks)}
    drawn = {(place, sample): f"{place} {sample}" for place in range(8) for sample in range(2)}
    for (place, _), text in drawn.items():
        vectors[text] = np.array([np.cos(place / 8), np.sin(place / 8)])
    found = compared(chunks, drawn, lambda texts: np.array([vectors[text] for text in texts]))
    assert found[0].cosine == pytest.approx(1.0)
    ratings = [Rating(5 - place // 2, "why") for place in range(8) for _ in range(2)]
    agreed = agreement(with_judge(found, ratings))
    assert agreed.n == 16
    assert agreed.spearman is not None
    assert agreed.spearman.estimate > 0.9
    assert agreement(found).spearman is None


QA = [
    {"question": "What colour was the ferry?", "answer": "dark green"},
    {"question": "Who counted the apples?", "answer": "Mrs Penhallow"},
    {"question": "How many were there?", "answer": "eleven"},
    {"question": "Where did it land?", "answer": "the north quay"},
]
TALE = (
    "The ferry was painted dark green, as everybody knew. Mrs. Penhallow, who counted the apples, was “Mrs Penhallow” "
    "to all. It landed at the north quay."
)


def test_questions_are_read_from_both_kinds_of_table() -> None:
    lines = "\n".join(json.dumps(row) for row in [*QA, {"question": "No answer?", "answer": None}])
    found = read_questions("q.jsonl", lines.encode())
    assert [one.answer for one in found.questions] == [row["answer"] for row in QA]
    assert "row 5" in found.notes[0]
    table = "Answer,Question\ngreen,What colour?\n"
    assert read_questions("q.csv", table.encode()).questions[0].question == "What colour?"
    for name, data, said in (
        ("q.csv", b"question,other\na,b\n", "no column"),
        ("q.csv", b"question,answer\nWhat?,\n", "No row"),
        ("q.jsonl", b"{not json", "not valid JSON"),
        ("q.docx", b"", "no table of questions"),
    ):
        with pytest.raises(AuditError, match=said):
            read_questions(name, data)


def test_selected_questions_against_others_and_the_place_of_right_answers() -> None:
    questions = read_questions("q.jsonl", "\n".join(json.dumps(row) for row in QA).encode())
    original = Numbers(np.array([-4.0, -4.0, -4.0, -4.0]), np.ones(4))
    unlearned = Numbers(np.array([-4.1, -8.0, -4.2, -8.0]), np.ones(4))
    drawn = {(place, sample): "I do not know.\n" for place in range(4) for sample in range(2)}
    drawn |= {(0, 0): "\n It was dark green, I think.\nQuestion: and?", (2, 0): "Eleven.", (2, 1): "eleven"}
    found = question_test(
        questions, original, unlearned, drawn, [Work(document("Tale", TALE), Role.FORGET)], 1.15, 2, 0
    )
    assert [line.selected for line in found.lines] == [True, False, True, False]
    assert [line.mean_recall for line in found.lines] == [0.5, 0, 1, 0]
    assert (found.mean_selected, found.mean_unselected) == (0.75, 0)
    assert found.difference is not None
    assert found.difference.estimate == pytest.approx(0.75)
    # Of the 6 ways to deal 2 of 4, two are as far apart as this one.
    assert found.p == pytest.approx(1 / 3, abs=0.02)
    assert [(line.answer, line.n_correct) for line in found.correct] == [("eleven", 2), ("dark green", 1)]
    place = found.lines[0].place
    assert place is not None
    assert (place.work, place.first_word) == ("Tale", 4)
    assert "painted dark green" in place.quotation
    assert found.lines[2].place is None


def test_another_window_and_ratings_judge_anew_as_a_run_with_them_would() -> None:
    found, screening, test, verdict = found_of({Role.KEEP})
    test = replace(test, panel=replace(test.panel, agreement=agreement(test.completions)))
    questions = read_questions("q.jsonl", "\n".join(json.dumps(row) for row in QA).encode())
    before, after = (Numbers(np.array(scores), np.ones(4)) for scores in ([-4.0] * 4, [-4.1, -8.0, -4.2, -5.0]))
    drawn = {(place, 0): ("dark green", "no", "eleven", "the north quay")[place] for place in range(4)}
    asked = [question_test(questions, before, after, drawn, [], factor, 1, 0) for factor in (1.15, 1.3)]
    identity = ModelIdentity("m", "m", None, "a", "b", "c", "float32", "local")
    settings = UnlearningSettings()
    result = UnlearningResult(identity, identity, None, settings, screening, test, asked[0], found, verdict, ())
    assert judged_again(result, settings.factor, {}) == result
    one = test.completions[0]
    wider = judged_again(result, 1.3, {(one.chunk, one.sample): 4})
    assert wider.questions == asked[1]
    assert asked[1].n_selected == 3
    assert wider.screening == screened_again(screening, 1.3)
    assert wider.settings.factor == 1.3
    assert wider.completions.completions[0].rating == 4
    assert judged_again(result, 30.0, {}).verdict.word is not ForgottenWord.FORGOTTEN


def test_of_several_places_the_one_with_the_question_around_it_is_named() -> None:
    text = "He ate a fig. " + "word " * 40 + "What the bear found under the old bridge was a fig, of all things."
    found = place_of_answer(Question("What did the bear find under the bridge?", "a fig", 1), [document("B", text)])
    assert found is not None
    assert found.first_word > 40
    assert place_of_answer(Question("Q?", "a plum", 1), [document("B", text)]) is None
    assert answer_of("\n\n  An answer.  \nMore") == "An answer."
    assert answer_of(" \n") == ""


def found_of(unlearned: set[Role], reference: bool = True, worse: float = 0.0, **how: object) -> tuple[object, ...]:
    chunks = chunks_of(40, 40, 60)
    before, after = numbers(chunks, {Role.FORGET, Role.KEEP}), numbers(chunks, unlearned, 1, worse)
    never = numbers(chunks, {Role.KEEP}, 2) if reference else None
    found = forgetting(chunks, before, after, never, 50_000, True, margin=0.2, **how)  # type: ignore[arg-type]
    screening = screen(chunks, before, after, "min_k", 20.0)
    near = unlearned & {Role.FORGET} | {Role.KEEP}
    test = completed(chunks, screening, near)
    return found, screening, test, unlearning_verdict(screening, found, test)


def test_a_model_that_forgot_is_called_so_with_every_reason_holding() -> None:
    found, _, _, verdict = found_of({Role.KEEP})
    assert verdict.word is ForgottenWord.FORGOTTEN
    assert all(reason.holds for reason in verdict.reasons)
    assert found.forgotten.original.low > 0.9
    assert found.forgotten.like_reference.equivalent
    assert found.kept.unchanged.equivalent
    assert verdict.over_forgetting == ()
    assert "does not show" in verdict.limits


def test_a_model_that_kept_everything_has_not_forgotten() -> None:
    found, screening, _, verdict = found_of({Role.FORGET, Role.KEEP})
    assert verdict.word is ForgottenWord.NOT_FORGOTTEN
    assert not found.same_numbers
    assert screening.count(Role.FORGET).n_suspicious >= 35
    assert found.forgotten.over_reference.low > 0


def test_without_works_never_seen_nothing_is_called_forgotten() -> None:
    chunks = chunks_of(20, 20, 0)
    before, after = numbers(chunks, {Role.FORGET, Role.KEEP}), numbers(chunks, {Role.KEEP}, 1)
    found = forgetting(chunks, before, after, None, 50_000, True)
    screening = screen(chunks, before, after, "min_k", 20.0)
    verdict = unlearning_verdict(screening, found, completed(chunks, screening, {Role.KEEP}))
    assert verdict.word is ForgottenWord.INCONCLUSIVE
    assert "neither model ever saw" in found.forgotten.missing


def test_what_was_not_done_keeps_the_verdict_inconclusive() -> None:
    found, screening, _, _ = found_of({Role.KEEP})
    verdict = unlearning_verdict(screening, found, nothing_completed())
    assert verdict.word is ForgottenWord.INCONCLUSIVE
    assert [reason.sentence for reason in verdict.reasons if not reason.holds] == [
        "Completions were not tested. It was not asked for."
    ]


def test_forgetting_below_chance_and_damage_are_over_forgetting() -> None:
    chunks = chunks_of(40, 0, 40)
    before = numbers(chunks, {Role.FORGET})
    shifted = np.array([-14.0 if chunk.role is Role.FORGET else -9.0 for chunk in chunks])
    after = Numbers(shifted + np.random.default_rng(1).normal(0, 0.3, 80), before.losses)
    found = forgetting(chunks, before, after, None, 50_000, True)
    assert "stranger than works it never saw" in found.over_forgetting[0]
    *_, verdict = found_of({Role.KEEP}, worse=3.0)
    assert "damaged" in " ".join(verdict.over_forgetting)
    assert verdict.word is not ForgottenWord.FORGOTTEN


def test_the_original_that_never_knew_the_works_had_nothing_to_forget() -> None:
    chunks = chunks_of(40, 0, 40)
    before, after = numbers(chunks, set()), numbers(chunks, set(), 1)
    found = forgetting(chunks, before, after, None, 50_000, True)
    screening = screen(chunks, before, after, "min_k", 20.0)
    verdict = unlearning_verdict(screening, found, nothing_completed())
    assert verdict.word is ForgottenWord.INCONCLUSIVE
    assert "nothing to forget" in verdict.reasons[0].sentence


def test_many_works_are_what_varies_and_few_are_not() -> None:
    works = [Work(book(f"{role.name}{n}", 80), role) for role in (Role.FORGET, Role.HELD_OUT) for n in range(6)]
    chunks = cut_works(works, WORDS, 10).chunks
    found = forgetting(chunks, numbers(chunks, {Role.FORGET}), numbers(chunks, set(), 1), None, 1000, True)
    assert found.forgotten.unit == "works"
    few = chunks_of(6, 0, 6)
    found = forgetting(few, numbers(few, {Role.FORGET}), numbers(few, set(), 1), None, 1000, True)
    assert found.forgotten.unit == "chunks"
    with pytest.raises(AuditError, match="margin"):
        forgetting(few, numbers(few, set()), numbers(few, set()), None, 1000, True, margin=0.0)
