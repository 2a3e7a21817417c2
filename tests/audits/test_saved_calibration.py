"""A calibration as a file: it comes back without loss, and a file that is none, or of another model, is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from auditlib.audits.calibration import calibrate, examine_words
from auditlib.audits.saved_calibration import (
    VERSION,
    Calibration,
    differences,
    from_json,
    keep,
    place,
    place_all,
    to_json,
)
from auditlib.core import AuditError, ModelIdentity
from auditlib.evidence import Interval, Word
from auditlib.scoring import SCORES
from tests.audits.made import IDENTITY, made_reading, made_sets

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def kept() -> Calibration:
    """60 members plainly above 60 non-members."""
    read = made_reading(made_sets(60, 60), shift=1.5)
    return keep(read, calibrate(read, examine_words(read.sets)), "min_k", "  The demo,\n planted ", NOW)


def test_what_is_kept_is_what_was_found(kept: Calibration) -> None:
    read = made_reading(made_sets(60, 60), shift=1.5)
    found = calibrate(read, examine_words(read.sets)).methods["min_k"]
    assert kept.name == "The demo, planted"
    assert kept.created == "2026-11-21T12:00:00+00:00"
    assert kept.model == IDENTITY
    assert kept.verdict == "supported"
    assert kept.auc == found.findings.auc
    assert kept.members == tuple(found.scores[read.sets.is_member].tolist())
    assert kept.non_member_tokens == (30,) * 60
    assert kept.non_member_groups == 60
    assert found.threshold is not None
    assert kept.threshold == found.threshold.threshold
    assert kept.versions["pretraining-audit"]


@pytest.mark.parametrize("name", ["", "  \n "])
def test_calibration_without_a_name_is_refused(name: str) -> None:
    read = made_reading(made_sets(5, 5), shift=1.0)
    found = calibrate(read, examine_words(read.sets))
    with pytest.raises(AuditError, match="has no name"):
        keep(read, found, "min_k", name, NOW)


def test_name_that_no_file_can_hold_becomes_one_that_it_can() -> None:
    read = made_reading(made_sets(5, 5), shift=1.0)
    named = keep(read, calibrate(read, examine_words(read.sets)), "min_k", "a\udcff" + "b" * 999, NOW)
    assert from_json(to_json(named).encode()).name == named.name
    assert len(named.name) == 200


def test_file_holds_none_of_the_texts(kept: Calibration) -> None:
    written = to_json(kept)
    assert not any(text[:40] in written for text in made_sets(60, 60).texts)


def test_file_comes_back_as_it_was(kept: Calibration) -> None:
    assert from_json(to_json(kept)) == kept
    assert from_json(to_json(kept).encode("utf-8")) == kept


number = some.floats(allow_nan=False, allow_infinity=False)
word = some.text(some.characters(exclude_categories=["Cs"]), max_size=20)
digest = some.text("0123456789abcdef", min_size=64, max_size=64)
interval = some.builds(
    lambda ends, level, method: Interval(ends[1], ends[0], ends[2], level, method),
    some.lists(some.floats(0, 1), min_size=3, max_size=3).map(sorted),
    number,
    word,
)


def scored(scores: str, tokens: str) -> some.SearchStrategy[dict[str, Any]]:
    pair = some.tuples(number, some.integers(1, 10**9))
    return some.lists(pair, min_size=2, max_size=8).map(
        lambda pairs: {scores: tuple(s for s, _ in pairs), tokens: tuple(n for _, n in pairs)}
    )


@some.composite
def calibrations(draw: some.DrawFn) -> Calibration:
    share = some.floats(0, 1, exclude_min=True, exclude_max=True)
    return Calibration(
        name=draw(word.filter(str.strip)),
        created=draw(word),
        model=draw(
            some.builds(
                ModelIdentity, word, word, some.none() | word, digest, digest, digest, word, word, some.none() | digest
            )
        ),
        score=draw(some.sampled_from(sorted(SCORES))),
        k=draw(some.floats(0, 100, exclude_min=True)),
        alpha=draw(share),
        rule=draw(some.just("accuracy") | share),
        seed=draw(some.integers(0, 2**31 - 1)),
        threshold=draw(some.none() | number),
        auc=draw(interval),
        blind_auc=draw(interval),
        accuracy=draw(some.none() | interval),
        tpr=draw(some.none() | interval),
        fpr=draw(some.none() | interval),
        verdict=draw(some.sampled_from([each.value for each in Word])),
        **draw(scored("members", "member_tokens")),
        **draw(scored("non_members", "non_member_tokens")),
        non_member_groups=2,
        members_sha256=draw(digest),
        non_members_sha256=draw(digest),
        versions=draw(some.dictionaries(word, word, max_size=3)),
    )


@given(calibrations())
@settings(max_examples=150, deadline=None)
def test_any_calibration_comes_back_without_loss(calibration: Calibration) -> None:
    back = from_json(to_json(calibration).encode("utf-8"))
    assert back == calibration
    assert repr(back) == repr(calibration)  # equality alone would let -0.0 become 0.0, or 1.0 become 1


def changed(kept: Calibration, change: Callable[[dict[str, Any]], object], hashed: bool = True) -> str:
    """The file after `change` of its calibration; with a hash that fits, as one who knows how would write it."""
    value = json.loads(to_json(kept))
    change(value["calibration"])
    if hashed:
        value["sha256"] = sha256(json.dumps(value["calibration"], sort_keys=True).encode()).hexdigest()
    return json.dumps(value)


def put(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda body: body.update(fields)


def drop(*names: str) -> Callable[[dict[str, Any]], None]:
    def change(body: dict[str, Any]) -> None:
        for name in names[:-1]:
            body = body[name]
        del body[names[-1]]

    return change


def put_inside(outer: str, name: str, value: object) -> Callable[[dict[str, Any]], None]:
    return lambda body: body[outer].__setitem__(name, value)


HOSTILE: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no threshold": (drop("threshold"), "is not complete: threshold"),
    "no model": (drop("model"), "is not complete: model"),
    "no weights' hash": (drop("model", "weights_sha256"), "is not complete: model.weights_sha256"),
    "no end of an interval": (drop("auc", "high"), "is not complete: auc.high"),
    "a field too many": (put(extra=1), "is not complete: extra"),
    "a field too many inside": (put_inside("auc", "extra", 1), "is not complete: auc.extra"),
    "NaN among the scores": (lambda b: b["members"].append(float("nan")), "is not complete: members"),
    "infinity among the scores": (lambda b: b["non_members"].append(float("inf")), "is not complete: non_members"),
    "NaN in an interval": (put_inside("auc", "low", float("nan")), "is not complete: auc.low"),
    "NaN as threshold": (put(threshold=float("nan")), "is not complete: threshold"),
    "NaN as k": (put(k=float("nan")), "is not complete: k"),
    "huge k": (put(k=10**400), "is not complete: k|holds values"),
    "huge score": (lambda b: b["members"].append(10**400), "is not complete|holds values"),
    "huge token count": (lambda b: b["member_tokens"].__setitem__(0, 10**400), "holds values|not complete"),
    "word for a number": (put(alpha="often"), "is not complete: alpha"),
    "list for a word": (put(name=["a"]), "is not complete: name"),
    "alpha of 2": (put(alpha=2.0), "holds values"),
    "k of 0": (put(k=0.0), "holds values"),
    "unknown score": (put(score="teapot"), "holds values"),
    "unknown verdict": (put(verdict="guilty"), "holds values"),
    "unknown rule": (put(rule="best"), "holds values"),
    "rule of 2": (put(rule=2.0), "holds values"),
    "one member": (put(members=[1.0], member_tokens=[3]), "holds values"),
    "no non-members": (put(non_members=[], non_member_tokens=[]), "holds values"),
    "more scores than lengths": (lambda b: b["members"].append(0.5), "holds values"),
    "length of 0": (lambda b: b["non_member_tokens"].__setitem__(0, 0), "holds values"),
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_file_with_values_that_no_calibration_has_is_refused(name: str, kept: Calibration) -> None:
    change, said = HOSTILE[name]
    with pytest.raises(AuditError, match=f"c.json {said}|c.json ({said})") as refusal:
        from_json(changed(kept, change), "c.json")
    assert refusal.value.remedy


@pytest.mark.parametrize(
    "change",
    [put(verdict="not supported"), put(threshold=-1.0), put(name="x"), lambda b: b["non_members"].__setitem__(0, -9.0)],
    ids=["verdict", "threshold", "name", "score"],
)
def test_file_edited_by_hand_is_refused(change: Callable[[dict[str, Any]], object], kept: Calibration) -> None:
    with pytest.raises(AuditError, match="was changed after it was written"):
        from_json(changed(kept, change, hashed=False))


def test_file_laid_out_anew_is_still_the_same(kept: Calibration) -> None:
    assert from_json(json.dumps(json.loads(to_json(kept)), sort_keys=True)) == kept


@pytest.mark.parametrize("version", [VERSION + 1, 999, 10**30, "2", None, 1.5])
def test_file_of_a_newer_version_is_refused_with_the_versions(version: object, kept: Calibration) -> None:
    value = json.loads(to_json(kept)) | {"version": version}
    with pytest.raises(AuditError, match=f"newer version of this program .*known here: {VERSION}") as refusal:
        from_json(json.dumps(value))
    assert "Update this program" in refusal.value.remedy


NO_CALIBRATION = {
    "empty": b"",
    "not JSON": b"ROC curve",
    "not text": bytes(range(128, 256)),
    "a list": b"[]",
    "a number": b"1",
    "another file": b'{"format": "something else"}',
    "nested": b'{"a":' * 100_000,
    "long number": b'{"format": ' + b"9" * 10_000 + b"}",
    "huge": b" " * (64 * 2**20 + 1),
}


@pytest.mark.parametrize("name", list(NO_CALIBRATION))
def test_file_that_is_something_else_is_refused(name: str) -> None:
    with pytest.raises(AuditError, match="c.json is no calibration"):
        from_json(NO_CALIBRATION[name], "c.json")


@pytest.mark.parametrize("part", [0.01, 0.3, 0.9, 0.999])
def test_file_cut_short_is_refused(part: float, kept: Calibration) -> None:
    written = to_json(kept)
    with pytest.raises(AuditError, match="is no calibration"):
        from_json(written[: int(part * len(written))])


def test_file_without_its_contents_or_hash_is_refused(kept: Calibration) -> None:
    value = json.loads(to_json(kept))
    for name, said in (("calibration", "is not complete"), ("sha256", "was changed after")):
        with pytest.raises(AuditError, match=said):
            from_json(json.dumps({key: each for key, each in value.items() if key != name}))


def test_text_above_all_non_members_is_supported_with_the_smallest_p_there_is(kept: Calibration) -> None:
    placed = place(kept, max(kept.non_members) + 1, 30, IDENTITY)
    assert placed.p.p == pytest.approx(1 / 61)
    assert placed.verdict.word is Word.SUPPORTED
    assert placed.non_members_below == 1
    assert placed.threshold_says is True


def test_p_counts_the_non_members_at_least_as_high(kept: Calibration) -> None:
    for score in sorted(kept.non_members)[::17]:
        at_least = sum(other >= score for other in kept.non_members)
        assert place(kept, score, 30, IDENTITY).p.p == pytest.approx((1 + at_least) / 61)


def test_place_is_the_share_of_each_set_below(kept: Calibration) -> None:
    score = float(np.median(kept.members))
    placed = place(kept, score, 30, IDENTITY)
    assert placed.members_below == pytest.approx(0.5, abs=1 / 60)
    assert placed.non_members_below == np.mean(np.array(kept.non_members) < score)


def test_text_like_the_non_members_is_not_supported_where_members_would_have_stood_out(kept: Calibration) -> None:
    placed = place(kept, float(np.median(kept.non_members)), 30, IDENTITY)
    assert placed.verdict.word is Word.NOT_SUPPORTED
    assert placed.threshold_says is False


def test_text_of_another_length_or_under_a_weak_calibration_is_inconclusive(kept: Calibration) -> None:
    high = max(kept.members) + 1
    assert place(kept, high, 3000, IDENTITY).verdict.word is Word.INCONCLUSIVE
    weak = replace(kept, verdict="inconclusive")
    assert place(weak, high, 30, IDENTITY).verdict.word is Word.INCONCLUSIVE


def test_text_without_a_finite_score_is_refused(kept: Calibration) -> None:
    with pytest.raises(AuditError, match="not a number"):
        place(kept, float("nan"), 30, IDENTITY)


def test_several_texts_are_judged_by_p_corrected_for_their_number(kept: Calibration) -> None:
    high, middle = max(kept.non_members) + 1, float(np.median(kept.non_members))
    alone = place(kept, high, 30, IDENTITY)
    among = place_all(kept, [high, *[middle] * 19], [30] * 20, IDENTITY)
    assert alone.verdict.word is Word.SUPPORTED
    assert among[0].p.p == alone.p.p
    assert among[0].verdict.p == pytest.approx(20 / 61)
    # its own p is small, so that it was not seen to be absent either
    assert among[0].verdict.word is Word.INCONCLUSIVE
    assert place_all(kept, [], [], IDENTITY) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("weights_sha256", "b" * 64),
        ("config_sha256", "b" * 64),
        ("tokenizer_sha256", "b" * 64),
        ("adapter", "b" * 64),
        ("dtype", "bfloat16"),
        ("backend", "endpoint"),
    ],
)
def test_another_model_is_refused_with_what_differs(field: str, value: str, kept: Calibration) -> None:
    other = replace(IDENTITY, **{field: value})
    assert differences(kept, other) == {field: (asdict(IDENTITY)[field] or "none", value)}
    with pytest.raises(AuditError, match=f"they differ in {field.replace('_', ' ')}\\."):
        place(kept, -1.0, 30, other)


def test_same_model_under_another_name_is_the_same_model(kept: Calibration) -> None:
    moved = replace(IDENTITY, name="copy", source="/elsewhere", revision="main")
    assert differences(kept, moved) == {}
    assert place(kept, -1.0, 30, moved) == place(kept, -1.0, 30, IDENTITY)
