"""Parameters and results as plain values and back."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditlib.core import AuditError, Label
from auditlib.documents.cutting import Cutting
from auditlib.evidence import Interval, Roc, roc
from auditlib.jobs import CalibrationParameters, ChosenDocument
from auditlib.jobs.calibration_texts import calibration_parameters
from auditlib.jobs.plain import from_plain, to_plain
from auditlib.jobs.progress import RateMeter
from auditlib.models.request import ModelRequest

PARAMETERS = CalibrationParameters(
    ModelRequest("a folder", adapter="b"),
    documents=(ChosenDocument("a1", Label.MEMBER, "=1+1"), ChosenDocument("b2", Label.NON_MEMBER)),
    cutting=Cutting("sample", 3, 20, 5),
    rule=0.05,
)


@dataclass(frozen=True)
class Mixed:
    number: float
    by_rate: dict[float, Interval | None]


def through_json(value: object) -> object:
    return json.loads(json.dumps(to_plain(value), allow_nan=False))


def test_parameters_come_back_as_they_were() -> None:
    assert from_plain(CalibrationParameters, through_json(PARAMETERS)) == PARAMETERS


@given(st.floats())
def test_every_float_comes_back(number: float) -> None:
    mixed = Mixed(number, {0.05: Interval(number, -math.inf, 1.0, 0.95, "test"), 0.01: None})
    back = from_plain(Mixed, through_json(mixed))
    assert back.number == number or (math.isnan(back.number) and math.isnan(number))
    assert list(back.by_rate) == [0.05, 0.01]


def test_arrays_come_back_bit_for_bit() -> None:
    curve = roc([True, False, True, False], [0.1, 0.30000000000000004, 1 / 3, -2.0])
    back = from_plain(Roc, through_json(curve))
    assert back.thresholds.dtype == np.float64
    assert np.array_equal(back.thresholds, curve.thresholds)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"k": 0.0}, "k is a percentage"),
        ({"alpha": 1.5}, "Alpha is a share"),
        ({"rule": 2.0}, "A threshold is chosen"),
        ({"rule": "best"}, "make no sense"),
        ({"documents": ()}, "No document was chosen"),
        ({"documents": "abc"}, "make no sense"),
        ({"texts": "web"}, "make no sense"),
        ({"model": {"source": 3}}, "make no sense"),
        ({"surprise": 1}, "make no sense"),
        ({"cutting": Cutting("shred")}, "no way to cut"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(AuditError, match=said):
        calibration_parameters(to_plain(PARAMETERS) | {name: to_plain(value) for name, value in change.items()})


def test_the_demo_needs_no_documents() -> None:
    calibration_parameters(to_plain(replace(PARAMETERS, texts="demo", documents=())))


def test_the_rate_is_that_of_the_last_half_minute() -> None:
    meter = RateMeter(0.0)
    assert meter.per_second is None
    for second in range(1, 101):
        meter.add(100, float(second))
    for second in range(101, 201):
        meter.add(10, float(second))
    assert meter.per_second == pytest.approx(10, rel=0.01)


def test_the_rate_of_the_first_moment_is_not_told() -> None:
    meter = RateMeter(0.0)
    meter.add(1000, 0.01)
    assert meter.per_second is None
