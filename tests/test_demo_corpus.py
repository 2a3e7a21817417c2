"""The demo's texts are what the manifest says, and their split is the seed's and nobody's choice."""

from __future__ import annotations

import json
import runpy
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from auditlib.core import Label
from auditlib.documents import STEPS, Upload, read_files
from auditlib.documents.sets import shared_passages
from auditlib.documents.snippets import whole

DEMO = Path(__file__).parents[1] / "assets" / "demo"
FILES = {"member": "members.jsonl", "non-member": "non-members.jsonl"}


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DEMO / "manifest.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def passages() -> dict[str, dict[str, str]]:
    lines = [line for name in FILES.values() for line in (DEMO / name).read_text(encoding="utf-8").splitlines()]
    return {passage["id"]: passage for passage in map(json.loads, lines)}


@pytest.fixture(scope="module")
def split() -> dict[str, Any]:
    return runpy.run_path(str(DEMO / "split.py"))


def test_there_are_80_passages_and_4_books_half_of_them_members(manifest: dict[str, Any]) -> None:
    assert Counter(each["label"] for each in manifest["passages"].values()) == {"member": 40, "non-member": 40}
    assert Counter(each["label"] for each in manifest["books"].values()) == {"member": 2, "non-member": 2}


def test_every_text_has_the_hash_that_the_manifest_names(
    manifest: dict[str, Any], passages: dict[str, dict[str, str]]
) -> None:
    assert set(passages) == set(manifest["passages"])
    for name, said in manifest["passages"].items():
        assert sha256(passages[name]["text"].encode()).hexdigest() == said["sha256"], name
    assert {file.stem for file in (DEMO / "books").glob("*.txt")} == set(manifest["books"])
    for name, said in manifest["books"].items():
        assert sha256((DEMO / "books" / f"{name}.txt").read_bytes()).hexdigest() == said["sha256"], name


def test_split_is_the_seeds_draw(
    manifest: dict[str, Any], passages: dict[str, dict[str, str]], split: dict[str, Any]
) -> None:
    assert manifest["seed"] == split["SEED"] == 20261121
    for part, names in (("passages", sorted(passages)), ("books", sorted(manifest["books"]))):
        drawn = split["draw"](names)
        assert drawn == {name: manifest[part][name]["label"] for name in names}
        assert drawn == split["draw"](names[::-1])
        # by hand: the half with the lowest digests of "seed:name"
        lowest = sorted(names, key=lambda name: sha256(f"20261121:{name}".encode()).hexdigest())[: len(names) // 2]
        assert {name for name in names if drawn[name] == "member"} == set(lowest)
    assert split["draw"](sorted(passages), seed=1) != split["draw"](sorted(passages))


def test_each_passage_lies_in_the_file_of_its_label(passages: dict[str, dict[str, str]]) -> None:
    for label, name in FILES.items():
        for line in (DEMO / name).read_text(encoding="utf-8").splitlines():
            assert json.loads(line)["label"] == label
    assert len({passage["text"] for passage in passages.values()}) == 80


def test_kinds_are_varied_and_agree_with_the_manifest(
    manifest: dict[str, Any], passages: dict[str, dict[str, str]]
) -> None:
    kinds = Counter(passage["kind"] for passage in passages.values())
    assert len(kinds) >= 8
    assert max(kinds.values()) <= 10
    assert all(passages[name]["kind"] == said["kind"] for name, said in manifest["passages"].items())


def test_lengths_are_those_that_were_ordered(passages: dict[str, dict[str, str]]) -> None:
    lengths = {name: len(passage["text"].split()) for name, passage in passages.items()}
    assert all(90 <= length <= 130 for length in lengths.values()), lengths
    books = {file.stem: len(file.read_text(encoding="utf-8").split()) for file in (DEMO / "books").glob("*.txt")}
    assert all(1500 <= length <= 2000 for length in books.values()), books


def test_readers_give_every_passage_its_label_and_a_group_of_its_own() -> None:
    uploads = [Upload(name, DEMO / name) for name in FILES.values()]
    documents = [document for result in read_files(uploads, tuple(STEPS)) for document in result.documents]
    assert Counter(document.label for document in documents) == {Label.MEMBER: 40, Label.NON_MEMBER: 40}
    assert len({document.group for document in documents}) == 80


def test_no_two_passages_share_a_passage() -> None:
    uploads = [Upload(name, DEMO / name) for name in FILES.values()]
    documents = [document for result in read_files(uploads, tuple(STEPS)) for document in result.documents]
    assert shared_passages([snippet for document in documents for snippet in whole(document).snippets]) == []
