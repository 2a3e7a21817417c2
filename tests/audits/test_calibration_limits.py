"""The workflow of a calibration on made-up readings: what it gives, and what it leaves out with a reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from auditlib.audits import calibration
from auditlib.audits.calibration import at_k, calibrate, examine_words, length_classes
from auditlib.audits.sets import LabelledSets, ReadSets
from auditlib.core import Capability, Label, ModelIdentity, Snippet, TokenStats
from auditlib.evidence import Word
from auditlib.scoring import Reading

FILLER = [
    "ferry",
    "quay",
    "apple",
    "window",
    "minute",
    "letter",
    "harbour",
    "number",
    "garden",
    "late",
    "wrote",
    "cold",
]
IDENTITY = ModelIdentity("made up", "nowhere", None, "0" * 64, "1" * 64, "2" * 64, "float32", "none")


def snippet(place: int, label: Label, words: int = 60, ending: str = "", group: str = "") -> Snippet:
    rng = np.random.default_rng(place)
    text = " ".join([*rng.choice(FILLER, words - 1), ending or "end"])
    name = f"{label.value} {place}"
    return Snippet(name, name, group or name, text, 0, 0, words, label)


def read_of(snippets: list[Snippet], member_logprob: float = -1.0) -> ReadSets:
    """Members' tokens have about `member_logprob`, non-members' about -3."""
    rng = np.random.default_rng(0)
    readings = []
    for one in snippets:
        n = one.word_count
        middle = member_logprob if one.label is Label.MEMBER else -3.0
        places = np.arange(n, dtype=np.int32)
        logprob = (middle + rng.normal(0, 0.1, n)).astype(np.float32)
        stats = TokenStats(
            places, places, places + 1, logprob, np.full(n, -3, np.float32), np.ones(n, np.float32), places + 1
        )
        readings.append(Reading(one.text, stats))
    return ReadSets(LabelledSets(tuple(snippets)), tuple(readings), IDENTITY, frozenset(Capability))


def test_sets_that_differ_in_their_years_are_not_supported_by_a_score_without_error() -> None:
    members = [snippet(i, Label.MEMBER) for i in range(60)]
    others = [snippet(100 + i, Label.NON_MEMBER, ending=f"in {2024 + i % 3}") for i in range(60)]
    read = read_of(members + others)
    found = calibrate(read, examine_words(read.sets), names=["loss", "min_k"])
    for method in found.methods.values():
        assert method.findings.auc.estimate == 1
        assert method.verdict.word is not Word.SUPPORTED
    # The same score on sets whose words tell nothing is.
    alike = [snippet(100 + i, Label.NON_MEMBER) for i in range(60)]
    read = read_of(members + alike)
    found = calibrate(read, examine_words(read.sets), names=["loss", "min_k"])
    assert found.methods["min_k"].verdict.word is Word.SUPPORTED


def test_length_class_of_one_work_is_left_out() -> None:
    snippets = [snippet(i, Label.MEMBER, 20, group="short one") for i in range(8)]
    snippets += [snippet(20 + i, Label.MEMBER, 100, group=f"long {i // 2}") for i in range(8)]
    snippets += [snippet(40 + i, Label.NON_MEMBER, words) for i, words in enumerate([20] * 8 + [100] * 8)]
    read = read_of(snippets)
    scores = read.scores("loss")
    assert [(c.low, c.n_members, c.n_non_members) for c in length_classes(read, scores)] == [(100, 8, 8)]


def test_another_k_changes_what_depends_on_it_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = [Label.MEMBER] * 10 + [Label.NON_MEMBER] * 10
    read = read_of([snippet(i, label) for i, label in enumerate(labels)], member_logprob=-2.97)
    words = examine_words(read.sets)
    names = ["loss", "min_k", "min_k_plus_plus"]
    first = calibrate(read, words, 20, names=names)
    whole = calibrate(read, words, 60, names=names)
    computed = []
    method = calibration._method
    monkeypatch.setattr(calibration, "_method", lambda *given: computed.append(given[2]) or method(*given))
    moved = at_k(read, first, 60)
    assert computed == ["min_k", "min_k_plus_plus"]
    assert moved.k == 60
    for name in names:
        assert moved.methods[name].findings == whole.methods[name].findings
        assert moved.methods[name].scores.tolist() == whole.methods[name].scores.tolist()


def test_groups_take_no_more_memory_for_a_long_name() -> None:
    snippets = [snippet(i, Label.MEMBER, group="a book" if i else "n" * 1_000_000) for i in range(50)]
    groups = LabelledSets(tuple(snippets)).groups
    assert groups is not None
    assert groups.nbytes < 1000
    assert groups.tolist() == [0] + [1] * 49
    own = [replace(s, group=str(i)) for i, s in enumerate(snippets)]
    assert LabelledSets(tuple(own)).groups is None
