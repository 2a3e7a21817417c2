"""The demo's books, judged by the shell with the settings of the demo: the two planted ones are supported."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import pytest
from typer.testing import CliRunner

from auditlib.audits.demo import FOLDER, PLANTED, SETS
from auditlib.cli import app
from auditlib.core import Label
from auditlib.jobs import demo_books_request
from auditlib.jobs.books_texts import DEMO_WORDS


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    sources = ["--members", str(SETS[Label.MEMBER]), "--non-members", str(SETS[Label.NON_MEMBER])]
    asked = [*sources, "--audited", str(FOLDER / "books"), "--adapter", str(PLANTED), "--words", str(DEMO_WORDS)]
    began = time.monotonic()
    result = CliRunner().invoke(app, ["books", *asked, "--json"])
    assert result.exit_code == 0, result.stderr
    print(f"the demo's books took {time.monotonic() - began:.0f} s")
    made: dict[str, Any] = json.loads(result.stdout)
    return made


def planted_titles() -> set[str]:
    books = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))["books"]
    return {title for title, about in books.items() if about["label"] == "member"}


@pytest.mark.bundled
def test_the_two_planted_books_are_supported_and_the_two_others_are_not(found: dict[str, Any]) -> None:
    assert {b["title"] for b in found["books"] if b["verdict"]["word"] == "supported"} == planted_titles()
    assert len(found["books"]) == 4
    assert found["reference"]["works"] == {"members": 40, "non_members": 40}


@pytest.mark.bundled
def test_extraction_of_planted_books_differs_visibly_from_that_of_the_others(found: dict[str, Any]) -> None:
    planted = planted_titles()
    middle = {book["title"]: book["extraction"]["median_log_p"] / math.log(10) for book in found["books"]}
    seen = [middle[title] for title in planted]
    others = [value for title, value in middle.items() if title not in planted]
    shelf = found["extraction"]["known non-members"]["median_log_p"] / math.log(10)
    # Powers of ten: a few dozen of them lie between the maps of books that were taught and books that were not.
    assert min(seen) > max(*others, shelf) + 30
    assert all(abs(value - shelf) < 20 for value in others)


def test_the_demo_settings_are_those_of_this_test() -> None:
    asked = demo_books_request()
    assert (asked.cutting.method, asked.cutting.words, asked.cutting.count) == ("sample", DEMO_WORDS, 100)
    assert asked.settings.alpha == 0.05
    assert asked.settings.score == "min_k"
