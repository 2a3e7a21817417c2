"""Whole runs over a server: one that misbehaves at random, and one that dies and comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from auditlib.core import Settings
from auditlib.models.endpoint.connecting import connect
from auditlib.models.endpoint.patience import Patience
from auditlib.models.request import EndpointRequest, ModelRequest
from auditlib.store import Artifacts, RunState
from tests.jobs.conftest import Place
from tests.jobs.test_executing import Here, execute
from tests.jobs.test_spending import parameters
from tests.models.endpoint_server import CONTEXT, NAME, TinyServer, served, tiny_model
from tests.models.test_endpoint import RANDOM_TROUBLES
from tests.tiny import llama_config, save_folder

N_TEXTS = 40
PATIENT = Patience(tries=12, first_wait=0.005, longest_wait=0.02)
HASTY = Patience(tries=3, first_wait=0.005, longest_wait=0.01)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_folder(tmp_path_factory.mktemp("tokenizer") / "tiny", llama_config(context=CONTEXT)))


def calibrated(place: Place, server: TinyServer, tokenizer: str, patience: Patience) -> tuple[str, Here]:
    """A calibration over the server, queued, and surroundings in which it can be executed."""
    endpoint = EndpointRequest(server.url, NAME, tokenizer=tokenizer, at_once=1)
    here = Here(connect(endpoint, Settings(endpoint_seconds=2), patience))  # type: ignore[arg-type]
    run = place.client.start(
        "calibration", "Served", parameters(place, ModelRequest(endpoint=endpoint), N_TEXTS, 5), ""
    )
    return run.id, here


def scores(place: Place, run_id: str) -> bytes:
    return Artifacts(place.store).read(run_id, "scores.parquet")


def test_a_run_over_a_server_that_misbehaves_at_random_ends_as_over_a_quiet_one(tmp_path: Path, tokenizer: str) -> None:
    model = tiny_model()
    found = []
    for name, troubles in (("quiet", ()), ("troubled", RANDOM_TROUBLES)):
        place = Place(tmp_path / name, ModelRequest())
        with served(model) as server:
            run_id, here = calibrated(place, server, tokenizer, PATIENT)
            server.behaviour.troubles, server.behaviour.share = troubles, 0.4 if troubles else 0.0
            before = server.behaviour.n_completions
            assert execute(place, run_id, here) == "done", place.client.run(run_id).problem
            asked = server.behaviour.n_completions - before
        assert asked > 2 * N_TEXTS if troubles else asked <= 2 * N_TEXTS
        found.append(scores(place, run_id))
    assert found[0] == found[1]


def test_a_server_that_dies_fails_the_run_with_what_to_do_and_a_resumed_run_ends_the_same(
    tmp_path: Path, tokenizer: str
) -> None:
    model = tiny_model()
    with served(model) as server:
        whole = Place(tmp_path / "whole", ModelRequest())
        run_id, here = calibrated(whole, server, tokenizer, HASTY)
        assert execute(whole, run_id, here) == "done"
        expected = scores(whole, run_id)

        place = Place(tmp_path / "broken", ModelRequest())
        run_id, here = calibrated(place, server, tokenizer, HASTY)
        server.behaviour.always = "hang up"
        server.behaviour.after = server.behaviour.n_completions + 30
        assert execute(place, run_id, here) == "failed"
        problem = place.client.run(run_id).problem or ""
        assert "cannot be reached" in problem
        assert "it goes on where it stopped" in problem
        server.behaviour.always = None
        before = server.behaviour.n_completions
        assert place.client.resume(run_id)
        assert place.client.run(run_id).state is RunState.QUEUED
        assert execute(place, run_id, here) == "done", place.client.run(run_id).problem
        assert server.behaviour.n_completions - before < 2 * N_TEXTS  # not all of it again
    assert scores(place, run_id) == expected
