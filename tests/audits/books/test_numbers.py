"""The numbers of snippets are those of the scores themselves, and survive being kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from auditlib.audits.books import numbers_from_parquet, numbers_to_parquet
from auditlib.audits.books.numbers import PORTIONS, NumbersMaker, read_shelves
from auditlib.audits.books.shelves import Shelf
from auditlib.audits.calibration import KS
from auditlib.core import AuditError, Capability, Progress, TokenStats
from auditlib.evidence import extraction_windows
from auditlib.models.local import LocalModel
from auditlib.scoring import SCORES, FrequencyTable, Neighbours, Reading, Score
from tests.audits.books.made import CUTTING, document, shelved, shelves
from tests.audits.made import ALL, CountingModel, made_stats
from tests.planted import made_up
from tests.tiny import byte_level_tokenizer, llama_config, local_model


def reading(place: int = 0, n_tokens: int = 200) -> Reading:
    return Reading(made_up(place, n_tokens), made_stats(place, n_tokens), lowercased=made_stats(place + 99, n_tokens))


def of_the_text_alone() -> dict[str, Score]:
    return {name: score for name, score in SCORES.items() if not score.needs_a_second_look}


def test_what_was_read_besides_counts_for_whole_snippets_only() -> None:
    table = FrequencyTable("a test", np.arange(1, 60_000))
    made = [
        replace(
            reading(place),
            reference=3.0 + place,
            neighbours=Neighbours((4.0, 5.0), "a test"),
            after_non_members=np.full(200, -2.0, dtype=np.float32),
            after_members=np.full(200, -1.0, dtype=np.float32),
            frequencies=table,
        )
        for place in range(3)
    ]
    maker = NumbersMaker(3, 20.0, ALL)
    for place, one in enumerate(made):
        maker.add(place, one)
    numbers = maker.numbers()
    for name, score in SCORES.items():
        if score.needs_a_second_look:
            assert numbers.scores(name) == pytest.approx([score.compute(one) for one in made]), name
            half = numbers.by_score[name][:, PORTIONS.index(0.5)]
            assert np.isnan(half).all() == (name != "dc_pdd"), name


def test_every_score_is_what_the_score_itself_gives() -> None:
    made = [reading(place) for place in range(5)]
    maker = NumbersMaker(5, 12.5, ALL)
    for place in (3, 0, 4, 1, 2):  # models answer in any order
        maker.add(place, made[place])
    numbers = maker.numbers()
    assert numbers.ks == tuple(sorted([*KS, 12.5]))
    for name, score in of_the_text_alone().items():
        for k in (5.0, 12.5, 20.0):
            wanted = [score.compute(replace(one, k=k)) for one in made]
            assert numbers.scores(name, k) == pytest.approx(wanted, rel=1e-12), name


def test_extraction_windows_stay_with_their_snippet() -> None:
    made = [reading(0, 150), reading(1, 60), reading(2, 120)]  # the second is too short for a window
    maker = NumbersMaker(3, 20.0, ALL)
    for place, one in enumerate(made):
        maker.add(place, one)
    numbers = maker.numbers()
    assert numbers.n_windows.tolist() == [6, 0, 3]
    for place, one in enumerate(made):
        assert numbers.windows_of(place) == pytest.approx(extraction_windows(one.stats.logprob).log_p, rel=1e-6)


def test_kept_numbers_come_back_bit_by_bit() -> None:
    maker = NumbersMaker(3, 20.0, frozenset({Capability.TOKEN_LOGPROBS}))
    for place in range(3):
        maker.add(place, replace(reading(place, 150), lowercased=None))
    numbers = maker.numbers()
    again = numbers_from_parquet(numbers_to_parquet(numbers))
    assert again.ks == numbers.ks
    assert again.missing == numbers.missing
    for name, values in numbers.by_score.items():
        assert np.array_equal(again.by_score[name], values, equal_nan=True), name
    assert np.array_equal(again.windows, numbers.windows)
    assert np.array_equal(again.n_windows, numbers.n_windows)
    assert np.array_equal(again.n_tokens, numbers.n_tokens)


@pytest.mark.parametrize("data", [b"", b"PAR1 and then nothing", b"\0" * 100])
def test_damaged_numbers_are_refused(data: bytes) -> None:
    with pytest.raises(AuditError, match="cannot be read"):
        numbers_from_parquet(data)


def test_what_a_model_cannot_give_is_said_and_never_filled_in() -> None:
    maker = NumbersMaker(1, 20.0, frozenset({Capability.TOKEN_LOGPROBS}))
    maker.add(0, reading())
    numbers = maker.numbers()
    assert "min_k_plus_plus" not in numbers.usable()
    with pytest.raises(AuditError, match="full distribution"):
        numbers.scores("min_k_plus_plus")
    assert "min_k" in numbers.usable()


def test_a_k_that_was_not_computed_is_refused_with_those_that_were() -> None:
    maker = NumbersMaker(1, 20.0, ALL)
    maker.add(0, reading())
    with pytest.raises(AuditError, match="k = 21%.*5, 10"):
        maker.numbers().scores("min_k", 21.0)


def test_the_beginning_of_a_snippet_has_the_numbers_it_would_have_alone() -> None:
    """The first half of a snippet, read by a real model as part of it and by itself."""
    model: LocalModel = local_model(llama_config(context=512), byte_level_tokenizer())
    text = made_up(1, 40)
    half = " ".join(text.split()[:20])
    whole_maker, half_maker = NumbersMaker(1, 20.0, ALL), NumbersMaker(1, 20.0, ALL)
    for maker, own in ((whole_maker, text), (half_maker, half)):
        stats = dict(model.token_stats([own, own.lower()]))
        maker.add(0, Reading(own, stats[0], lowercased=stats[1]))
    of_whole, of_half = whole_maker.numbers(), half_maker.numbers()
    for name in of_the_text_alone():
        as_part = of_whole.scores(name, 20.0, PORTIONS.index(0.5))
        assert as_part == pytest.approx(of_half.scores(name, 20.0), rel=1e-3), name


def test_audited_books_are_read_in_lower_case_only_where_the_score_asks_for_it() -> None:
    arranged = shelves(*shelved(2, 2, 2))
    n = {shelf: sum(arranged.works[w].shelf is shelf for w in arranged.work_of) for shelf in Shelf}
    n_reference = n[Shelf.MEMBERS] + n[Shelf.NON_MEMBERS]
    model = CountingModel()
    numbers = read_shelves(model, arranged)
    assert len(model.asked) == 2 * n_reference + n[Shelf.AUDITED]
    reference = np.flatnonzero(np.isin(arranged.work_of, arranged.on(Shelf.MEMBERS, Shelf.NON_MEMBERS)))
    assert "lowercase" in numbers.usable(reference)
    assert "lowercase" not in numbers.usable()
    model = CountingModel()
    assert "lowercase" in read_shelves(model, arranged, "lowercase").usable()
    assert len(model.asked) == 2 * (n_reference + n[Shelf.AUDITED])


def test_a_text_that_cannot_be_scored_is_named_by_its_work() -> None:
    class Refusing(CountingModel):
        def token_stats(
            self,
            texts: Sequence[str],
            top: int = 0,
            progress: Progress | None = None,
            names: Sequence[str] | None = None,
        ) -> Iterator[tuple[int, TokenStats]]:
            assert names is not None
            raise AuditError(f"{names[0]} cannot be scored.", "Leave it out.")

    arranged = shelves(*shelved(2, 2, 0), (Shelf.AUDITED, document("Odd", "x " * 100)), cutting=CUTTING)
    with pytest.raises(AuditError, match="“known members 0” from word"):
        read_shelves(Refusing(), arranged)
