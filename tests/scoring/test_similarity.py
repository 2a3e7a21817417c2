"""Words against words: hand-counted, against the library's own, and with texts of other scripts."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from auditlib.scoring.similarity import compare_texts, longest_run, rouge_l, shared_runs, words_of


def test_rouge_l_by_hand() -> None:
    # "the ferry late" is the longest common subsequence: 3 of 4 words, 3 of 6.
    found = rouge_l("The ferry was late.", "the old ferry came very late")
    assert found.recall == pytest.approx(3 / 4)
    assert found.precision == pytest.approx(3 / 6)
    assert found.f == pytest.approx(0.6)


@settings(max_examples=60, deadline=None)
@given(*(st.lists(st.sampled_from(["a", "b", "cat", "Dog,", "e!", "7", "-"]), max_size=12) for _ in "xy"))
def test_on_plain_english_it_is_what_the_library_gives(one: list[str], other: list[str]) -> None:
    reference, candidate = " ".join(one), " ".join(other)
    expected = RougeScorer(["rougeL"]).score(reference, candidate)["rougeL"]
    found = rouge_l(reference, candidate)
    assert (found.precision, found.recall, found.f) == pytest.approx(tuple(expected))


def test_words_of_other_scripts_count() -> None:
    assert rouge_l("Паром опоздал сегодня", "паром опоздал").recall == pytest.approx(2 / 3)
    assert rouge_l("北京的天气", "北京").recall == pytest.approx(2 / 5)
    assert words_of("Zürich — l’été, don't") == ["zürich", "l’été", "don't"]


def test_texts_without_words_are_alike_in_nothing() -> None:
    for reference, candidate in (("", "word"), ("word", ""), ("…", "!"), ("", "")):
        found = compare_texts(reference, candidate)
        assert (found.rouge_l.f, found.rouge_l.recall, found.run_words) == (0, 0, 0)


def test_the_longest_run_is_found_in_both_texts_whatever_case_and_signs() -> None:
    reference = "He said: Nobody, on the quay was surprised. The end."
    candidate = "And then nobody on the Quay! was there, surprised."
    run = longest_run(reference, candidate)
    assert run is not None
    assert run.n_words == 5
    assert reference[run.reference_start : run.reference_end] == "Nobody, on the quay was"
    assert candidate[run.candidate_start : run.candidate_end] == "nobody on the Quay! was"


@settings(max_examples=60, deadline=None)
@given(*(st.lists(st.sampled_from("ab"), max_size=10) for _ in "xy"))
def test_no_longer_run_is_overlooked(one: list[str], other: list[str]) -> None:
    """Against all runs there are."""
    runs = {tuple(one[a:b]) for a in range(len(one)) for b in range(a + 1, len(one) + 1)}
    theirs = {tuple(other[a:b]) for a in range(len(other)) for b in range(a + 1, len(other) + 1)}
    expected = max((len(run) for run in runs & theirs), default=0)
    assert compare_texts(" ".join(one), " ".join(other)).run_words == expected


def test_shared_runs_are_marked_where_they_stand() -> None:
    reference, candidate = "one two three x four five six", "one two three y z four five six and so on"
    marked = [candidate[run.candidate_start : run.candidate_end] for run in shared_runs(reference, candidate)]
    assert marked == ["one two three", "four five six"]
    assert shared_runs("one two", "one two", fewest=3) == ()


def test_nothing_is_fetched_for_it() -> None:
    """The library brings NLTK, which would fetch data for things that are not used here."""
    program = (
        "import socket\n"
        "def refuse(*a, **k): raise SystemExit('asked the network')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
        "from auditlib.scoring.similarity import rouge_l; assert rouge_l('a b', 'a').recall == 0.5"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
