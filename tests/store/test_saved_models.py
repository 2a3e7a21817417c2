"""Named models: kept, listed, renamed and removed, in each workspace by itself."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from auditlib.core import AuditError
from auditlib.store import Runs, SavedModels, Store, run_lines

NOW = datetime(2026, 11, 21, 12, 0, 0, 123456, tzinfo=UTC)
HOSTILE = "<b>naïve</b> \0 \ud800 'DROP TABLE'"


@pytest.fixture
def models(store: Store) -> SavedModels:
    return SavedModels(store)


def test_models_come_back_as_they_were_kept_in_the_order_they_came(models: SavedModels) -> None:
    models.add("second in the alphabet", {"source": "bundled", "endpoint": None}, NOW)
    models.add(f"  {HOSTILE} ", {"source": HOSTILE, "price": 0.1}, NOW)
    first, other = models.all()
    assert (first.name, first.request, first.created) == (
        "second in the alphabet",
        {"source": "bundled", "endpoint": None},
        NOW,
    )
    assert (other.name, other.request) == (HOSTILE, {"source": HOSTILE, "price": 0.1})


def test_a_name_stands_for_one_model_in_each_workspace(store: Store, models: SavedModels) -> None:
    models.add("mine", {"source": "a"}, NOW)
    with pytest.raises(AuditError, match="a model called 'mine' already"):
        models.add("mine ", {"source": "b"}, NOW)
    others = SavedModels(store, "another")
    others.add("mine", {"source": "c"}, NOW)
    models.remove("mine")
    models.remove("mine")  # by now nothing is there
    assert models.all() == []
    assert [one.request for one in others.all()] == [{"source": "c"}]


def test_renamed_model_is_the_same_one(models: SavedModels) -> None:
    models.add("one", {"source": "a"}, NOW)
    models.add("two", {"source": "b"}, NOW)
    models.rename("one", "first")
    assert [(one.name, one.request["source"]) for one in models.all()] == [("first", "a"), ("two", "b")]
    with pytest.raises(AuditError, match="a model called 'two' already"):
        models.rename("first", "two")
    with pytest.raises(AuditError, match="no model called 'one'"):
        models.rename("one", "three")


@pytest.mark.parametrize("name", ["", "  ", "x" * 201])
def test_name_that_is_none_is_refused(models: SavedModels, name: str) -> None:
    with pytest.raises(AuditError, match="name"):
        models.add(name, {"source": "a"}, NOW)
    assert models.all() == []


def test_run_that_waits_for_a_served_model_is_listed_with_that_models_name(store: Store) -> None:
    served = {"source": "bundled", "endpoint": {"base_url": "http://127.0.0.1:1/v1", "model": "served by name"}}
    Runs(store).add("calibration", "one", {"model": served}, 7, "", NOW)
    assert run_lines(store)[0].models == ("served by name",)
