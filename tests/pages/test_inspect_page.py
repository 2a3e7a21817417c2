"""The Inspect page's states, in a real Streamlit run without a browser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from auditlib.models.request import ModelRequest
from auditlib.scoring import SCORES
from tests.documents.builders import one_of_each
from tests.tiny import byte_level_tokenizer, llama_config, save_folder

ROOT = Path(__file__).parents[2]
TEXT = "The ferry was late, and nobody on the quay was surprised. She counted the apples twice."


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_folder(tmp_path_factory.mktemp("page") / "tiny", llama_config(context=256), byte_level_tokenizer())


@pytest.fixture
def page(tiny_folder: Path, worker: Path) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.session_state["model_request"] = ModelRequest(source=str(tiny_folder))
    return app.run()


def read(page: AppTest, text: str) -> AppTest:
    page.text_area(key="text_pasted").set_value(text).run()
    return next(b for b in page.button if b.label == "Read this text").click().run()


def only_error(page: AppTest) -> str:
    assert not page.exception
    assert len(page.error) == 1
    return page.error[0].value.replace("\\", "").replace("\u2060", "")  # which keeps addresses from becoming links


def test_nothing_yet_says_what_to_bring(page: AppTest) -> None:
    assert not page.exception
    assert not page.error
    assert "Nothing has been read yet" in page.info[0].value
    assert page.title[0].value == "Inspect"


def test_text_is_read_and_every_score_shown(page: AppTest) -> None:
    read(page, TEXT)
    assert not page.exception
    assert not page.error
    scores = page.table[0].value
    assert list(scores.index) == ["Loss", "Lowercase", "Min-K% (k = 20%)", "Min-K%++ (k = 20%)", "SURP", "Zlib"]
    assert scores["Value"].str.contains(r"\d").all()
    assert "perplexity" in scores.loc["Loss", "Value"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "There is no text yet"),
        ("  \n ", "There is no text yet"),
        ("a", "0 tokens that can be scored"),
        ("a\0b c d", "NUL characters"),
    ],
    ids=["empty", "blank", "too short", "NUL"],
)
def test_text_that_cannot_be_read_is_said_in_one_sentence_and_the_page_stays_usable(
    page: AppTest, text: str, said: str
) -> None:
    read(page, text)
    assert said in only_error(page)
    read(page, TEXT)
    assert not page.error
    assert len(page.table) == 1


def test_text_over_the_limit_is_refused_before_the_model_sees_it(page: AppTest) -> None:
    read(page, "word " * 1_000_000)
    said = only_error(page)
    assert "has 5,000,000 characters" in said
    assert "python -m auditlib score" in said


@pytest.mark.parametrize(
    "text", ["😀😀😀😀😀", "<script>alert(1)</script> &amp; <b>bold</b>", "# heading\n\n$$x$$ :smile:"]
)
def test_odd_text_is_read_as_text(page: AppTest, text: str) -> None:
    read(page, text)
    assert not page.exception
    assert not page.error
    assert len(page.table) == 1


def test_model_that_is_missing_is_said_and_another_can_be_used(page: AppTest, tiny_folder: Path) -> None:
    page.session_state["model_request"] = ModelRequest(source="/no/such/*model*")
    read(page, TEXT)
    assert "There is no model folder /no/such/*model*" in only_error(page)
    page.session_state["model_request"] = ModelRequest(source=str(tiny_folder))
    read(page, TEXT)
    assert not page.error


def test_examples_fill_the_text(page: AppTest) -> None:
    next(b for b in page.button if "famous" in b.label).click().run()
    assert "truth universally acknowledged" in page.text_area(key="text_pasted").value


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("binary.txt", bytes(range(256)) * 9, "“binary.txt” is not text"),
        ("empty.md", b"", "“empty.md” is empty"),
        ("[x](http://a.b)\n.txt", bytes(range(256)), "“(x)(http://a.b) .txt” is not text"),
        ("novel.exe", b"MZ", "in no format that can be read"),
    ],
)
def test_bad_upload_is_said_by_name(page: AppTest, name: str, data: bytes, said: str) -> None:
    page.session_state["text_way"] = "Upload"
    page.run()
    page.file_uploader(key="text_file").upload(name, data).run()
    next(b for b in page.button if b.label == "Read this text").click().run()
    assert said in only_error(page)


def test_method_page_explains_every_score(page: AppTest) -> None:
    page.switch_page("pages/method.py").run()
    assert not page.exception
    assert list(page.table[0].value.index) == [score.label for score in SCORES.values()]


@pytest.mark.parametrize("name", list(one_of_each()))
def test_file_of_every_kind_is_read(page: AppTest, name: str) -> None:
    page.session_state["text_way"] = "Upload"
    page.run()
    page.file_uploader(key="text_file").upload(name, one_of_each()[name]).run()
    next(b for b in page.button if b.label == "Read this text").click().run()
    assert not page.exception
    assert not page.error
    assert len(page.table) == 1


def test_without_a_worker_the_page_stands_and_says_how_to_start_one(own_home: Path) -> None:
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    read(page, TEXT)
    assert "python -m auditlib worker" in only_error(page)
    assert "python -m auditlib worker" in page.sidebar.warning[0].value.replace("\\", "")


def test_page_imports_no_torch(worker: Path, tiny_folder: Path) -> None:
    script = f"""
import sys
from streamlit.testing.v1 import AppTest
from auditlib.scoring import SCORES
from auditlib.models.request import ModelRequest
page = AppTest.from_file({str(ROOT / "app.py")!r}, default_timeout=120)
page.session_state["model_request"] = ModelRequest(source={str(tiny_folder)!r})
page.run()
page.text_area(key="text_pasted").set_value({TEXT!r}).run()
next(b for b in page.button if b.label == "Read this text").click().run()
assert not page.exception and not page.error and page.table
for place in ("calibrate", "documents", "method", "models"):
    page.switch_page(f"pages/{{place}}.py").run()
    assert not page.exception
print(sorted(name for name in ("torch", "transformers", "dbos") if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[-2] == "[]"
