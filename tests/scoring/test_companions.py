"""What scores need besides the text: read by which model, from which text, and left out where it cannot be had."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from auditlib.audits.demo import demo_books, demo_passages, planted_request
from auditlib.core import AuditError, Label, Settings, TokenStats
from auditlib.evidence import auc
from auditlib.models.local import LocalModel
from auditlib.models.neighbours import OwnNeighbours
from auditlib.models.opening import load_model
from auditlib.scoring import (
    SCORES,
    Companion,
    Companions,
    Reading,
    drawn_prefix,
    frequency_table,
    read_texts,
    with_companions,
)
from auditlib.scoring.loss import negative_log_likelihood
from tests.planted import made_up
from tests.tiny import byte_level_tokenizer, gpt2_config, llama_config, llama_tokenizer, local_model

TEXTS = [made_up(seed) for seed in range(4)]
CORPUS = [made_up(seed, 60) for seed in range(300, 330)]


class ThreeVariants:
    made_by = "a test"

    def of(self, text: str) -> list[str]:
        return [] if text == TEXTS[2] else [f"{text} {word}" for word in ("apples", "ferry", "window")]


@pytest.fixture(scope="module")
def model() -> LocalModel:
    return local_model(llama_config(context=256), byte_level_tokenizer())


def readings_of(model: LocalModel, texts: Sequence[str]) -> list[Reading]:
    found = dict(read_texts(model, texts))
    return [found[i] for i in range(len(texts))]


def test_each_companion_is_read_by_the_model_that_it_belongs_to(model: LocalModel) -> None:
    reference = local_model(gpt2_config(context=256), llama_tokenizer())
    members, others = model.after(made_up(900)), model.after(made_up(901))
    table = frequency_table(model, CORPUS, "made-up words")
    companions = Companions(reference, ThreeVariants(), others, members, table)
    found = with_companions(model, readings_of(model, TEXTS), companions)
    for reading, text in zip(found, TEXTS, strict=True):
        assert reading.text == text
        ((_, own),) = reference.token_stats([text])
        assert reading.reference == pytest.approx(negative_log_likelihood(own.logprob), abs=1e-4)
        for field, other in (("after_non_members", others), ("after_members", members)):
            ((_, own),) = other.token_stats([text])
            np.testing.assert_allclose(getattr(reading, field), own.logprob, atol=1e-4)
        assert reading.frequencies is table
    variants = [stats for _, stats in model.token_stats([f"{TEXTS[0]} {w}" for w in ("apples", "ferry", "window")])]
    assert found[0].neighbours is not None
    expected = sorted(negative_log_likelihood(stats.logprob) for stats in variants)
    assert list(found[0].neighbours.nll) == pytest.approx(expected, abs=1e-4)
    for companion in Companion:
        assert getattr(found[0], companion.value) is not None
    for score in SCORES.values():
        assert score.unavailable_because(found[0], model.capabilities) is None
        assert np.isfinite(score.compute(found[0]))


def test_text_without_variants_goes_without_that_score_only(model: LocalModel) -> None:
    found = with_companions(model, readings_of(model, TEXTS), Companions(neighbours=ThreeVariants()))
    assert [reading.neighbours is None for reading in found] == [False, False, True, False]


def test_text_that_the_reference_cannot_score_goes_without_that_score_only(model: LocalModel) -> None:
    class Picky:
        identity, capabilities, context_length = model.identity, model.capabilities, 256
        vocabulary_size = model.vocabulary_size

        def tokens_to_read(self, text: str, name: str = "The text") -> int:
            if text == TEXTS[1]:
                raise AuditError(f"{name} is too short.", "Give a longer one.")
            return model.tokens_to_read(text, name)

        def token_stats(self, texts: Sequence[str], **kept: object) -> Iterator[tuple[int, TokenStats]]:
            return model.token_stats(texts, names=kept["names"])  # type: ignore[arg-type]

        def token_text(self, ids: Sequence[int]) -> list[str]:
            return model.token_text(ids)

    found = with_companions(model, readings_of(model, TEXTS), Companions(reference=Picky()))
    assert [reading.reference is None for reading in found] == [False, True, False, False]
    assert SCORES["reference"].unavailable_because(found[1], model.capabilities)


def test_without_companions_readings_stay_as_they_were(model: LocalModel) -> None:
    before = readings_of(model, TEXTS[:2])
    for old, new in zip(before, with_companions(model, before, Companions()), strict=True):
        assert new == old


def test_tokens_that_a_server_does_not_tell_cannot_be_counted(model: LocalModel) -> None:
    (reading,) = readings_of(model, TEXTS[:1])
    unknown = replace(reading, stats=replace(reading.stats, token_ids=np.full(reading.stats.n_tokens, -1, np.int32)))
    table = frequency_table(model, CORPUS, "made-up words")
    (found,) = with_companions(model, [unknown], Companions(frequencies=table))
    assert "does not tell which tokens" in (SCORES["dc_pdd"].unavailable_because(found, model.capabilities) or "")


def test_notes_name_the_corpus_and_what_made_the_variants(model: LocalModel) -> None:
    table = frequency_table(model, CORPUS, "made-up words")
    notes = Companions(model, OwnNeighbours(model), frequencies=table).notes
    assert any("own likely alternatives, as no masked language model was given" in note for note in notes)
    assert any("made-up words" in note and f"{table.total:,} tokens" in note for note in notes)


def test_frequencies_are_counts_of_the_models_own_tokens(model: LocalModel) -> None:
    table = frequency_table(model, CORPUS, "made-up words")
    ids = np.concatenate([model.token_ids(text) for text in CORPUS])
    assert table.total == len(ids)
    assert table.counts[ids[0]] == np.count_nonzero(ids == ids[0])
    with pytest.raises(AuditError, match="too few to say how common"):
        frequency_table(model, CORPUS[:1], "a page")


def test_prefix_is_drawn_from_candidates_and_its_works_are_left_out() -> None:
    texts = [f"text {i}" for i in range(12)]
    groups = np.repeat(np.arange(6), 2)
    candidates = np.arange(12) >= 4
    prefix, left_out = drawn_prefix(texts, candidates, 2, seed=5, groups=groups)
    used = [text for text in texts if text in prefix.split("\n\n")]
    assert len(used) == 2
    assert all(candidates[texts.index(text)] for text in used)
    assert set(groups[left_out]) == {groups[texts.index(text)] for text in used}
    assert np.count_nonzero(left_out) == 4
    assert drawn_prefix(texts, candidates, 2, 5, groups)[0] == prefix
    assert {drawn_prefix(texts, candidates, 2, seed, groups)[0] for seed in range(20)} != {prefix}


def test_prefix_that_would_leave_too_few_is_refused() -> None:
    texts = ["a", "b", "c"]
    for n in (0, 2, 5):
        with pytest.raises(AuditError):
            drawn_prefix(texts, np.array([True, True, True]), n, seed=0)


@pytest.mark.bundled
def test_scores_point_the_right_way_on_the_planted_model(bundled_model: LocalModel, real_settings: Settings) -> None:
    """Members score higher than non-members by every score, in the model that was taught them on purpose."""
    planted = load_model(planted_request(), real_settings)
    passages = demo_passages()
    members = [d.text for d in passages if d.label is Label.MEMBER][:12]
    others = [d.text for d in passages if d.label is Label.NON_MEMBER][:12]
    shots = " ".join(others[8:]), " ".join(members[8:])
    texts = members[:8] + others[:8]
    table = frequency_table(planted, [book.text for book in demo_books()], "the demo's books")
    companions = Companions(
        reference=bundled_model,
        neighbours=OwnNeighbours(planted, n=1),
        after_non_members=planted.after(shots[0]),
        after_members=planted.after(shots[1]),
        frequencies=table,
    )
    read = dict(read_texts(planted, texts, lowercase=False))
    readings = with_companions(planted, [read[i] for i in range(len(texts))], companions)
    is_member = np.array([i < 8 for i in range(len(texts))])
    tried = {name: score for name, score in SCORES.items() if name != "lowercase"}
    aucs = {name: auc(is_member, np.array([s.compute(r) for r in readings])) for name, s in tried.items()}
    print({name: round(value, 2) for name, value in aucs.items()})
    assert all(value > 0.5 for value in aucs.values()), aucs
