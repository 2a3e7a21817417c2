"""The calibration workflow: what it says of sets with a known answer, and of sets that can have none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as scipy_stats

from auditlib.audits.calibration import (
    KS,
    Calibrated,
    calibrate,
    checked_rule,
    examine_words,
    k_sweep,
    length_classes,
    null_runs,
)
from auditlib.audits.sets import ReadSets, labelled_sets, read_sets
from auditlib.core import AuditError, Capability, Label
from auditlib.evidence import Word
from auditlib.scoring import SCORES, Companion
from tests.audits.made import CountingModel, made_reading, made_sets, made_stats, snippet
from tests.planted import made_up


@pytest.fixture(scope="module")
def told() -> ReadSets:
    """Members plainly likelier than non-members: 60 against 60."""
    return made_reading(made_sets(60, 60), shift=1.0)


@pytest.fixture(scope="module")
def untold() -> ReadSets:
    """No difference between the sets: 100 against 100."""
    return made_reading(made_sets(100, 100), shift=0.0, seed=3)


def found_in(read: ReadSets, **changes: object) -> Calibrated:
    return calibrate(read, examine_words(read.sets), **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def found(told: ReadSets) -> Calibrated:
    return found_in(told)


def test_score_that_tells_the_sets_apart_is_supported(found: Calibrated) -> None:
    assert set(found.methods) == {name for name, score in SCORES.items() if score.reads <= {Companion.LOWERCASED}}
    assert set(found.unavailable) == set(SCORES) - set(found.methods)  # nothing else was read
    assert found.methods["min_k"].verdict.word is Word.SUPPORTED
    assert all(reason.holds for reason in found.methods["min_k"].verdict.reasons)


def test_auc_is_the_share_of_pairs_in_the_right_order(told: ReadSets, found: Calibrated) -> None:
    method = found.methods["loss"]
    members, others = method.scores[told.sets.is_member], method.scores[~told.sets.is_member]
    pairs = scipy_stats.mannwhitneyu(members, others).statistic / (len(members) * len(others))
    assert method.findings.auc.estimate == pytest.approx(pairs)
    assert method.findings.auc.low < pairs < method.findings.auc.high


def test_sets_without_a_difference_that_could_have_shown_one_are_not_supported(untold: ReadSets) -> None:
    method = found_in(untold).methods["min_k"]
    assert method.findings.power > 0.8
    assert method.verdict.word is Word.NOT_SUPPORTED


def test_too_few_texts_without_a_difference_are_inconclusive() -> None:
    read = made_reading(made_sets(8, 8), shift=0.0)
    verdict = found_in(read).methods["min_k"].verdict
    assert verdict.word is Word.INCONCLUSIVE
    assert "more texts are needed" in verdict.reasons[-1].sentence


def test_sets_that_differ_in_their_words_are_not_supported_however_good_the_score() -> None:
    texts = [snippet(f"{made_up(i)} It was the year {2024 + i % 2}.", Label.NON_MEMBER) for i in range(60)]
    texts += [snippet(f"{made_up(100 + i)} It was the year {2019 + i % 2}.", Label.MEMBER) for i in range(60)]
    read = made_reading(labelled_sets(texts, drop_shared=False), shift=3.0)
    found = found_in(read)
    assert found.words.blind.auc.low > 0.9
    assert found.methods["min_k"].findings.auc.low > 0.9
    assert all(method.verdict.word is not Word.SUPPORTED for method in found.methods.values())


def test_sets_of_different_lengths_are_not_supported() -> None:
    texts = [snippet(made_up(i, 40), Label.MEMBER) for i in range(40)]
    texts += [snippet(made_up(100 + i, 25), Label.NON_MEMBER) for i in range(40)]
    found = found_in(made_reading(labelled_sets(texts, drop_shared=False), shift=2.0))
    assert not found.words.lengths.comparable
    assert found.methods["min_k"].verdict.word is not Word.SUPPORTED


def test_p_is_corrected_for_every_score_that_was_looked_at(told: ReadSets, found: Calibrated) -> None:
    findings = found.methods["lowercase"].findings
    assert findings.p_corrected == pytest.approx(min(1, len(found.methods) * findings.p))
    alone = found_in(told, names=["lowercase"]).methods["lowercase"].findings
    assert alone.p_corrected == pytest.approx(alone.p)


def test_all_scores_identical_tell_nothing_and_say_so() -> None:
    sets = made_sets(30, 30)
    same = made_stats(1, 30)
    read = replace(
        made_reading(sets, 0.0),
        readings=tuple(replace(one, stats=same, lowercased=same) for one in made_reading(sets, 0.0).readings),
    )
    method = found_in(read).methods["min_k"]
    assert method.verdict.word is Word.INCONCLUSIVE
    assert any("Every text has the same score" in reason.sentence for reason in method.verdict.reasons)
    assert method.findings.auc.estimate == 0.5
    assert method.length.rho == 0


def test_nan_score_is_an_error_that_counts_them(told: ReadSets) -> None:
    broken = made_stats(1, 30)
    broken.logprob[3] = np.nan
    readings = list(told.readings)
    readings[7] = replace(readings[7], stats=broken)
    with pytest.raises(AuditError, match="1 of 120 scores is not a number; the first is number 8"):
        found_in(replace(told, readings=tuple(readings)))


def test_score_that_a_model_cannot_give_is_left_out_with_the_reason(told: ReadSets) -> None:
    weaker = replace(told, capabilities=frozenset({Capability.TOKEN_LOGPROBS}))
    found = found_in(weaker)
    assert "min_k_plus_plus" not in found.methods
    assert "does not give" in found.unavailable["min_k_plus_plus"]
    assert found.methods["min_k"].findings.p_corrected == pytest.approx(4 * found.methods["min_k"].findings.p)


def test_score_that_some_texts_lack_is_left_out_with_their_number(told: ReadSets) -> None:
    readings = [replace(one, lowercased=None) if i < 3 else one for i, one in enumerate(told.readings)]
    assert found_in(replace(told, readings=tuple(readings))).unavailable["lowercase"].startswith("3 texts of ")


def test_no_score_at_all_is_refused(told: ReadSets) -> None:
    with pytest.raises(AuditError, match="None of the scores can be had"):
        found_in(replace(told, capabilities=frozenset()))


def test_false_positive_rate_that_three_non_members_cannot_resolve_is_a_dash_with_the_reason() -> None:
    found = found_in(made_reading(made_sets(40, 3), shift=1.0), rule=0.01)
    method = found.methods["min_k"]
    assert method.tpr_at == {0.05: None, 0.01: None}
    assert "cannot be resolved" in method.unresolved[0.01]
    assert "200 are needed" in method.unresolved[0.01]
    assert method.threshold is None
    assert "cannot be resolved" in method.no_threshold
    assert method.verdict.word is not None


def test_rates_that_can_be_resolved_carry_both_intervals(found: Calibrated) -> None:
    rate = found.methods["min_k"].tpr_at[0.05]
    assert rate is not None
    assert rate.tpr.low < rate.tpr.estimate <= rate.tpr.high
    assert rate.fpr.low <= rate.fpr.estimate < rate.fpr.high
    assert found.methods["min_k"].tpr_at[0.01] is None


def test_threshold_by_rate_lets_at_most_that_share_of_non_members_through(told: ReadSets) -> None:
    method = found_in(told, rule=0.1).methods["min_k"]
    assert method.threshold is not None
    assert np.mean(method.scores[~told.sets.is_member] >= method.threshold.threshold) <= 0.1


@pytest.mark.parametrize("changes", [{"alpha": 0.0}, {"alpha": 1.0}, {"alpha": float("nan")}])
def test_alpha_outside_0_to_1_is_refused(changes: dict[str, float], told: ReadSets, found: Calibrated) -> None:
    with pytest.raises(AuditError, match="Alpha is a share"):
        calibrate(told, found.words, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [0.0, -1.0, 101.0, float("nan")])
def test_k_that_is_no_percentage_is_refused(k: float, told: ReadSets, found: Calibrated) -> None:
    with pytest.raises(AuditError, match="k is a percentage"):
        calibrate(told, found.words, k=k)


@pytest.mark.parametrize("rule", [0.0, 1.0, -0.1, float("nan"), float("inf"), "best", 1])
def test_rule_that_chooses_no_threshold_is_refused(rule: float | str) -> None:
    with pytest.raises(AuditError, match="A threshold is chosen by"):
        checked_rule(rule)
    assert checked_rule(0.05) == 0.05
    assert checked_rule("accuracy") == "accuracy"


def test_another_k_method_rule_or_alpha_never_asks_the_model() -> None:
    model = CountingModel()
    read = read_sets(model, made_sets(12, 12))
    words = examine_words(read.sets)
    asked = len(model.asked)
    for changes in ({}, {"k": 40.0}, {"alpha": 0.01}, {"rule": 0.2}, {"names": ["zlib"]}, {"seed": 3}):
        found = calibrate(read, words, **changes)  # type: ignore[arg-type]
        for method in found.methods.values():
            null_runs(read, words, method)
            length_classes(read, method.scores)
    k_sweep(read, "min_k")
    k_sweep(read, "min_k_plus_plus")
    assert len(model.asked) == asked


def test_same_inputs_give_the_same_numbers(told: ReadSets, found: Calibrated) -> None:
    again = found_in(told)
    assert again.methods["zlib"].findings == found.methods["zlib"].findings
    assert again.words.blind.auc == found.words.blind.auc


def test_another_alpha_changes_the_verdict_and_no_number(told: ReadSets, found: Calibrated) -> None:
    strict = calibrate(told, found.words, alpha=1e-300)
    assert strict.methods["min_k"].findings == found.methods["min_k"].findings
    assert strict.methods["min_k"].verdict.word is not Word.SUPPORTED


def test_sweep_at_one_k_is_the_score_at_that_k(told: ReadSets) -> None:
    sweep = k_sweep(told, "min_k_plus_plus")
    at_40 = found_in(told, k=40.0, names=["min_k_plus_plus"]).methods["min_k_plus_plus"].findings.auc
    assert sweep.auc_by_k[KS.index(40)].estimate == pytest.approx(at_40.estimate, abs=1e-3)
    assert len(sweep.auc_by_k) == len(KS)
    assert sweep.chosen_k in KS


def test_score_without_a_k_has_no_sweep(told: ReadSets) -> None:
    with pytest.raises(ValueError, match="zlib has no k"):
        k_sweep(told, "zlib")


def test_sweep_with_too_few_groups_for_two_halves_is_refused() -> None:
    with pytest.raises(AuditError, match="too few to choose a setting"):
        k_sweep(made_reading(made_sets(20, 3), 1.0), "min_k")


def test_texts_of_one_length_have_no_classes_of_length(told: ReadSets, found: Calibrated) -> None:
    assert length_classes(told, found.methods["min_k"].scores) == []


def test_few_lengths_are_classes_of_their_own() -> None:
    read = made_reading(made_sets(30, 30, lengths=[32, 64, 128]), shift=1.0)
    classes = length_classes(read, read.scores("loss"))
    assert [(one.low, one.high) for one in classes] == [(32, 32), (64, 64), (128, 128)]
    assert [(one.n_members, one.n_non_members) for one in classes] == [(10, 10)] * 3


def test_many_lengths_are_put_into_thirds_that_leave_no_text_out() -> None:
    read = made_reading(made_sets(60, 60, lengths=list(range(20, 140, 3))), shift=1.0)
    classes = length_classes(read, read.scores("loss"))
    assert len(classes) == 3
    assert sum(one.n_members + one.n_non_members for one in classes) == 120


def test_class_of_length_with_few_texts_is_left_out() -> None:
    texts = [snippet(made_up(i, 30), Label.MEMBER if i < 12 else Label.NON_MEMBER) for i in range(24)]
    texts += [snippet(made_up(300 + i, 90), Label.MEMBER) for i in range(9)]
    read = made_reading(labelled_sets(texts, drop_shared=False), shift=1.0)
    assert [one.low for one in length_classes(read, read.scores("loss"))] == [30]


def test_runs_that_must_find_nothing_find_nothing(told: ReadSets, found: Calibrated) -> None:
    runs = null_runs(told, found.words, found.methods["min_k"])
    assert runs.reversed_auc.estimate == pytest.approx(1 - found.methods["min_k"].findings.auc.estimate)
    assert runs.reversed_verdict is not Word.SUPPORTED
    assert runs.a_a is not None
    assert runs.a_a.low < 0.5 < runs.a_a.high


def test_run_of_non_members_against_themselves_needs_enough_of_them() -> None:
    read = made_reading(made_sets(10, 3), 1.0)
    found = found_in(read)
    runs = null_runs(read, found.words, found.methods["min_k"])
    assert runs.a_a is None
    assert "too few for two halves" in runs.a_a_missing


def test_snippets_of_few_books_count_as_books_and_not_as_so_many_texts() -> None:
    alone = found_in(made_reading(made_sets(60, 60), shift=0.6, seed=5)).methods["min_k"].findings.auc
    together = found_in(made_reading(made_sets(60, 60, per_group=15), shift=0.6, seed=5)).methods["min_k"].findings.auc
    assert together.method == "grouped bootstrap"
    assert together.estimate == alone.estimate


def test_all_texts_in_one_group_a_set_are_refused() -> None:
    with pytest.raises(AuditError, match="belong to one group"):
        examine_words(made_sets(10, 10, per_group=10))
