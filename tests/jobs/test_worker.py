"""A worker from outside: what it says, what it answers, how it ends."""

from __future__ import annotations

import http.client
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from auditlib.core import AuditError, Capability
from auditlib.jobs import load_calibration, load_read_sets, load_score_table, load_summary
from auditlib.jobs.place import WorkerAddress, executor_id, read_address, write_address
from auditlib.models.request import ModelRequest
from auditlib.scoring import read_texts
from auditlib.store import RunState, Workspace
from auditlib.store.packing import pack
from tests.jobs.conftest import ROOT, Place, documents

MANY = [document.text for document in documents(2000, seed=6)]
LONG = " ".join(MANY[:100])


def test_without_a_worker_the_client_says_how_to_start_one(place: Place) -> None:
    state = place.client.worker_state()
    assert not state.is_there
    assert "python -m auditlib worker" in state.said
    with pytest.raises(AuditError, match="No worker is running"):
        place.client.model(place.model)


def test_an_address_that_a_killed_worker_left_is_no_worker(place: Place) -> None:
    executor_id(place.home)
    write_address(place.home, WorkerAddress(1, "a secret", 1))
    assert not place.client.worker_state().is_there


def test_page_and_shell_import_neither_torch_nor_dbos() -> None:
    program = "import auditlib.jobs, auditlib.cli, sys; sys.exit('torch' in sys.modules or 'dbos' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0


def test_a_worker_from_first_question_to_clean_end(place: Place) -> None:
    process = place.worker()
    place.wait_for_worker()
    _strangers_are_not_answered(place)
    _the_remote_model_is_the_model(place)
    _errors_arrive_as_two_sentences(place)
    _models_are_shown_and_unloaded(place)
    said = place.end(process)
    assert process.returncode == 0
    assert "The worker is ready" in said
    assert "Traceback" not in said
    assert not place.client.worker_state().is_there
    assert read_address(place.home) is None


def _strangers_are_not_answered(place: Place) -> None:
    address = read_address(place.home)
    assert address is not None
    for file in (place.home / "worker", place.home / "worker" / "address.json"):
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0
    for headers, body, status in (
        ({}, b"{}", 403),
        ({"Authorization": "Bearer wrong"}, b"{}", 403),
        ({"Authorization": f"Bearer {address.token}"}, b"no json", 400),
        ({"Authorization": f"Bearer {address.token}", "Content-Length": str(1 << 40)}, b"{}", 400),
        ({"Authorization": f"Bearer {address.token}", "Content-Length": "-1"}, b"{}", 400),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=20)
        connection.request("POST", "/ask", body, headers)
        assert connection.getresponse().status == status
        connection.close()


def _the_remote_model_is_the_model(place: Place) -> None:
    from auditlib.models.opening import load_model

    remote, local = place.client.model(place.model), load_model(place.model, place.settings)
    assert remote.identity == local.identity
    assert remote.capabilities == local.capabilities
    assert Capability.RANK in remote.capabilities
    assert (remote.context_length, remote.vocabulary_size) == (local.context_length, local.vocabulary_size)
    texts = [document.text for document in documents(5)]
    assert remote.tokens_to_read(texts[0]) == local.tokens_to_read(texts[0])
    heard: list[tuple[int, int]] = []
    got = dict(read_texts(remote, texts, top=3, progress=lambda done, total: heard.append((done, total))))
    expected = dict(read_texts(local, texts, top=3))
    for index, reading in expected.items():
        assert pack(got[index].stats) == pack(reading.stats)
        theirs, ours = got[index].stats.alternatives, reading.stats.alternatives
        assert theirs is not None
        assert ours is not None
        assert theirs.ids.tobytes() == ours.ids.tobytes()
        assert theirs.logprob.tobytes() == ours.logprob.tobytes()
    assert heard[-1][0] == heard[-1][1] > 0
    ids = expected[0].stats.token_ids[:20].tolist()
    assert remote.token_text(ids) == local.token_text(ids)


def _errors_arrive_as_two_sentences(place: Place) -> None:
    with pytest.raises(AuditError) as missing:
        place.client.model(ModelRequest("/no/such/folder"))
    assert missing.value.remedy
    remote = place.client.model(place.model)
    with pytest.raises(AuditError, match="My poem is empty"):
        remote.tokens_to_read(" ", "My poem")
    with pytest.raises(AuditError, match="My poem is empty"):
        list(remote.token_stats([" "], names=["My poem"]))


def _models_are_shown_and_unloaded(place: Place) -> None:
    (loaded,) = place.client.worker_state().models
    assert loaded.request == place.model
    assert loaded.memory_bytes > 100_000
    assert "cpu" in place.client.devices()
    assert place.client.unload(place.model)
    assert place.client.worker_state().models == ()
    assert not place.client.unload(place.model)


def test_a_second_worker_waits_and_takes_over(place: Place) -> None:
    first = place.worker()
    place.wait_for_worker()
    one = read_address(place.home)
    second = place.worker()
    place.wait_for(lambda: f"process {first.pid}" in second.said)
    place.kill(first)
    place.wait_for(lambda: read_address(place.home) != one)
    place.wait_for_worker()
    assert second.poll() is None
    place.end(second)
    assert second.returncode == 0


def test_a_worker_beside_a_process_ends_with_it(place: Place) -> None:
    with subprocess.Popen(["sleep", "600"]) as page:
        command = [sys.executable, "-m", "auditlib", "worker", "--beside", str(page.pid)]
        with subprocess.Popen(command, cwd=ROOT, env=place.environment(), stderr=subprocess.DEVNULL) as process:
            place.wait_for_worker()
            page.kill()
            assert process.wait(60) == 0


def test_questions_are_answered_between_the_batches_of_an_audit_in_order(working: Place) -> None:
    parameters = working.bring(documents(300, 60, seed=1))
    remote = working.client.model(working.model)
    text = documents(1)[0].text
    list(remote.token_stats([text], top=5))
    began = time.monotonic()
    list(remote.token_stats([text], top=5))
    idle = time.monotonic() - began
    run = working.client.start("calibration", "one", parameters)
    working.wait_for(lambda: len(working.batches_read()) >= 3, every=0.01)

    # A long question holds the model while five short ones arrive one after the other.
    ended: list[int] = []

    def ask(number: int, asked: str) -> None:
        list(remote.token_stats([asked], top=5))
        ended.append(number)

    threads = [threading.Thread(target=ask, args=(n, text if n else LONG)) for n in range(6)]
    for thread in threads:
        thread.start()
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    assert ended == list(range(6))

    began = time.monotonic()
    list(remote.token_stats([text], top=5))
    assert time.monotonic() - began < idle + 2
    assert working.client.run(run.id).state is RunState.RUNNING, "the run was over too soon to say anything"
    with pytest.raises(AuditError, match="A run is reading with this model"):
        working.client.unload(working.model)
    assert working.finished(run.id).state is RunState.DONE


def test_cancel_stops_at_once_and_resume_goes_on(working: Place) -> None:
    run = working.client.start("calibration", "one", working.bring(documents(120, seed=2)))
    working.wait_for(lambda: len(working.batches_read()) >= 5, every=0.01)
    assert working.client.cancel(run.id)
    working.wait_for(lambda: f"run {run.id}: cancelled" in working.log())
    read = len(working.batches_read())
    assert working.client.run(run.id).state is RunState.CANCELLED
    assert working.client.resume(run.id)
    assert working.finished(run.id).state is RunState.DONE
    batches = working.batches_read()
    # Cancelling stops between two layers: the batch at work then is begun again, and no other.
    assert len(batches) - 1 <= len(set(batches)) > read - 1
    assert all(batches.count(number) == 1 for number in set(batches) - {batches[read - 1]})
    assert not working.client.cancel(run.id)
    assert not working.client.resume(run.id)


def test_a_worker_that_is_asked_to_end_leaves_its_run_to_the_next(place: Place) -> None:
    run = place.client.start("calibration", "one", place.bring(documents(120)))
    process = place.worker()
    place.wait_for(lambda: len(place.batches_read()) >= 5, every=0.01)
    place.end(process)
    assert process.returncode == 0
    assert place.client.run(run.id).state is RunState.RUNNING
    assert f"run {run.id}: halted" in place.log()
    place.worker()
    assert place.finished(run.id).state is RunState.DONE
    # It ends between two layers, so the batch that was under way is begun again, and no other.
    assert len(place.batches_read()) - len(set(place.batches_read())) <= 1


def test_runs_wait_for_each_other_and_end_with_a_sentence_where_they_cannot_go_on(working: Place) -> None:
    made = documents(40, seed=3)
    parameters = working.bring(made)
    names = ("good", "no model", "deleted", "cancelled while it waits", "too few", "good again")
    changed = {
        "no model": replace(parameters, model=ModelRequest("/no/such/folder")),
        "deleted": replace(
            parameters, documents=(replace(parameters.documents[0], id="f" * 64), *parameters.documents[1:])
        ),
        "too few": replace(parameters, documents=parameters.documents[:1]),
    }
    runs = {name: working.client.start("calibration", name, changed.get(name, parameters), "me") for name in names}
    assert working.client.cancel(runs["cancelled while it waits"].id)
    assert working.client.delete(runs["cancelled while it waits"].id)
    ended = {name: working.finished(run.id) for name, run in runs.items() if "waits" not in name}
    assert ended["good"].state is RunState.DONE
    assert ended["good again"].state is RunState.DONE
    for name, said in (("no model", "/no/such/folder"), ("deleted", "can no longer be found"), ("too few", "There")):
        assert ended[name].state is RunState.FAILED
        problem = ended[name].problem
        assert problem is not None
        assert said in problem
        assert problem.count(".") >= 2
        assert "Traceback" not in problem
    in_order = [runs[name].id for name in names if "waits" not in name]
    assert [run.id for run in reversed(working.client.runs())][-len(in_order) :] == in_order
    ends = re.findall(r"run (\w+): (?:done|failed)$", working.log(), re.MULTILINE)
    assert ends[-len(in_order) :] == in_order

    # All that the second good run needed was there.
    n_batches = len(set(working.batches_read()))
    assert len(working.batches_read()) == n_batches

    # A document that is deleted afterwards takes nothing from what was found.
    workspace = Workspace(working.store)
    gone = {one.id for one in parameters.documents}
    workspace.delete([next(d.key for d in workspace.documents() if d.document_id in gone)])
    done = ended["good"]
    assert load_read_sets(working.store, done, working.settings.cache_bytes) is None
    assert len(load_score_table(working.store, done)) > 30
    summary = load_summary(working.store, done)
    assert load_calibration(working.store, done, "min_k").auc == summary.found.methods["min_k"].findings.auc
    copy = working.client.duplicate(done.id, {"k": 40.0}, "with another k", "me")
    assert working.finished(copy.id).problem is not None  # its document is gone


def test_a_page_that_goes_away_ends_its_question(working: Place) -> None:
    remote = working.client.model(working.model)
    answer = remote.token_stats(MANY)
    next(answer)
    answer.close()
    began = time.monotonic()
    list(remote.token_stats(["A short question, please."]))
    assert time.monotonic() - began < 20


def test_a_worker_killed_while_it_answers_is_said(place: Place) -> None:
    process = place.worker()
    place.wait_for_worker()
    remote = place.client.model(place.model)
    answer = remote.token_stats(MANY)
    next(answer)
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(AuditError, match="ended before it had answered"):
        list(answer)
