"""The Books page's states, in a real Streamlit run without a browser, with a real worker and a small model."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from auditlib.core import Document, Label
from auditlib.jobs import JobClient
from auditlib.models.request import ModelRequest
from auditlib.reports.archive import verify
from auditlib.store import Run, Runs, RunState, Store, Workspace
from tests.conftest import link_models, start_worker
from tests.pages.acting import finished, press
from tests.tiny import byte_level_tokenizer, llama_config, save_folder

ROOT = Path(__file__).parents[2]
WORDS = ["ferry", "quay", "apple", "window", "minute", "letter", "harbour", "number", "garden", "late", "wrote", "cold"]


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_folder(tmp_path_factory.mktemp("books") / "tiny", llama_config(context=512), byte_level_tokenizer())


@pytest.fixture(scope="module")
def shelf_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder with a worker, for this module: its Documents are books."""
    home = link_models(tmp_path_factory.mktemp("books page") / "home")
    process = start_worker(home)
    yield home
    process.kill()
    process.wait(30)


@pytest.fixture
def page(tiny_folder: Path, shelf_home: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("AUDIT_HOME", str(shelf_home))
    files = Workspace(Store(shelf_home))
    files.delete([stored.key for stored in files.documents()])
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=200).run()
    app.switch_page("pages/books.py").run()
    app.session_state["model_request"] = ModelRequest(source=str(tiny_folder))
    return app.run()


def book(title: str, label: Label, seed: int, words: int = 120, author: str = "", year: int | None = None) -> Document:
    text = " ".join(random.Random(seed).choices(WORDS, k=words))
    return Document(
        sha256(text.encode()).hexdigest(),
        title,
        text,
        "text/plain",
        f"{title}.txt",
        label=label,
        author=author,
        year=year,
    )


def bring(home: Path, books: list[Document]) -> None:
    files = Workspace(Store(home))
    for one in books:
        files.add(one.source_name, one.text.encode(), [one])


def shelf_of(n: int) -> list[Document]:
    labels = (Label.MEMBER, Label.NON_MEMBER)
    return [book(f"Known {place}", labels[place % 2], place) for place in range(2 * n)]


def cut(page: AppTest, words: int, count: int = 2) -> AppTest:
    page.number_input(key="books_cut_words").set_value(words)
    page.number_input(key="books_cut_count").set_value(count).run()
    assert not page.exception
    return page


def audit(page: AppTest) -> Run:
    press(page, "Audit")
    assert not page.error, page.error[0].value
    return finished(page, "books")


def said(page: AppTest) -> str:
    parts = [*page.markdown, *page.warning, *page.info, *page.caption, *page.error]
    return " ".join(element.value for element in parts).replace("\\", "")


def test_empty_page_says_what_to_bring(page: AppTest) -> None:
    assert not page.exception
    assert "No books yet" in page.info[0].value
    assert not [button for button in page.button if button.label == "Audit"]


def test_books_are_audited_and_settings_never_ask_the_model_again(
    page: AppTest, shelf_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audited = [book("<b>A *hostile* title</b>", Label.UNKNOWN, 100), book("Another", Label.UNKNOWN, 101)]
    bring(shelf_home, [*shelf_of(6), *audited])
    cut(page.run(), 40)
    run = audit(page)
    assert run.state is RunState.DONE, run.problem
    table = next(frame.value for frame in page.dataframe if "p corrected" in frame.value.columns)
    assert set(table["Book"]) == {"<b>A *hostile* title</b>", "Another"}
    assert table["p"].str.fullmatch(r"0\.\d+|1").all()
    assert "<b>A *hostile* title</b>" in said(page)  # as text: escaped for Markdown

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a run was started")

    monkeypatch.setattr(JobClient, "start", refuse)
    page.select_slider(key="books_k").set_value(60.0).run()
    page.selectbox(key="books_score").set_value("loss").run()
    page.selectbox(key="books_rule").set_value("5% false positives").run()
    page.number_input(key="books_alpha").set_value(0.2).run()
    assert not page.exception
    again = next(frame.value for frame in page.dataframe if "p corrected" in frame.value.columns)
    assert set(again["Mean score"]) != set(table["Mean score"])

    press(page, "Make the report")
    assert not page.error
    package = page.session_state["books_report"][1]
    html = package.html.decode()
    assert "&lt;b&gt;A *hostile* title&lt;/b&gt;" in html
    assert "python -m auditlib books --audited AUDITED" in html
    assert "--score loss --k 60 --rule 0.05 --alpha 0.2" in html
    (tmp_path / "package.zip").write_bytes(package.data)
    assert verify(tmp_path / "package.zip") == []


def test_plan_warns_before_time_is_spent(page: AppTest, shelf_home: Path) -> None:
    dated = [
        book(
            f"Old {n}" if n % 2 else f"New {n}",
            (Label.NON_MEMBER, Label.MEMBER)[n % 2],
            200 + n,
            year=(2020, 1850)[n % 2] + n,
        )
        for n in range(12)
    ]
    bring(shelf_home, [*dated, book("Asked", Label.UNKNOWN, 300), book("Short", Label.UNKNOWN, 301, words=10)])
    cut(page.run(), 40)
    text = said(page)
    assert "Years alone separate the known shelves" in text
    assert "no book can be “supported”" in text
    assert "“Short”: shorter than one snippet" in text


def test_shelves_that_cannot_be_used_are_refused_with_a_sentence(page: AppTest, shelf_home: Path) -> None:
    bring(shelf_home, [book("Only", Label.MEMBER, 400), book("Asked", Label.UNKNOWN, 401)])
    cut(page.run(), 40)
    assert page.error
    assert not [button for button in page.button if button.label == "Audit"]


def test_audited_book_on_a_known_shelf_is_caught_by_content(page: AppTest, shelf_home: Path) -> None:
    same = book("Under another name", Label.UNKNOWN, 0)
    known = shelf_of(4)
    text = known[0].text + " and a last word"
    copy = Document(sha256(text.encode()).hexdigest(), same.title, text, "text/plain", "copy.txt", label=Label.UNKNOWN)
    bring(shelf_home, [*known, copy])
    cut(page.run(), 40)
    assert "“Known 0”" in said(page)
    assert "Under another name" in said(page)


def test_run_that_was_deleted_says_so(page: AppTest) -> None:
    page.query_params["run"] = "0" * 32
    page.run()
    assert not page.exception
    assert "no longer there" in page.error[0].value


def test_run_of_another_kind_is_said(page: AppTest, shelf_home: Path) -> None:
    other = Runs(Store(shelf_home)).add("calibration", "another", {}, 0, "", datetime.now(UTC))
    page.query_params["run"] = other.id
    page.run()
    assert not page.exception
    assert "of another kind" in said(page)
