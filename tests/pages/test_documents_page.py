"""The Documents page: bring, list, open, mark, compare, delete."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from auditlib.core import Label
from auditlib.documents import read_file
from auditlib.store import Workspace
from auditlib.ui.document_list import preview_html
from tests.documents.builders import prose

ROOT = Path(__file__).parents[2]
SHARED = prose(80, seed=99)


@pytest.fixture
def page(empty_home: Path) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    return app.run().switch_page("pages/documents.py").run()


def button(page: AppTest, starts: str) -> object:
    return next(b for b in page.button if b.label.startswith(starts))


def upload(page: AppTest, *files: tuple[str, bytes]) -> AppTest:
    uploader = page.file_uploader[0]
    uploader.set_value([(name, data, "application/octet-stream") for name, data in files]).run()
    return button(page, "Read ").click().run()  # type: ignore[attr-defined]


def texts(page: AppTest) -> list[str]:
    return [*(e.value.replace("\\", "") for e in page.error), *(s.value for s in page.success)]


def test_empty_page_says_what_to_bring(page: AppTest) -> None:
    assert not page.exception
    assert "No texts yet" in page.info[0].value


def test_good_files_are_added_and_a_bad_one_is_said_by_name(page: AppTest, empty_home: Path) -> None:
    upload(page, ("one.txt", prose(50).encode()), ("broken.pdf", b"%PDF-1.4 cut"), ("two.md", prose(60, 2).encode()))
    assert not page.exception
    assert "Added 2 texts." in texts(page)
    assert any("broken.pdf" in said for said in texts(page))
    assert [d.n_words for d in Workspace(empty_home).documents()] == [50, 60]
    assert "2 texts" in [s.value for s in page.subheader]


def test_same_file_twice_is_stored_once_and_said(page: AppTest, empty_home: Path) -> None:
    upload(page, ("one.txt", prose(50).encode()))
    upload(page, ("again.txt", prose(50).encode()))
    assert any("Here already" in i.value for i in page.info)
    assert len(Workspace(empty_home).documents()) == 1


def test_table_is_read_by_the_columns_that_were_picked(page: AppTest, empty_home: Path) -> None:
    rows = "input,label,book\n" + "".join(f'"{prose(30, seed)}",{seed % 2},b{seed}\n' for seed in range(4))
    upload(page, ("bench.csv", rows.encode()))
    assert not page.exception
    stored = Workspace(empty_home).documents()
    assert [d.label for d in stored] == [Label.NON_MEMBER, Label.MEMBER] * 2
    assert [d.group for d in stored] == ["b0", "b1", "b2", "b3"]


def mark(home: Path, label: Label, *names: str) -> None:
    store = Workspace(home)
    for document in store.documents():
        if document.title in names:
            store.mark(document.key, label, document.group)


def test_sets_are_counted_and_shared_passages_can_be_dropped(page: AppTest, empty_home: Path) -> None:
    upload(
        page,
        ("a.txt", (prose(100, 1) + " " + SHARED).encode()),
        ("b.txt", (SHARED + " " + prose(100, 2)).encode()),
        ("c.txt", prose(90, 3).encode()),
        ("d.txt", prose(90, 4).encode()),
    )
    mark(empty_home, Label.MEMBER, "a", "c")
    mark(empty_home, Label.NON_MEMBER, "b", "d")
    page.run()
    assert not page.exception
    assert list(page.table[0].value["Snippets"]) == ["1", "1"]
    assert any("1 of them across the two sets" in m.value for m in page.markdown)
    page.toggle[0].set_value(False).run()
    assert list(page.table[0].value["Snippets"]) == ["2", "2"]


def test_unmarked_texts_give_no_sets_and_the_page_says_how(page: AppTest) -> None:
    upload(page, ("one.txt", prose(50).encode()))
    assert any("Mark texts as member or non-member" in i.value for i in page.info)


def test_document_is_cleaned_otherwise_on_demand(page: AppTest, empty_home: Path) -> None:
    upload(page, ("one.txt", b"The fer-\nry was   late. " + prose(40).encode()))
    assert "ferry was late" in Workspace(empty_home).open(1).text
    page.checkbox(key="again_1_hyphens").uncheck().run()
    page.button(key="again_1").click().run()
    assert not page.exception
    assert "fer-\nry was late" in Workspace(empty_home).open(1).text


def test_preview_shows_removed_parts_in_place_and_markup_as_letters() -> None:
    (document,) = read_file("x.txt", b"<script>alert(1)</script>   <b>bold</b> and the fer-\nry. " + prose(30).encode())
    html = preview_html(document)
    assert "<script" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<del" in html


def test_inspect_reads_a_part_of_a_long_book(empty_home: Path) -> None:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    app.session_state["text_way"] = "Upload"
    app.run()
    app.file_uploader(key="text_file").upload("book.txt", prose(5000).encode()).run()
    assert not app.exception
    assert app.number_input(key="text_words").value == 2000
    assert "2,000 words" in app.caption[-1].value or any("2,000 words" in c.value for c in app.caption)
