"""Documents that an earlier version kept are there in the new database."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from auditlib.core import AuditError, Label
from auditlib.documents import pasted_document, read_file
from auditlib.store import Store, Workspace
from tests.store.conftest import OpenStore
from tests.store.earlier import write_workspace

BOOK = "CONTENTS\n\nThe ferry was late,  and no-\nbody was surprised. " + "She counted the äpples twice. " * 30


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_documents_of_every_workspace_are_taken_over(home: Path, open_store: OpenStore) -> None:
    (book,) = read_file("book.txt", BOOK.encode())
    assert book.edits
    marked = replace(book, group="diaries", label=Label.MEMBER, warnings=("odd — but read",))
    write_workspace(home, "default", {"f1": [marked], "f2": [pasted_document("one"), pasted_document("two")]})
    write_workspace(home, "anna", {"f1": [pasted_document("hers")]})
    store = open_store()
    workspace = Workspace(store)
    documents = workspace.documents()
    assert [workspace.open(d.key) for d in documents] == [marked, pasted_document("one"), pasted_document("two")]
    assert documents[0].n_words_removed == 3
    assert [d.title for d in Workspace(store, "anna").documents()] == [pasted_document("hers").title]


def test_taken_over_documents_can_be_deleted_and_stay_deleted(home: Path, open_store: OpenStore) -> None:
    old = write_workspace(home, "default", {"f1": [pasted_document("one")], "f2": [pasted_document("two")]})
    workspace = Workspace(open_store())
    workspace.delete([workspace.documents()[0].key])
    again = Workspace(open_store())
    assert [again.open(d.key).text for d in again.documents()] == ["two"]
    assert old.exists()


def test_two_processes_that_open_at_once_take_over_once(
    home: Path, database_url: str | None, open_store: OpenStore
) -> None:
    texts = {f"f{n}": [pasted_document(f"text {n}")] for n in range(200)}
    write_workspace(home, "default", texts)
    program = "import sys, pathlib; from auditlib.store import Store; Store(pathlib.Path(sys.argv[1]), sys.argv[2])"
    command = [sys.executable, "-c", program, str(home), database_url or ""]
    processes = [subprocess.Popen(command) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    assert len(Workspace(open_store()).documents()) == 200


def test_database_that_was_never_filled_is_no_obstacle(home: Path, open_store: OpenStore) -> None:
    folder = home / "workspaces" / "default"
    folder.mkdir(parents=True)
    (folder / "workspace.db").write_bytes(b"")
    assert Workspace(open_store()).documents() == []


def test_damaged_database_is_said_by_name_and_nothing_is_half_done(
    home: Path, database_url: str | None, open_store: OpenStore
) -> None:
    write_workspace(home, "anna", {"f1": [pasted_document("hers")]})
    damaged = write_workspace(home, "default", {"f1": [pasted_document("one")]})
    damaged.write_bytes(b"not a database, whatever its name says" * 50)
    with pytest.raises(AuditError, match="default/workspace.db, which an earlier version has left, cannot be used"):
        Store(home, database_url)
    damaged.unlink()
    store = open_store()
    assert len(Workspace(store, "anna").documents()) == 1
    assert Workspace(store).documents() == []
