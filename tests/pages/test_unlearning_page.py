"""The Unlearning page's states, in a real Streamlit run without a browser, with a real worker and small models."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest
from transformers import AutoModelForCausalLM

from auditlib.audits.unlearning import DEMO_SETTINGS
from auditlib.core import Document, Label
from auditlib.jobs import JobClient
from auditlib.models.request import ModelRequest
from auditlib.reports.archive import verify
from auditlib.store import Run, Runs, RunState, Store, Workspace
from auditlib.ui.run_view_unlearning import unlearning_words
from tests.conftest import link_models, start_worker
from tests.models.chat_server import chat_server
from tests.pages.acting import finished, press
from tests.pages.test_books_page import book
from tests.tiny import byte_level_tokenizer, llama_config, save_folder

ROOT = Path(__file__).parents[2]
HOSTILE = "<b>A *hostile* title</b>"
INJECTED = "Score: 5\nReason: <script>alert(1)</script> identical"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model, and the same with its weights moved."""
    root = tmp_path_factory.mktemp("unlearning")
    before = save_folder(root / "before", llama_config(context=512), byte_level_tokenizer())
    after = save_folder(root / "after", llama_config(context=512), byte_level_tokenizer())
    model = AutoModelForCausalLM.from_pretrained(after)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1 + 0.5 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    model.save_pretrained(after)
    return before, after


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder with a worker, for this module."""
    folder = link_models(tmp_path_factory.mktemp("unlearning page") / "home")
    process = start_worker(folder)
    yield folder
    process.kill()
    process.wait(30)


@pytest.fixture
def page(home: Path, folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("AUDIT_HOME", str(home))
    files = Workspace(Store(home))
    files.delete([stored.key for stored in files.documents()])
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=200).run()
    app.switch_page("pages/unlearning.py").run()
    app.session_state["model_request"] = ModelRequest(source=str(folders[0]))
    return app.run()


def shelf() -> list[Document]:
    return [
        book(HOSTILE, Label.UNKNOWN, 1),
        book("Kept", Label.MEMBER, 2),
        book("Never seen", Label.NON_MEMBER, 3, words=160),
    ]


def bring(page: AppTest, home: Path, folders: tuple[Path, Path], books: list[Document]) -> AppTest:
    files = Workspace(Store(home))
    for one in books:
        files.add(one.source_name, one.text.encode(), [one])
    page.run()
    page.text_input(key="unlearning_unlearned_source").set_value(str(folders[1]))
    for name, value in (("chunk_words", 20), ("prompt_words", 8), ("samples", 2), ("new_tokens", 6)):
        page.number_input(key=f"unlearning_{name}").set_value(value)
    page.run()
    assert not page.exception
    return page


def audit(page: AppTest) -> Run:
    press(page, "Audit")
    assert not page.error, page.error[0].value
    return finished(page, "unlearning")


def said(page: AppTest) -> str:
    parts = [*page.markdown, *page.warning, *page.info, *page.caption, *page.error]
    labels = [one.label for one in page.expander]
    return " ".join([*(element.value for element in parts), *labels]).replace("\\", "")


def suspicious(page: AppTest) -> list[str]:
    return list(next(table.value for table in page.table if "By perplexity alone" in table.value)["Suspicious"])


def test_empty_page_says_what_to_bring_and_one_button_loads_the_demo(page: AppTest) -> None:
    assert not page.exception
    assert "No works yet" in page.info[0].value
    assert not [button for button in page.button if button.label == "Audit"]
    press(page, "Demo")
    assert not page.error
    assert page.number_input(key="unlearning_chunk_words").value == DEMO_SETTINGS.chunk_words
    assert [button for button in page.button if button.label == "Audit"]
    assert "3 models read 54 chunks each" in said(page)


def test_an_audit_from_documents_and_all_that_can_be_changed_after_it(
    page: AppTest, home: Path, folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(page, home, folders, shelf())
    run = audit(page)
    assert run.state is RunState.DONE, run.problem
    text = said(page)
    assert HOSTILE in text  # as text: escaped for Markdown
    assert "base URL" in text  # no judge: how to add one
    assert "tokens were drawn" in text

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a run was started")

    monkeypatch.setattr(JobClient, "start", refuse)
    page.slider(key=f"unlearning_factor_{run.id}").set_value(3.0).run()
    assert not page.exception
    wide = suspicious(page)
    page.slider(key=f"unlearning_factor_{run.id}").set_value(1.01).run()
    assert suspicious(page) != wide

    press(page, "Compare models")
    assert not page.error
    payloads = page.session_state["unlearning_payloads"][1]
    assert payloads["original"]["logprob"] != payloads["unlearned"]["logprob"]
    assert payloads["difference"]["against"] == payloads["original"]["logprob"]

    rating = next(one for one in page.segmented_control if one.label.startswith("Your rating"))
    rating.set_value(5).run()
    assert not page.exception
    assert "1 completion rated (1 by people" in said(page)
    press(page, "Make the report")
    assert not page.error
    package = page.session_state["unlearning_report"][1]
    html = package.html.decode()
    assert "&lt;b&gt;A *hostile* title&lt;/b&gt;" in html
    assert ", rated 5" in html
    assert "0.99 to 1.01" in html.replace("0.990", "0.99").replace("1.010", "1.01")
    (tmp_path / "package.zip").write_bytes(package.data)
    assert verify(tmp_path / "package.zip") == []


def test_a_judge_is_told_of_before_any_text_goes_and_its_ratings_are_shown_as_text(
    page: AppTest, home: Path, folders: tuple[Path, Path]
) -> None:
    with chat_server() as server:
        server.reply = lambda messages: INJECTED
        bring(page, home, folders, shelf())
        page.text_input(key="unlearning_judge_url").set_value(server.url)
        page.text_input(key="unlearning_judge_model").set_value("judge-1")
        page.number_input(key="unlearning_judge_price").set_value(10.0)
        page.run()
        assert not page.error
        warned = said(page)
        assert "Texts leave this machine" in warned
        assert "40 pairs" in warned
        assert "a cost of about 0." in warned
        assert not server.asked
        run = audit(page)
        assert run.state is RunState.DONE, run.problem
        assert server.asked
    text = said(page)
    assert "<script>alert(1)</script> identical" in text  # as text
    assert "(100.0%) have 4 or 5" in text
    assert "Agreement of ratings and embeddings: One of the two measures is the same" in text


def test_what_cannot_be_audited_is_said_before_it_is_started(
    page: AppTest, home: Path, folders: tuple[Path, Path]
) -> None:
    bring(page, home, folders, [book("Short", Label.UNKNOWN, 9, words=12)])
    assert "too short: the longest has 12 words" in page.error[0].value.replace("\\", "")
    assert not [button for button in page.button if button.label == "Audit"]
    bring(page, home, folders, [book("Long", Label.UNKNOWN, 10)])
    assert not page.error
    assert "nothing to compare with" in said(page)
    page.text_input(key="unlearning_judge_url").set_value("no address").run()
    assert page.error
    page.text_input(key="unlearning_judge_url").set_value("").run()
    page.text_input(key="unlearning_unlearned_source").set_value(str(folders[0])).run()
    assert "Original and unlearned model are the same" in said(page)


def test_questions_with_missing_answers_are_named(page: AppTest, home: Path, folders: tuple[Path, Path]) -> None:
    bring(page, home, folders, shelf())
    table = b"question,answer\nWhat follows the ferry?,the quay\nWhat is missing?,\n"
    page.file_uploader(key="unlearning_questions").upload("q.csv", table).run()
    assert not page.error
    assert "1 question from this file" in said(page)
    assert "left out for no question or no answer: row" in said(page)
    page.file_uploader(key="unlearning_questions").upload("bad.csv", b"a,b\n1,2\n").run()
    assert "no column" in page.error[0].value


def test_the_runs_page_knows_what_was_asked_and_compares_two(
    page: AppTest, home: Path, folders: tuple[Path, Path]
) -> None:
    bring(page, home, folders, shelf())
    run = audit(page)
    words = unlearning_words(run)
    assert words["Works"] == "1 document to be forgotten, 1 document to be kept, 1 document never seen"
    assert words["Chunks"] == "20 words, of which 8 are the prompt"
    assert words["Judge"] == "none"

    def compared(run_id: str) -> None:
        from auditlib.ui.run_view_unlearning import compare_unlearning
        from auditlib.ui.runs import jobs

        compare_unlearning(jobs().run(run_id), jobs().run(run_id))

    shown = AppTest.from_function(compared, args=(run.id,), default_timeout=60).run()
    assert not shown.exception
    table = shown.table[0].value
    assert list(table["first"]) == list(table["second"])
    assert "Suspicious chunks, works to be forgotten" in table.index


def test_a_run_that_was_deleted_and_one_of_another_kind_are_said(page: AppTest, home: Path) -> None:
    page.query_params["run"] = "0" * 32
    page.run()
    assert not page.exception
    assert "no longer there" in page.error[0].value
    other = Runs(Store(home)).add("calibration", "another", {}, 0, "", datetime.now(UTC))
    page.query_params["run"] = other.id
    page.run()
    assert not page.exception
    assert "of another kind" in said(page)
