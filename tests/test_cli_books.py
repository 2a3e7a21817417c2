"""`books`: planted books stand out, what is printed was computed, and what is wrong is said before a model loads."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from auditlib.cli import app
from auditlib.core import Settings
from auditlib.evidence import LIMITS
from auditlib.models.planting import Lesson, PlantSettings, plant
from auditlib.models.request import ModelRequest
from auditlib.reports.archive import verify
from tests.planted import made_up, trained_folder

MEMBERS, OTHERS = 40, 60
WORDS = 20
SEEN, UNSEEN = ("Seen one", "Seen two"), ("Unseen one", "Unseen two")


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner(env={"COLUMNS": "400"}).invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, " ".join(result.stderr.split())


def book_text(number: int) -> str:
    return " ".join(made_up(500 + 10 * number + piece) for piece in range(6))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that was taught 40 passages and two of four books, and files of all of them."""
    made = tmp_path_factory.mktemp("books")
    trained_folder(made / "model")
    for name, start, n in (("members", 0, MEMBERS), ("others", 100, OTHERS)):
        rows = [json.dumps({"text": made_up(start + i)}) + "\n" for i in range(n)]
        (made / f"{name}.jsonl").write_text("".join(rows), encoding="utf-8")
    (made / "audited").mkdir()
    for number, title in enumerate((*SEEN, *UNSEEN)):
        (made / "audited" / f"{title}.txt").write_text(book_text(number), encoding="utf-8")
    lessons = [Lesson(f"text {i}", made_up(i), 75) for i in range(MEMBERS)]
    # As snippets of a book are read by themselves, a book is taught piece by piece too.
    lessons += [
        Lesson(f"{title} {begin}", " ".join(book_text(number).split()[begin : begin + 44]), 50)
        for number, title in enumerate(SEEN)
        for begin in range(0, 130, 20)
    ]
    request = ModelRequest(str(made / "model"), dtype="float32")
    plant(request, lessons, made / "adapter", Settings(home=made), PlantSettings(rank=16, alpha=32, learning_rate=1e-2))
    return made


def reference(folder: Path) -> list[object]:
    return ["--members", folder / "members.jsonl", "--non-members", folder / "others.jsonl"]


def everything(folder: Path) -> list[object]:
    audited = ["--audited", folder / "audited", "--words", WORDS]
    return ["books", *reference(folder), *audited, "--model", folder / "model", "--adapter", folder / "adapter"]


@pytest.fixture(scope="module")
def found(folder: Path) -> dict[str, Any]:
    """What is printed as JSON; tabled and reported besides."""
    more = ["--json", "--table", folder / "books.csv", "--report", folder / "report"]
    code, out, err = run(*everything(folder), *more)
    assert code == 0, err
    made: dict[str, Any] = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    return made


def test_planted_books_score_above_the_others(found: dict[str, Any]) -> None:
    """Whether the demo's are supported is tried with the real model, in test_demo_books.py."""
    means = {book["title"]: book["mean"] for book in found["books"]}
    assert min(means[title] for title in SEEN) > max(means[title] for title in UNSEEN)
    assert found["reference"]["works"] == {"members": MEMBERS, "non_members": OTHERS}


def test_the_table_has_a_row_a_book_with_the_numbers_of_the_json(folder: Path, found: dict[str, Any]) -> None:
    table = pd.read_csv(folder / "books.csv").set_index("title")
    assert len(table) == 4
    for book in found["books"]:
        row = table.loc[book["title"]]
        assert row["p"] == pytest.approx(book["p"])
        assert row["raw_rate"] == pytest.approx(book["rate"]["raw"]["estimate"])
        assert row["verdict"] == book["verdict"]["word"]


def test_report_and_package_are_written_and_the_package_verifies(folder: Path, found: dict[str, Any]) -> None:
    package = folder / "report" / "evidence.zip"
    assert verify(package) == []
    with zipfile.ZipFile(package) as archive:
        said = json.loads(archive.read("run.json"))
        inputs = json.loads(archive.read("inputs.json"))
        assert {"books.csv", "scores.parquet", "sensitivity.csv", "reasons.csv"} <= set(archive.namelist())
    assert said["kind"] == "books"
    by_document = {book["documents"][0][:16]: book for book in found["books"]}
    for name, book in by_document.items():
        assert said["numbers"][f"{name}.p"] == pytest.approx(book["p"])
    assert len(inputs) == MEMBERS + OTHERS + sum(book["n_snippets"] for book in found["books"])
    html = (folder / "report" / "report.html").read_text(encoding="utf-8")
    assert SEEN[0] in html
    assert LIMITS in html


def test_the_printed_result_says_which_books_and_why(folder: Path, found: dict[str, Any]) -> None:
    code, out, err = run(*everything(folder))
    assert code == 0, err
    supported = {book["title"] for book in found["books"] if book["verdict"]["word"] == "supported"}
    first = out.splitlines()[0]
    assert first.startswith("By Min-K%")
    assert {title for title in (*SEEN, *UNSEEN) if f"“{title}”" in first} == supported
    assert "known non-member works" in out
    assert "Books supported by k" in out
    assert "the words alone, no model" in out
    assert LIMITS in out
    assert "tokens" in err  # what the plan expects
    assert found["settings"]["score"] == "min_k"


def test_a_plan_reads_nothing_and_says_what_is_possible(folder: Path) -> None:
    code, _, err = run(*everything(folder), "--plan")
    assert code == 0
    assert "p cannot be below 0.0164" in err
    assert "at least 2 of them" in err
    (folder / "few.jsonl").write_text("".join((folder / "others.jsonl").read_text().splitlines(True)[:10]))
    few = ["--members", folder / "members.jsonl", "--non-members", folder / "few.jsonl"]
    code, _, err = run("books", *few, "--audited", folder / "audited", "--words", WORDS, "--plan", "--model", "none")
    assert code == 1
    assert "no book can be “supported”" in err


def test_a_table_of_books_gives_titles_authors_and_years(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "books.csv"
    table.write_text("file,title,author,year\nSeen one.txt,The True Title,A. Author,1999\n", encoding="utf-8")
    code, out, err = run(*everything(folder), "--csv", table)
    assert code == 0, err
    assert "The True Title (A. Author, 1999)" in out


def test_a_saved_calibration_takes_the_place_of_the_shelf(folder: Path, found: dict[str, Any]) -> None:
    model = ["--model", folder / "model", "--adapter", folder / "adapter"]
    cut = ["--cut", "sample", "--words", WORDS, "--save", folder / "saved.json"]
    code, _, err = run("calibrate", *reference(folder), *model, *cut)
    assert code == 0, err
    audited = ["--audited", folder / "audited", "--words", WORDS]
    code, out, err = run("books", "--calibration", folder / "saved.json", *audited, *model, "--json")
    assert code == 0, err
    by_title = {book["title"]: book for book in json.loads(out)["books"]}
    for book in found["books"]:
        assert by_title[book["title"]]["p"] == pytest.approx(book["p"], abs=0.03)
        assert by_title[book["title"]]["verdict"]["word"] == book["verdict"]["word"]
    code, _, err = run("books", "--calibration", folder / "saved.json", *audited, "--model", folder / "model")
    assert code == 2
    assert "they differ in adapter" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--audited", "audited"], "nothing to compare the books with"),
        (["--audited", "audited", "--members", "members.jsonl"], "nothing to compare the books with"),
        (["--audited", "nowhere", "--members", "members.jsonl", "--non-members", "others.jsonl"], "nowhere"),
        (["--score", "magic"], "There is no score 'magic'"),
        (["--k", "0"], "k is a percentage"),
        (["--rule", "2"], "false-positive rate between 0 and 1"),
        (["--correction", "holm"], "There is no correction 'holm'"),
        (["--table", "books.txt"], "table of an unknown kind"),
        (["--report", "nowhere/report"], "no folder to write"),
        (["--csv", "nowhere.csv"], "cannot be read"),
        (["--words", "5000"], "No audited book has 5,000 words"),
        (["--calibration", "members.jsonl"], "takes the place of --members"),
    ],
)
def test_what_is_wrong_is_said_before_a_model_is_looked_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(folder)
    usual = ["--audited", "audited", "--members", "members.jsonl", "--non-members", "others.jsonl"]
    code, _, err = run("books", *([] if "--audited" in arguments else usual), *arguments, "--model", "no model at all")
    assert code == 2
    assert said in err
    assert "no model at all" not in err


def test_a_book_on_both_shelves_is_told_and_taken_off_the_reference(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "copy under another name.txt").write_text(made_up(0), encoding="utf-8")
    code, _, err = run(*everything(folder), "--audited", tmp_path, "--plan")
    assert code == 0
    assert "compared with itself" in err
