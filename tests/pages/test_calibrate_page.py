"""The Calibrate page's states, in a real Streamlit run without a browser."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from auditlib.core import Label, settings
from auditlib.jobs import CalibrationParameters, ChosenDocument, JobClient, RemoteModel
from auditlib.models.request import ModelRequest
from auditlib.reports.archive import verify
from auditlib.store import FINISHED, Calibrations, Runs, RunState, Store, TokenCache
from auditlib.ui import calibration_run
from tests.pages.acting import PATIENCE_SECONDS, finished, press
from tests.tiny import byte_level_tokenizer, llama_config, save_folder

WORDS = ["ferry", "quay", "apple", "window", "minute", "letter", "harbour", "number", "garden", "late", "wrote", "cold"]
ROOT = Path(__file__).parents[2]
SET_FILES = {label: ROOT / "assets" / "demo" / f"{label}s.jsonl" for label in ("member", "non-member")}


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_folder(tmp_path_factory.mktemp("page") / "tiny", llama_config(context=256), byte_level_tokenizer())


@pytest.fixture
def page(tiny_folder: Path, worker: Path) -> AppTest:
    saved = Calibrations(Store(worker))
    for calibration in saved.all():  # of earlier tests
        saved.delete(calibration.name)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=200).run()
    app.switch_page("pages/calibrate.py").run()
    app.session_state["model_request"] = ModelRequest(source=str(tiny_folder))
    return app.run()


def short_demo(page: AppTest, tiny_folder: Path) -> AppTest:
    """The demo's sets under the tiny model, cut short so that reading takes a moment."""
    press(page, "Demo")
    page.session_state["model_request"] = ModelRequest(source=str(tiny_folder))
    page.session_state["calibrate_cut_method"] = "truncate"
    page.session_state["calibrate_cut_words"] = 20
    page.run()
    return calibrate(page)


def calibrate(page: AppTest) -> AppTest:
    """Starts a run, waits for its end as a person would, and looks at the page then."""
    press(page, "Calibrate")
    if page.error:
        return page
    finished(page, "calibration")
    return page


def words_on(page: AppTest) -> str:
    return " ".join(element.value for element in page.markdown).replace("\\", "")


def upload(page: AppTest, members: list[tuple[str, bytes, str]], others: list[tuple[str, bytes, str]]) -> AppTest:
    page.session_state["calibrate_way"] = "Upload here"
    page.run()
    for label, files in (("member", members), ("non-member", others)):
        page.file_uploader(key=f"calibrate_upload_{label}").set_value(files)
    page.run()
    assert not page.exception
    return page


def test_nothing_yet_says_what_to_bring(page: AppTest) -> None:
    assert not page.exception
    assert "No document is marked" in page.info[0].value
    assert not [button for button in page.button if button.label == "Calibrate"]


def test_demo_is_two_clicks_from_a_verdict(page: AppTest, tiny_folder: Path) -> None:
    short_demo(page, tiny_folder)
    assert not page.error
    # A model with random weights has read none of it.
    assert ":gray[Not supported]" in words_on(page) or ":orange[Inconclusive]" in words_on(page)
    table = next(t.value for t in page.table if "AUC" in t.value.columns)
    assert list(table.index)[-1] == "the words alone, without the model"
    assert table["AUC"].str.fullmatch(r"0\.\d\d \[0\.\d\d, 0\.\d\d\]").all()


def test_a_reference_a_placebo_variants_and_a_corpus_are_chosen_on_the_page(page: AppTest, tiny_folder: Path) -> None:
    press(page, "Demo")
    page.session_state["model_request"] = ModelRequest(source=str(tiny_folder))
    page.session_state["calibrate_cut_method"] = "truncate"
    page.session_state["calibrate_cut_words"] = 12
    page.run()
    for key, value in (
        ("calibration_beside_reference", "current"),
        ("calibration_beside_placebo", "current"),
        ("calibration_beside_corpus", "demo"),
    ):
        page.selectbox(key=key).set_value(value)
    page.number_input(key="calibration_beside_shots").set_value(1)
    page.run()
    said = " ".join(caption.value for caption in page.caption)
    assert "Each text is also read by the reference model, by the placebo model, after two prefixes." in said
    calibrate(page)
    assert not page.error
    table = next(t.value for t in page.table if "AUC" in t.value.columns)
    assert {"Reference", "ReCaLL", "Con-ReCall", "DC-PDD"} <= set(table.index)
    assert "Under the placebo model" in words_on(page)
    before = table["AUC"]["Reference"]
    page.slider(key="calibration_k").set_value(60).run()
    assert not page.exception
    again = next(t.value for t in page.table if "AUC" in t.value.columns)
    assert again["AUC"]["Reference"] == before


def test_k_score_and_alpha_never_ask_the_model_again(
    page: AppTest, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short_demo(page, tiny_folder)

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("the model was asked")

    monkeypatch.setattr(RemoteModel, "token_stats", refuse)
    monkeypatch.setattr(JobClient, "start", refuse)
    before = [t.value for t in page.table][1]
    page.slider(key="calibration_k").set_value(60).run()
    assert not page.exception
    after = [t.value for t in page.table][1]
    assert before.loc["Min-K% (k = 20%)", "Threshold"] != after.loc["Min-K% (k = 60%)", "Threshold"]
    assert before.loc["Loss", "Threshold"] == after.loc["Loss", "Threshold"]
    page.selectbox(key="calibration_score").set_value("loss").run()
    page.number_input(key="calibration_alpha").set_value(0.01).run()
    page.selectbox(key="calibration_rule").set_value("5% false positives").run()
    assert not page.exception
    assert "0.01 that was set" in words_on(page)
    assert "Labels reversed: AUC" in words_on(page)


def test_saved_calibration_places_a_text_on_the_inspect_page(page: AppTest, tiny_folder: Path) -> None:
    short_demo(page, tiny_folder)
    page.text_input(key="calibration_name_min_k").set_value("mine *1*").run()
    press(page, "Save")
    assert "Saved as" in page.success[0].value
    press(page, "Save")
    assert "already" in page.error[0].value
    kept = Calibrations(Store(settings().home_folder)).open("mine *1*").value
    assert kept["format"] == "pretraining-audit calibration"

    page.switch_page("pages/inspect_text.py").run()
    page.text_area(key="text_pasted").set_value("The ferry was late, and nobody on the quay was surprised.").run()
    press(page, "Read this text")
    assert not page.error
    assert "p = " in words_on(page)
    assert "The text was read by the model that was calibrated." in words_on(page)

    other = ModelRequest(source=str(save_folder(tiny_folder.parent / "other", llama_config(context=128))))
    page.session_state["model_request"] = other
    page.run()
    press(page, "Read this text")
    assert "made on another model" in page.warning[0].value
    assert "p = " not in words_on(page)


def test_export_is_imported_again_and_damaged_ones_are_refused(page: AppTest, tiny_folder: Path) -> None:
    short_demo(page, tiny_folder)
    press(page, "Save")
    (stored,) = Calibrations(Store(settings().home_folder)).all()
    good = json.dumps(stored.value)
    Calibrations(Store(settings().home_folder)).delete(stored.name)
    for data, said in (
        (good.replace('"version": 2', '"version": 3'), "newer version"),
        (good.replace('"k": 20.0', '"k": 21.0'), "changed after it was written"),
        (good.replace('"auc"', '"acu"'), "not complete"),
        ("PK\x03\x04", "no calibration"),
    ):
        page.file_uploader(key="calibration_import").set_value([("c.json", data.encode(), "application/json")]).run()
        assert not page.exception
        assert said in page.error[-1].value, data[:80]
    page.file_uploader(key="calibration_import").set_value([("c.json", good.encode(), "application/json")]).run()
    assert not page.exception
    assert [c.name for c in Calibrations(Store(settings().home_folder)).all()] == [stored.name]


@pytest.mark.parametrize(
    ("members", "others", "said"),
    [
        (["a text " * 30, "some other words " * 30], [], "There are no non-members"),
        (["one text " * 30], ["another text " * 30, "a third text " * 40], "There is 1 member."),
        (["the very same words " * 30] * 2, ["the very same words " * 30] * 2, "left out"),
    ],
)
def test_sets_that_cannot_calibrate_are_refused(
    page: AppTest, members: list[str], others: list[str], said: str
) -> None:
    def files(texts: list[str]) -> list[tuple[str, bytes, str]]:
        return [(f"{place}.txt", text.encode(), "text/plain") for place, text in enumerate(texts)]

    upload(page, files(members), files(others))
    assert said in page.error[0].value.replace("\\", "")
    assert not [button for button in page.button if button.label == "Calibrate"]


def rows(name: str, group: str = "") -> bytes:
    """Eight texts that are all different, as a table."""
    deal = random.Random(name)
    texts = [f"{name} {' '.join(deal.choices(WORDS, k=25))}" for _ in range(8)]
    return "\n".join(json.dumps({"text": text} | ({"group": group} if group else {})) for text in texts).encode()


def test_set_of_one_work_is_said_to_be_too_little(page: AppTest) -> None:
    upload(
        page,
        [("m.jsonl", rows("Anna", "one <b>book</b>"), "application/jsonl")],
        [("n.jsonl", rows("Bertram"), "application/jsonl")],
    )
    assert "at least two works" in words_on(page)
    calibrate(page)
    assert "belong to one group" in page.error[-1].value


def test_what_the_run_found_is_not_computed_again_however_often_k_is_moved(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(page, [("m.jsonl", rows("Anna"), "application/jsonl")], [("n.jsonl", rows("Bertram"), "application/jsonl")])
    calibrate(page)

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr(calibration_run, "calibrate", refuse)
    monkeypatch.setattr(calibration_run, "MOST_KEPT", 6)
    for k in (30, 40, 50):  # each keeps its scores and its length classes
        page.slider(key="calibration_k").set_value(k).run()
        assert not page.exception


def test_uploaded_files_take_the_label_of_their_box(page: AppTest) -> None:
    upload(
        page,
        [("x.jsonl", SET_FILES["non-member"].read_bytes(), "application/jsonl")],
        [
            ("y.jsonl", SET_FILES["member"].read_bytes(), "application/jsonl"),
            ("bad.txt", bytes(range(256)), "text/plain"),
        ],
    )
    assert "bad.txt" in page.error[0].value.replace("\\", "")
    counts = page.table[0].value
    assert counts.loc["members", "Texts"] == "40"
    assert counts.loc["non-members", "Texts"] == "40"


def test_report_and_package_are_made_and_the_package_verifies(page: AppTest, tiny_folder: Path, tmp_path: Path) -> None:
    short_demo(page, tiny_folder)
    page.text_input(key=f"report_by_{page.session_state['calibration_run']}").set_value("A <b>Reader</b>").run()
    press(page, "Make the report")
    assert not page.error
    package = page.session_state["calibration_report"][1]
    html = package.html.decode()
    assert "A &lt;b&gt;Reader&lt;/b&gt;" in html
    (tmp_path / "package.zip").write_bytes(package.data)
    assert verify(tmp_path / "package.zip") == []
    assert "auditlib rerun PACKAGE.zip" in html
    page.number_input(key="calibration_alpha").set_value(0.01).run()
    assert "A report for people who were not here" in " ".join(caption.value for caption in page.caption)


def test_run_can_be_opened_again_by_its_address_and_by_coming_back(page: AppTest, tiny_folder: Path) -> None:
    short_demo(page, tiny_folder)
    run_id = page.session_state["calibration_run"]
    assert page.query_params["run"] == run_id
    page.switch_page("pages/inspect_text.py").run()
    page.switch_page("pages/calibrate.py").run()
    assert "All methods" in [heading.value for heading in page.subheader]

    another = AppTest.from_file(str(ROOT / "app.py"), default_timeout=200).run()
    another.switch_page("pages/calibrate.py")
    another.query_params["run"] = run_id
    another.run()
    assert not another.exception
    assert "All methods" in [heading.value for heading in another.subheader]
    another.query_params["run"] = "<b>no such run</b>"
    another.run()
    assert "no longer there" in another.error[0].value


def test_failed_run_says_why_and_goes_on_when_asked(page: AppTest, tiny_folder: Path) -> None:
    short_demo(page, tiny_folder)
    runs = Runs(Store(settings().home_folder))
    gone = CalibrationParameters(ModelRequest(str(tiny_folder)), documents=(ChosenDocument("0" * 64, Label.MEMBER),))
    run = JobClient(Store(settings().home_folder), settings()).start("calibration", "<b>gone</b>", gone)
    until = time.monotonic() + PATIENCE_SECONDS
    while runs.open(run.id).state not in FINISHED:
        assert time.monotonic() < until
        time.sleep(0.05)
    page.query_params["run"] = run.id
    page.run()
    assert not page.exception
    assert "can no longer be found" in page.error[0].value
    press(page, "Resume")
    assert runs.open(run.id).state is not RunState.DONE


def test_deleted_readings_leave_what_the_run_found(page: AppTest, tiny_folder: Path) -> None:
    short_demo(page, tiny_folder)
    table = [t.value for t in page.table][1]
    store = Store(settings().home_folder)
    TokenCache(store, 10**9).clear()
    del page.session_state["calibration_finished"]
    page.run()
    assert not page.exception
    assert [t.value for t in page.table][1].equals(table)
    assert page.slider(key="calibration_k").disabled
    press(page, "Save")
    assert "Saved as" in page.success[0].value
    assert "were deleted since" in page.info[0].value
    press(page, "Make the report")
    assert not page.error
    assert page.session_state["calibration_report"][1].html
