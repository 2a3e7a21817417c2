"""The Runs page's states, in a real Streamlit run without a browser and without a worker."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from auditlib.core import Settings
from auditlib.jobs import JobClient, load_summary
from auditlib.models.opening import load_model
from auditlib.models.request import ModelRequest
from auditlib.reports.plain_words import interval_text
from auditlib.scoring import SCORES
from auditlib.store import Artifacts, Run, RunLine, RunProgress, Runs, RunState, Store, TokenCache
from auditlib.ui.runs_table import ORDERS, matching, state_text
from tests.jobs.conftest import Place, documents
from tests.jobs.test_executing import Here, execute
from tests.pages.acting import press
from tests.store.test_token_cache import MODEL, WINDOWING, some
from tests.tiny import llama_config, save_folder

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
HOSTILE = "<b>bold</b> **name** \u202egnp.exe [x](http://example.org) :red[r] \ud800 \0 $x$"
PARAMETERS = {"model": {"source": "/models/one"}, "texts": "demo"}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with two finished calibrations of the same texts, made once."""
    folder = tmp_path_factory.mktemp("archive")
    model = ModelRequest(str(save_folder(folder / "tiny", llama_config(context=256))))
    place = Place(folder / "home", model)
    here = Here(load_model(model, place.settings), [NOW])
    first = place.client.start("calibration", "First", place.bring(documents(40)), "Anna")
    second_changes = {"k": 50.0, "rule": 0.05}
    assert execute(place, first.id, here) == "done"
    second = place.client.duplicate(first.id, second_changes, "Second", "Bert")
    assert execute(place, second.id, here) == "done"
    place.close()
    return place.home


@pytest.fixture
def home(own_home: Path) -> Path:
    return own_home


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    opened = Store(home)
    yield opened
    opened.close()


@pytest.fixture
def add(store: Store) -> Callable[..., Run]:
    """Adds a run in a state, without any worker."""

    def make(
        name: str, state: RunState = RunState.QUEUED, who: str = "", kind: str = "calibration", **ends: Any
    ) -> Run:
        runs = Runs(store)
        run = runs.add(kind, name, dict(PARAMETERS), 7, who, NOW)
        if state is not RunState.QUEUED:
            runs.start(run.id, NOW)
        if state in (RunState.DONE, RunState.FAILED, RunState.CANCELLED):
            runs.end(run.id, state, ends.pop("at", NOW + timedelta(minutes=2)), **ends)
        return runs.open(run.id)

    return make


def opened(link: str | None = None, **picked: tuple[str, ...]) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=100).run()
    app.switch_page("pages/runs.py")
    if link is not None:
        app.query_params["run"] = link
    for name, value in picked.items():
        app.session_state[name] = value
    app.run()
    assert not app.exception
    return app


def table(page: AppTest) -> Any:
    return page.dataframe[0].value


def names(page: AppTest) -> list[str]:
    return list(table(page)["Name"])


def said(page: AppTest) -> str:
    """Everything that stands on the page in sentences, without Markdown's escapes."""
    kinds = (page.markdown, page.caption, page.info, page.warning, page.error, page.success, page.subheader)
    return " ".join(element.value for kind in kinds for element in kind).replace("\\", "")


def facts(page: AppTest) -> str:
    return " ".join(
        f"{name} {' '.join(map(str, row))}" for t in page.table for name, row in t.value.iterrows()
    ).replace("\\", "")


def disabled(page: AppTest) -> dict[str, bool]:
    return {button.label: button.disabled for button in page.button}


def dialog(call: str, home: Path) -> AppTest:
    """A dialog kept open, which a page would open on a click: only a browser can do that."""
    script = f"""
from auditlib.ui.runs import jobs
from auditlib.ui import runs_dialogs, runs_cache
from auditlib.core import settings
from auditlib.store import TokenCache
from auditlib.ui.library import store
{call}
"""
    app = AppTest.from_string(script, default_timeout=60).run()
    assert not app.exception
    return app


def test_empty_page_says_what_runs_are_and_leads_to_calibrate(home: Path) -> None:
    page = opened()
    assert "Every audit is a run" in page.info[0].value
    assert not page.dataframe
    press(page, "Start with a calibration")
    assert page.title[0].value == "Calibrate"


def test_table_says_all_that_is_asked_of_it(add: Callable[..., Run], store: Store) -> None:
    add("done one", RunState.DONE, "Anna")
    running = add("running one", RunState.RUNNING, "Bert")
    Runs(store).report(running.id, RunProgress("reading", 43, 100, 5.0, 12.0))
    Runs(store).record(running.id, {"target": {"name": "Opened model", "adapter": "a" * 64}}, {}, {})
    page = opened()
    row = table(page).to_dict("records")
    assert [one["Name"] for one in row] == ["running one", "done one"]
    assert [one["State"] for one in row] == ["reading 43%", "done"]
    assert [one["Kind"] for one in row] == ["Calibration"] * 2
    assert [one["Model"] for one in row] == ["Opened model with an adapter", "/models/one"]
    assert [one["Who"] for one in row] == ["Bert", "Anna"]
    assert row[1]["Took"] == timedelta(minutes=2)
    assert row[1]["Created (UTC)"] == NOW


def test_filters_narrow_by_text_kind_state_and_who(add: Callable[..., Run]) -> None:
    add("Novels of March", RunState.DONE, "Anna")
    add("Novels of May", RunState.FAILED, "Bert", problem="No room. Make some.")
    add("Essays", RunState.DONE, "", kind="books of tomorrow")
    page = opened()
    page.text_input(key="runs_text").set_value("nOVELS").run()
    assert names(page) == ["Novels of May", "Novels of March"]
    page.multiselect(key="runs_state").set_value(["done"]).run()
    assert names(page) == ["Novels of March"]
    page.text_input(key="runs_text").set_value("").run()
    page.multiselect(key="runs_who").set_value(["nobody named"]).run()
    assert names(page) == ["Essays"]
    page.multiselect(key="runs_kind").set_value(["calibration"]).run()
    assert "No run is like that" in said(page)
    press(page, "Clear the filter")
    assert len(names(page)) == 3


def test_a_filter_on_somebody_whose_last_run_goes_is_let_go(add: Callable[..., Run], store: Store) -> None:
    gone = add("one", RunState.DONE, "Anna")
    add("two", RunState.DONE, "Bert")
    page = opened()
    page.multiselect(key="runs_who").set_value(["Anna"]).run()
    Runs(store).delete(gone.id)
    page.run()
    assert not page.exception
    assert names(page) == ["two"]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("newest first", ["c", "B", "a"]),
        ("oldest first", ["a", "B", "c"]),
        ("name", ["a", "B", "c"]),
        ("longest", ["B", "a", "c"]),
        ("last ended", ["B", "a", "c"]),
        ("state", ["c", "a", "B"]),
    ],
)
def test_orders(order: str, expected: list[str]) -> None:
    def line(name: str, state: RunState, minutes: int | None) -> RunLine:
        end = None if minutes is None else NOW + timedelta(minutes=minutes)
        return RunLine(name, "calibration", name, state, None, (), "", NOW, NOW if end else None, end)

    lines = [line("c", RunState.QUEUED, None), line("B", RunState.FAILED, 9), line("a", RunState.DONE, 5)]
    assert [one.name for one in ORDERS[order](lines, NOW)] == expected


def test_text_is_sought_in_name_model_person_and_id_and_taken_as_it_stands() -> None:
    line = RunLine("f" * 32, "calibration", "100% of (it)", RunState.DONE, None, ("Tiny",), "Änne", NOW, NOW, NOW)
    for sought in ("100% OF (", "tiny", "änne", "ffff", "  tiny "):
        assert matching([line], sought, [], [], []) == [line]
    for sought in (".*", "nothing"):
        assert matching([line], sought, [], [], []) == []


def test_clock_set_back_shows_no_negative_time(add: Callable[..., Run]) -> None:
    back = add("back", RunState.DONE, at=NOW - timedelta(days=900))
    page = opened(back.id)
    assert table(page)["Took"].tolist() == [timedelta(0)]
    assert "took under 1 s" in said(page)
    running = RunLine("r", "k", "r", RunState.RUNNING, None, (), "", NOW, NOW, None)
    assert running.seconds(NOW - timedelta(days=900)) == 0
    assert state_text(replace(running, progress=RunProgress("reading", 300, 100))) == "reading 100%"


@pytest.mark.parametrize(
    ("state", "enabled"),
    [
        (RunState.QUEUED, {"Cancel", "Duplicate", "Rename"}),
        (RunState.RUNNING, {"Cancel", "Duplicate", "Rename"}),
        (RunState.DONE, {"Open", "Duplicate", "Rename", "Delete"}),
        (RunState.FAILED, {"Resume", "Duplicate", "Rename", "Delete"}),
        (RunState.CANCELLED, {"Resume", "Duplicate", "Rename", "Delete"}),
    ],
)
def test_buttons_that_make_no_sense_in_a_state_are_disabled(
    add: Callable[..., Run], state: RunState, enabled: set[str]
) -> None:
    run = add("one", state)
    found = disabled(opened(run.id))
    all_of_them = {"Open", "Cancel", "Resume", "Duplicate", "Rename", "Delete"}
    assert {label for label in all_of_them if not found[label]} == enabled


def test_cancel_and_resume_do_so(add: Callable[..., Run], store: Store) -> None:
    run = add("one")
    page = press(opened(run.id), "Cancel")
    assert Runs(store).open(run.id).state is RunState.CANCELLED
    assert "was cancelled" in said(page)
    page = press(page, "Resume")
    assert Runs(store).open(run.id).state is RunState.QUEUED
    # Without a worker that is as far as it goes, and the page says how to start one.
    assert "python -m auditlib worker" in said(page)


def test_who_comes_late_to_cancel_is_told(
    add: Callable[..., Run], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = add("one")
    page = opened(run.id)
    cancel = JobClient.cancel

    def late(client: JobClient, run_id: str) -> bool:
        Runs(store).end(run_id, RunState.DONE, NOW)
        return cancel(client, run_id)

    monkeypatch.setattr(JobClient, "cancel", late)
    assert "had ended already" in said(press(page, "Cancel"))


def test_one_run_shows_its_parameters_in_words_and_what_it_was_made_with(archive: Path, home: Path) -> None:
    take(archive, home)
    run = next(run for run in Runs(Store(home)).all() if run.name == "Second")
    page = opened(run.id)
    shown = facts(page)
    for words in (
        "40 documents of the workspace: 20 members, 20 non-members",
        "k 50% of tokens",
        "at 5% false positives",
        "Seed 0",
        "Texts examined 40",
        "Target model tiny, float32",
        run.identities["target"]["weights_sha256"][:16],
        f"numpy {run.versions['numpy']}",
        "Who Bert",
    ):
        assert words in shown, words


def test_problem_and_notes_are_told(add: Callable[..., Run], store: Store) -> None:
    run = add("one", RunState.FAILED, problem="The folder /no/*such* is not there. Choose another.")
    note = "3 kept readings were damaged on the disk, so these texts were read again."
    Artifacts(store).put(run.id, "notes.json", "application/json", f'["{note}"]'.encode(), NOW)
    page = opened(run.id)
    assert "The folder /no/*such* is not there." in said(page)
    assert note in said(page)


def test_progress_of_an_unfinished_run_is_said(add: Callable[..., Run], store: Store) -> None:
    run = add("one", RunState.RUNNING)
    Runs(store).report(run.id, RunProgress("reading", 4300, 10_000, 310.0, 18.4))
    page = opened(run.id)
    bars = [element.proto.text for element in page.get("progress")]
    assert "4,300 of 10,000 tokens · 310 a second · about 18 s left" in bars[0].replace("\\", "")


@pytest.mark.parametrize(
    "link", ["", "0" * 32, "nothing", "<script>alert(1)</script>", "' OR 1=1 --", "../../etc", "\0", "x" * 9999]
)
def test_unknown_and_hostile_links_get_a_sentence(add: Callable[..., Run], link: str) -> None:
    add("one")
    page = opened(link)
    assert names(page) == ["one"]
    assert "That run is no longer there." in said(page)


def test_link_to_a_run_that_was_deleted_gets_a_sentence_on_an_empty_page_too(
    add: Callable[..., Run], store: Store
) -> None:
    run = add("one", RunState.DONE)
    Runs(store).delete(run.id)
    page = opened(run.id)
    assert "no longer there" in said(page)
    assert "Nothing has been run yet" in said(page)


def test_what_is_picked_is_in_the_address_and_there_again_after_another_page(add: Callable[..., Run]) -> None:
    run = add("one", RunState.DONE)
    page = opened(run.id)
    assert page.query_params["run"] in (run.id, [run.id])
    page.switch_page("pages/method.py").run()
    page.query_params.clear()
    page.switch_page("pages/runs.py").run()
    assert page.subheader[0].value == "one"
    assert page.query_params["run"] in (run.id, [run.id])


def test_open_leads_to_the_page_of_its_kind_with_the_run(archive: Path, home: Path) -> None:
    take(archive, home)
    run = Runs(Store(home)).all()[0]
    page = press(opened(run.id), "Open")
    assert page.title[0].value == "Calibrate"
    assert page.query_params["run"] in (run.id, [run.id])


def test_markup_in_names_stays_text(add: Callable[..., Run]) -> None:
    run = add(HOSTILE, RunState.FAILED, HOSTILE, problem=HOSTILE)
    page = opened(run.id)
    title = page.subheader[0].value
    for sign in "*<>[]:$":
        assert sign not in title.replace(f"\\{sign}", "")
    assert "http\\://\u2060example" in title  # parted, so that it becomes no link
    assert "\u202e" not in title
    assert names(page)[0].startswith("<b>bold</b> **name** \ufffdgnp.exe")
    assert "**name**" in said(page)


def test_run_of_a_kind_that_this_version_does_not_know(add: Callable[..., Run]) -> None:
    run = add("tomorrow", RunState.DONE, kind="books of **tomorrow**")
    page = opened(run.id)
    assert "no page for runs of this kind" in said(page)
    found = disabled(page)
    assert (found["Open"], found["Duplicate"]) == (True, True)
    assert (found["Rename"], found["Delete"]) == (False, False)
    assert "texts demo" in facts(page)


@pytest.mark.parametrize("changed", [{"k": "many"}, {"model": 3}, {"rule": 7.0}, {"else": 1}, {"documents": [[]]}])
def test_parameters_that_make_no_sense_are_said(store: Store, home: Path, changed: dict[str, Any]) -> None:
    run = Runs(store).add("calibration", "odd", PARAMETERS | changed, 0, "", NOW)
    page = opened(run.id)
    assert "Parameters" in facts(page)
    copy = dialog(f"runs_dialogs.duplicate_dialog(jobs().run('{run.id}'))", home)
    assert copy.error
    assert "Start the copy" not in disabled(copy)


def test_two_runs_are_compared_side_by_side(archive: Path, home: Path) -> None:
    take(archive, home)
    second, first = Runs(Store(home)).all()
    page = opened(runs_picked=(second.id, first.id))
    assert "Both runs read the same texts." in said(page)
    differing, results = (t.value for t in page.table)
    assert differing.loc["k"].tolist() == ["20% of tokens", "50% of tokens"]
    assert differing.loc["Threshold"].tolist() == ["by best accuracy", "at 5% false positives"]
    assert set(differing.index) == {"k", "Threshold"}
    for number, run in enumerate((first, second)):
        found = load_summary(Store(home), run).found
        for name, method in found.methods.items():
            row = results.loc[SCORES[name].label].tolist()
            assert row[number] == interval_text(method.findings.auc)
            assert row[2 + number] == method.verdict.word.value
        assert results.loc["the words alone, no model"].iloc[number] == interval_text(found.words.blind.auc)
    figure = page.get("plotly_chart")[0]
    assert "first" in figure.proto.spec
    assert "AUC with its 95% interval" in figure.proto.spec


def test_runs_of_two_kinds_and_runs_that_are_not_done_are_not_compared(add: Callable[..., Run]) -> None:
    one, two, three = add("one"), add("two", RunState.FAILED), add("three", kind="else")
    assert "Neither run is done" in said(opened(runs_picked=(one.id, two.id)))
    page = opened(runs_picked=(one.id, three.id))
    assert "runs of two kinds (Calibration and else)" in said(page)


def test_a_result_that_was_altered_is_said_and_not_compared(archive: Path, home: Path) -> None:
    take(archive, home)
    store = Store(home)
    runs = Runs(store).all()
    artifact = next(a for a in Artifacts(store).of(runs[0].id) if a.name == "summary.json")
    (home / "runs" / runs[0].id / artifact.sha256).write_bytes(b"{}")
    assert "was altered on the disk" in said(opened(runs_picked=tuple(run.id for run in runs)))


def test_several_are_cancelled_together(add: Callable[..., Run], store: Store) -> None:
    waiting = [add(str(n)) for n in range(3)]
    ended = add("ended", RunState.DONE)
    page = opened(runs_picked=tuple(run.id for run in [*waiting, ended]))
    assert "3 runs of these must be cancelled before" in said(page)
    press(page, "Cancel 3")
    assert {Runs(store).open(run.id).state for run in waiting} == {RunState.CANCELLED}
    assert Runs(store).open(ended.id).state is RunState.DONE
    assert "3 runs cancelled." in said(page)
    assert not disabled(page)["Delete 4"]


def test_what_the_filter_hides_is_not_among_several(add: Callable[..., Run]) -> None:
    one, two, other = add("one", RunState.DONE), add("two", RunState.DONE), add("other", RunState.DONE)
    page = opened(runs_picked=(one.id, two.id, other.id))
    assert not disabled(page)["Delete 3"]
    page.text_input(key="runs_text").set_value("o").run()
    page.text_input(key="runs_text").set_value("other").run()
    assert page.session_state["runs_picked"] == (other.id,)
    page.run()
    assert page.subheader[0].value == "other"


def test_rename_dialog(add: Callable[..., Run], store: Store, home: Path) -> None:
    run = add(HOSTILE)
    page = dialog(f"runs_dialogs.rename_dialog(jobs().run('{run.id}'))", home)
    page.text_input(key=f"rename_{run.id}").set_value("  New <i>name</i> ").run()
    press(page, "Rename")
    assert Runs(store).open(run.id).name == "New <i>name</i>"
    page.text_input(key=f"rename_{run.id}").set_value("   ").run()
    assert disabled(page)["Rename"]


def test_delete_dialog_names_the_runs_and_deletes_them(add: Callable[..., Run], store: Store, home: Path) -> None:
    for n in range(12):
        add(f"*run {n}*", RunState.DONE)
    page = dialog("runs_dialogs.delete_dialog(jobs().runs())", home)
    assert "*run 11*" in said(page)
    assert "and 2 more" in said(page)
    stays = add("came later", RunState.DONE)
    page = dialog(f"runs_dialogs.delete_dialog([r for r in jobs().runs() if r.id != '{stays.id}'])", home)
    press(page, "Delete 12 runs")
    assert [run.id for run in Runs(store).all()] == [stays.id]


def test_a_run_that_went_on_meanwhile_is_not_deleted(add: Callable[..., Run], store: Store, home: Path) -> None:
    run = add("one", RunState.CANCELLED)
    call = f"runs_dialogs.delete_dialog([jobs().run('{run.id}')])"
    page = dialog(call, home)
    Runs(store).queue_again(run.id)
    page.button[0].click().run()
    assert Runs(store).open(run.id).state is RunState.QUEUED
    assert "stayed; cancel first" in page.session_state["runs_said"]


def test_duplicate_takes_what_was_changed_and_keeps_the_rest(archive: Path, home: Path) -> None:
    take(archive, home)
    client = JobClient(Store(home), Settings(home=home))
    first = next(run for run in client.runs() if run.name == "First")
    page = dialog(f"runs_dialogs.duplicate_dialog(jobs().run('{first.id}'))", home)
    key = first.id
    page.text_input(key=f"copy_name_{key}").set_value("Copy of <it>")
    page.text_input(key=f"who_{key}").set_value("Carla")
    page.number_input(key=f"copy_k_{key}").set_value(35.0)
    page.number_input(key=f"copy_alpha_{key}").set_value(0.01)
    page.number_input(key=f"copy_seed_{key}").set_value(11)
    page.selectbox(key=f"copy_rule_{key}").set_value(0.01)
    page.selectbox(key=f"copy_{key}_dtype").set_value("bfloat16")
    page.text_input(key=f"copy_{key}_adapter").set_value(" /some/adapter ")
    page.run()
    press(page, "Start the copy")
    assert not page.error
    made = client.runs()[0]
    assert (made.name, made.who, made.seed, made.state) == ("Copy of <it>", "Carla", 11, RunState.QUEUED)
    expected = {"k": 35.0, "alpha": 0.01, "seed": 11, "rule": 0.01}
    expected["model"] = first.parameters["model"] | {"dtype": "bfloat16", "adapter": "/some/adapter"}
    assert made.parameters == first.parameters | expected
    assert page.session_state["runs_picked"] == (made.id,)


def test_values_that_the_fields_would_not_offer_are_kept_in_a_copy(store: Store, home: Path) -> None:
    odd = {
        "k": 0.05,
        "alpha": 0.9,
        "rule": 0.123,
        "seed": 2**40,
        "model": {"source": "x", "device": "cuda:3", "dtype": "float8"},
    }
    run = Runs(store).add("calibration", "odd", PARAMETERS | odd, 2**40, "", NOW)
    page = dialog(f"runs_dialogs.duplicate_dialog(jobs().run('{run.id}'))", home)
    press(page, "Start the copy")
    assert not page.error
    made = Runs(store).all()[0]
    for name in ("k", "alpha", "rule"):
        assert made.parameters[name] == odd[name]
    assert made.parameters.get("model", odd["model"]) == odd["model"]


def test_cache_line_says_size_and_limit_and_clears(store: Store, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_CACHE_BYTES", str(3_000_000_000))
    cache = TokenCache(store, 10**9)
    page = opened()
    assert "Holds **0 texts**" in said(page)
    assert disabled(page)["Clear"]
    cache.put(MODEL, WINDOWING, some(range(12)))
    page.run()
    assert "Holds **12 texts**" in said(page)
    assert "of at most 3.0 GB" in said(page)
    assert not disabled(page)["Clear"]
    call = "runs_cache._clear_dialog(runs_cache._clearing(store(), store().name, 1), TokenCache(store(), 1).size())"
    asked = dialog(call, home)
    assert cache.size().rows == 12
    assert "12 kept readings will be forgotten" in said(asked)
    press(asked, "Clear the cache")
    wait_until(lambda: cache.size().rows == 0)


def test_worker_absent_is_said_and_everything_else_is_there(add: Callable[..., Run]) -> None:
    add("one", RunState.DONE)
    page = opened()
    assert any("python -m auditlib worker" in warning.value.replace("\\", "") for warning in page.main.warning)
    assert names(page) == ["one"]
    assert "Holds" in said(page)


def test_database_that_is_none_is_a_sentence(home: Path) -> None:
    (home / "audit.db").write_bytes(b"no database" * 500)
    page = opened()
    assert "is not a database" in said(page)
    assert not page.dataframe


def take(archive: Path, home: Path) -> None:
    """A copy of the archive's database and files."""
    for part in ("audit.db", "runs", "workspaces"):
        source = archive / part
        (shutil.copytree if source.is_dir() else shutil.copy)(source, home / part)


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)
