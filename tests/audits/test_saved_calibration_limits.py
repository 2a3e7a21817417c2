"""A calibration in a file, and a text placed by it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pytest

from auditlib.audits.calibration import calibrate, examine_words
from auditlib.audits.saved_calibration import Calibration, from_json, keep, place, to_json
from auditlib.core import AuditError
from tests.reports.builders import read_sets

NOW = datetime(2026, 3, 4, tzinfo=UTC)


@pytest.fixture(scope="module")
def kept() -> Calibration:
    read = read_sets(8)  # two texts a work
    return keep(read, calibrate(read, examine_words(read.sets), names=["min_k"]), "min_k", "mine", NOW)


def changed(kept: Calibration, field: str, value: Any) -> str:
    """Its file with one field changed and the hash made to fit, as a careful forger would."""
    file = json.loads(to_json(kept))
    file["calibration"][field] = value
    file["sha256"] = sha256(json.dumps(file["calibration"], sort_keys=True).encode()).hexdigest()
    return json.dumps(file)


def test_file_comes_back_as_it_was_and_holds_no_text(kept: Calibration) -> None:
    assert from_json(to_json(kept)) == kept
    for snippet in read_sets(8).sets.snippets:
        assert snippet.text[:40] not in to_json(kept)
        assert snippet.group not in to_json(kept)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "  "),
        ("name", "x" * 201),
        ("non_member_groups", -3),
        ("non_member_groups", 9),
        ("auc", {"estimate": 7, "low": 6, "high": 8, "level": 0.95, "method": "DeLong"}),
        ("k", 0),
        ("alpha", 1),
        ("verdict", "proven"),
        ("score", "__class__"),
        ("members", [1.0]),
        ("members", [None] * 8),
        ("member_tokens", [0] * 8),
        ("rule", "luck"),
        ("model", None),
        ("surplus", 1),
    ],
)
def test_values_that_no_calibration_has_are_refused(kept: Calibration, field: str, value: Any) -> None:
    with pytest.raises(AuditError, match="^c.json "):
        from_json(changed(kept, field, value), "c.json")


def test_pieces_of_few_works_are_said_beside_p(kept: Calibration) -> None:
    placed = place(kept, kept.members[0], kept.member_tokens[0], kept.model)
    assert "8 non-members are pieces of 4 works" in placed.p.note
    apart = from_json(changed(kept, "non_member_groups", 8))
    assert "pieces of" not in place(apart, kept.members[0], kept.member_tokens[0], kept.model).p.note
