"""What runs over a server spend: each its own budget, over interruptions, and nothing for what was read before."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from auditlib.core import AuditError, Settings
from auditlib.jobs import CalibrationParameters, chosen, report_files
from auditlib.jobs.executing import Halted
from auditlib.jobs.spending import Spending, kept_spending
from auditlib.models.endpoint.connecting import connect
from auditlib.models.endpoint.keys import KEYS
from auditlib.models.endpoint.patience import Patience
from auditlib.models.request import EndpointRequest, ModelRequest
from auditlib.store import RunState, Workspace
from tests.jobs.conftest import Place, documents
from tests.jobs.test_executing import Here, execute
from tests.models.endpoint_server import CONTEXT, KEY, NAME, TinyServer, served, tiny_model
from tests.tiny import llama_config, save_folder

QUICK = Patience(tries=3, first_wait=0.005, longest_wait=0.01)
LABEL = "tiny at 127.0.0.1"


@pytest.fixture(scope="module")
def server() -> Iterator[TinyServer]:
    with served(tiny_model()) as one:
        yield one


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_folder(tmp_path_factory.mktemp("tokenizer") / "tiny", llama_config(context=CONTEXT)))


class Connected(Here):
    """A worker's surroundings with one connection to the server, as a worker has; can be halted at a batch."""

    def __init__(self, request: ModelRequest, halt_at: int | None = None) -> None:
        assert request.endpoint is not None
        # The checks on connecting have a budget of their own, which these small limits would end.
        free = replace(request.endpoint, most_tokens=None)
        super().__init__(connect(free, Settings(endpoint_seconds=5), QUICK))  # type: ignore[arg-type]
        self._halt_at = halt_at

    def step(self, name: str, work: Callable[[], int]) -> int:
        if self._halt_at is not None and len(self.scored) >= self._halt_at:
            raise Halted
        return super().step(name, work)


def asked(server: TinyServer, tokenizer: str, most_tokens: int | None = None) -> ModelRequest:
    return ModelRequest(
        endpoint=EndpointRequest(server.url, NAME, tokenizer=tokenizer, at_once=1, price=2.0, most_tokens=most_tokens)
    )


def spent(place: Place, run_id: str) -> int:
    return kept_spending(place.store, run_id).get(LABEL, (0, None))[0]


def parameters(place: Place, model: ModelRequest, n: int, seed: int) -> CalibrationParameters:
    made = documents(n, seed=seed)
    Workspace(place.store).add(f"{seed}.txt", made[0].text.encode(), made)
    return CalibrationParameters(model, documents=chosen(made))


def test_each_run_has_the_whole_budget_and_kept_readings_cost_nothing(
    place: Place, server: TinyServer, tokenizer: str
) -> None:
    model = asked(server, tokenizer)
    here = Connected(model)
    first = place.client.start("calibration", "first", parameters(place, model, 40, 1))
    assert execute(place, first.id, here) == "done"
    n_tokens = spent(place, first.id)
    assert n_tokens > 1000
    limited = asked(server, tokenizer, most_tokens=n_tokens + 200)
    again = place.client.duplicate(first.id, {"model": limited}, "again")
    assert execute(place, again.id, here) == "done"
    assert spent(place, again.id) == 0
    other = place.client.start("calibration", "other", parameters(place, limited, 40, 2))
    n_before = server.behaviour.n_completions
    assert execute(place, other.id, here) == "done"  # on one connection that has sent as much already
    assert server.behaviour.n_completions > n_before
    assert 1000 < spent(place, other.id) <= n_tokens + 200
    assert place.client.notes(first.id) == [
        f"{n_tokens:,} tokens were sent to {LABEL}, at a cost of {n_tokens * 2 / 1e6:,.2f}."
    ]


def test_budget_ends_a_run_which_a_copy_with_a_larger_one_finishes(
    place: Place, server: TinyServer, tokenizer: str
) -> None:
    limited = asked(server, tokenizer, most_tokens=2000)
    here = Connected(limited)
    run = place.client.start("calibration", "poor", parameters(place, limited, 40, 3))
    assert execute(place, run.id, here) == "failed"
    ended = place.client.run(run.id)
    assert ended.state is RunState.FAILED
    assert "budget of this server ends here" in str(ended.problem)
    first = spent(place, run.id)
    assert 0 < first <= 2000
    assert place.client.resume(run.id)
    assert execute(place, run.id, here) == "failed"  # it goes on counting where it was
    assert first <= spent(place, run.id) <= 2000
    rich = place.client.duplicate(run.id, {"model": asked(server, tokenizer)}, "rich")
    assert execute(place, rich.id, here) == "done"
    assert spent(place, rich.id) > 0


def test_a_run_that_was_halted_goes_on_counting(place: Place, server: TinyServer, tokenizer: str) -> None:
    model = asked(server, tokenizer)
    run = place.client.start("calibration", "halted", parameters(place, model, 40, 5))
    assert execute(place, run.id, Connected(model, halt_at=1)) == "halted"
    before = spent(place, run.id)
    assert before > 0
    assert execute(place, run.id, Connected(model)) == "done"
    quiet = place.client.start("calibration", "quiet", parameters(place, model, 40, 5))
    assert spent(place, run.id) > before
    assert execute(place, quiet.id, Connected(model)) == "done"
    assert spent(place, quiet.id) == 0


def test_what_is_killed_has_counted_too_much_rather_than_too_little(server: TinyServer) -> None:
    kept: list[bytes] = []
    endpoint = EndpointRequest(server.url, NAME, most_tokens=1000)
    spending = Spending(kept.append, {})
    budget = spending.budget(endpoint)
    for _ in range(30):
        budget.spend(10)
        assert int(kept[-1].split(b"[")[1].split(b",")[0]) >= budget.spent_tokens
    assert len(kept) < 20  # not at every request
    with pytest.raises(AuditError, match="would go beyond the 1,000"):
        budget.spend(701)
    with spending.settled():
        pass
    assert kept[-1] == b'{"tiny at 127.0.0.1": [300, null]}'
    resumed = Spending(kept.append, {LABEL: (300, None)}).budget(endpoint)
    with pytest.raises(AuditError, match="300 tokens were sent"):
        resumed.spend(701)


def test_key_is_in_no_file_row_or_report_of_a_run_over_a_server(place: Place) -> None:
    with served(tiny_model(), key=KEY) as locked:
        KEYS.remember(locked.url, KEY)
        try:
            model = ModelRequest(endpoint=EndpointRequest(locked.url, NAME, price=2.0))
            run = place.client.start("calibration", "locked", parameters(place, model, 40, 6))
            assert execute(place, run.id, Connected(model)) == "done"
        finally:
            KEYS.forget(locked.url)
    package = report_files(place.store, place.client.run(run.id), with_texts=True, with_pdf=False)
    with zipfile.ZipFile(io.BytesIO(package.data)) as archive:
        contents = [archive.read(name) for name in archive.namelist()]
    assert any(locked.url.encode() in content for content in contents)  # the server is named
    contents += [file.read_bytes() for file in place.home.rglob("*") if file.is_file() and not file.is_symlink()]
    for part in (KEY, KEY[:14], KEY[-14:]):
        assert not any(part.encode() in content for content in contents)
