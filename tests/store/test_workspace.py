"""A workspace keeps what it was given, once, and forgets what it is told to."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from auditlib.core import AuditError, Document, Label
from auditlib.documents import clean_again, pasted_document, read_file
from auditlib.store import Store, Workspace
from tests.store.conftest import OpenStore

BOOK = "CONTENTS\n\nThe ferry was late,  and no-\nbody was surprised. " + "She counted the apples twice. " * 30


@pytest.fixture
def workspace(store: Store) -> Workspace:
    return Workspace(store)


def book() -> list[Document]:
    return read_file("book.txt", BOOK.encode())


def stored_files(workspace: Workspace) -> list[str]:
    return sorted(f.name for f in (workspace.folder / "files").iterdir())


def test_document_comes_back_as_it_was_read_with_what_cleaning_did(workspace: Workspace, open_store: OpenStore) -> None:
    (document,) = book()
    assert document.edits
    (key,) = workspace.add("book.txt", BOOK.encode(), [document]).keys
    assert workspace.open(key) == document
    assert Workspace(open_store()).open(key) == document


def test_same_file_under_another_name_is_stored_once(workspace: Workspace) -> None:
    first = workspace.add("book.txt", BOOK.encode(), book())
    again = workspace.add("other name.txt", BOOK.encode(), book())
    assert again.was_there
    assert not first.was_there
    assert again.keys == first.keys
    assert len(workspace.documents()) == 1
    assert stored_files(workspace) == [first.sha256]
    assert workspace.file(first.sha256).read_bytes() == BOOK.encode()


def test_file_goes_with_its_last_document(workspace: Workspace) -> None:
    texts = [pasted_document("one text"), pasted_document("another text")]
    added = workspace.add("two.jsonl", b"two", texts)
    workspace.delete([added.keys[0]])
    assert stored_files(workspace) == [added.sha256]
    assert [d.key for d in workspace.documents()] == [added.keys[1]]
    workspace.delete([added.keys[1]])
    assert stored_files(workspace) == []
    assert workspace.documents() == []
    assert not workspace.add("two.jsonl", b"two", texts).was_there


def test_deleting_leaves_other_files_alone(workspace: Workspace) -> None:
    kept = workspace.add("a.txt", b"a", [pasted_document("first")])
    gone = workspace.add("b.txt", b"b", [pasted_document("second")])
    workspace.delete(gone.keys)
    assert stored_files(workspace) == [kept.sha256]


def test_deleted_document_is_said_to_be_gone(workspace: Workspace) -> None:
    added = workspace.add("a.txt", b"a", [pasted_document("first")])
    workspace.delete(added.keys)
    with pytest.raises(AuditError, match="no longer there"):
        workspace.open(added.keys[0])


def test_label_and_group_are_kept(workspace: Workspace) -> None:
    (key,) = workspace.add("a.txt", b"a", [pasted_document("first")]).keys
    workspace.mark(key, Label.NON_MEMBER, "diaries")
    (listed,) = workspace.documents()
    assert (listed.label, listed.group) == (Label.NON_MEMBER, "diaries")
    assert (workspace.open(key).label, workspace.open(key).group) == (Label.NON_MEMBER, "diaries")


def test_document_cleaned_again_replaces_the_first(workspace: Workspace) -> None:
    (document,) = book()
    (key,) = workspace.add("book.txt", BOOK.encode(), [document]).keys
    other = clean_again(document, without=["white_space"])
    assert other.text != document.text
    workspace.replace(key, other)
    assert workspace.open(key) == other
    assert workspace.documents()[0].document_id == other.id


def test_list_tells_words_kept_and_removed(workspace: Workspace) -> None:
    (document,) = book()
    workspace.add("book.txt", BOOK.encode(), [document])
    (listed,) = workspace.documents()
    assert listed.n_words == len(document.text.split())
    assert listed.n_words + listed.n_words_removed == len(document.original.split())


def test_workspaces_do_not_see_each_other(store: Store) -> None:
    mine, hers = Workspace(store), Workspace(store, "anna")
    (key,) = mine.add("a.txt", b"a", [pasted_document("first")]).keys
    assert hers.documents() == []
    hers.mark(key, Label.MEMBER, "stolen")
    hers.delete([key])
    with pytest.raises(AuditError, match="no longer there"):
        hers.open(key)
    assert not hers.add("a.txt", b"a", [pasted_document("first")]).was_there
    assert [d.label for d in mine.documents()] == [Label.UNKNOWN]


def test_any_text_comes_back(workspace: Workspace) -> None:
    odd = replace(pasted_document("a\0b \ud800 🂡"), raw="\0", title="\0title", group="\0g", source_name="\0.txt")
    (key,) = workspace.add("\0.txt", b"odd", [odd]).keys
    assert workspace.open(key) == odd


def test_several_sessions_may_write_at_once(workspace: Workspace, open_store: OpenStore) -> None:
    def add(number: int) -> None:
        own = Workspace(open_store())
        own.add(f"{number}.txt", str(number).encode(), [pasted_document(f"text {number}")])

    threads = [threading.Thread(target=add, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(workspace.documents()) == 8


def test_folder_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "workspaces").write_text("a file where the folder should be")
    with pytest.raises(AuditError, match="cannot be used"):
        Workspace(tmp_path)
