"""Two labelled sets: what is refused, what is left out and said, and what does not depend on the order they came in."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from auditlib.audits.sets import LabelledSets, labelled_sets, read_sets, score_table, told_apart
from auditlib.core import AuditError, Document, Label, Snippet
from auditlib.documents import read_file
from auditlib.documents.snippets import whole
from auditlib.scoring import SCORES, Companion
from tests.audits.made import CountingModel, made_reading, made_sets, snippet
from tests.planted import made_up

MEMBER, OTHER, UNKNOWN = Label.MEMBER, Label.NON_MEMBER, Label.UNKNOWN


def some(label: Label, n: int, start: int = 0, group: str | None = None) -> list[Snippet]:
    return [snippet(made_up(start + i), label, group) for i in range(n)]


@pytest.mark.parametrize(
    ("members", "others", "said"),
    [
        (0, 0, "There are no members"),
        (0, 5, "There are no members"),
        (5, 0, "There are no non-members"),
        (1, 5, "There is 1 member"),
        (5, 1, "There is 1 non-member"),
        (1, 1, "There is 1 member"),
    ],
)
def test_set_of_none_or_one_is_refused(members: int, others: int, said: str) -> None:
    with pytest.raises(AuditError, match=said) as refusal:
        labelled_sets(some(MEMBER, members) + some(OTHER, others, 100))
    assert "at least 2 of each" in refusal.value.remedy


def test_unlabelled_texts_are_left_out_and_counted() -> None:
    sets = labelled_sets(some(MEMBER, 3) + some(UNKNOWN, 4, 200) + some(OTHER, 3, 100))
    assert len(sets.snippets) == 6
    assert sets.notes == ("4 texts without a label were left out.",)


def test_only_unlabelled_texts_are_refused() -> None:
    with pytest.raises(AuditError, match="There are no members"):
        labelled_sets(some(UNKNOWN, 9))


def test_same_texts_in_both_sets_are_refused() -> None:
    with pytest.raises(AuditError, match="no members once texts that stand in both sets are left out"):
        labelled_sets(some(MEMBER, 5) + some(OTHER, 5))


def test_one_text_in_both_sets_is_left_out_on_both_sides_and_said() -> None:
    sets = labelled_sets([*some(MEMBER, 4), *some(OTHER, 4, 100), *some(OTHER, 1)])
    assert sets.is_member.sum() == 3
    assert (~sets.is_member).sum() == 4
    (note,) = sets.notes
    assert note.startswith("2 texts were left out because they share passages")
    assert "(1 pair reaches across the two sets)" in note


def test_text_that_stands_twice_in_one_set_is_counted_once() -> None:
    sets = labelled_sets(some(MEMBER, 3) + some(MEMBER, 3) + some(OTHER, 3, 100))
    assert sets.is_member.sum() == 3
    assert "3 texts were left out" in sets.notes[0]


def test_group_with_both_labels_is_refused_by_name() -> None:
    with pytest.raises(AuditError, match="“one book” is called member and non-member at once"):
        labelled_sets(some(MEMBER, 2, group="one book") + some(OTHER, 2, 100, group="one book"))


def test_order_in_which_texts_are_brought_changes_nothing() -> None:
    brought = some(MEMBER, 9) + some(OTHER, 9, 100)
    shuffled = brought.copy()
    random.Random(1).shuffle(shuffled)
    one, other = labelled_sets(brought), labelled_sets(shuffled)
    assert one.snippets == other.snippets
    assert one.digest == other.digest


def test_digest_of_one_set_tells_another_text_and_overlooks_the_other_set() -> None:
    one = labelled_sets(some(MEMBER, 3) + some(OTHER, 3, 100))
    other = labelled_sets(some(MEMBER, 3) + some(OTHER, 3, 200))
    assert one.digest_of(MEMBER) == other.digest_of(MEMBER)
    assert one.digest_of(OTHER) != other.digest_of(OTHER)


def test_texts_of_one_group_are_known_to_belong_together() -> None:
    assert made_sets(4, 4).groups is None
    grouped = made_sets(4, 4, per_group=2).groups
    assert grouped is not None
    assert len(set(grouped.tolist())) == 4


def document(text: str, label: Label, title: str, group: str | None = None) -> Document:
    return Document(text, title, text, "text/plain", f"{title}.txt", group=group or title, label=label)


def sets_of(documents: list[Document]) -> LabelledSets:
    return labelled_sets([s for one in told_apart(documents) for s in whole(one).snippets])


def test_files_of_one_name_in_both_sets_are_not_one_work() -> None:
    documents = [document(made_up(i), MEMBER, str(i)) for i in range(3)]
    documents += [document(made_up(100 + i), OTHER, str(i)) for i in range(3)]
    assert len({one.group for one in sets_of(documents).snippets}) == 6


def test_files_of_one_name_in_one_set_stay_one_work() -> None:
    documents = [document(made_up(i), MEMBER, "chapter 1") for i in range(3)]
    documents += [document(made_up(100 + i), OTHER, str(i)) for i in range(3)]
    assert [one.group for one in told_apart(documents)][:3] == ["chapter 1"] * 3


def test_group_that_was_given_is_kept_and_refused_where_it_has_both_labels() -> None:
    documents = [document(made_up(i), MEMBER, str(i), "the work") for i in range(3)]
    documents += [document(made_up(100 + i), OTHER, str(i), "the work") for i in range(3)]
    with pytest.raises(AuditError, match="“the work” is called member and non-member"):
        sets_of(documents)


SPELLINGS = {
    MEMBER: ["1", "1.0", "true", "True", "YES", "member", " Members ", "seen"],
    OTHER: ["0", "0.0", "false", "No", "non-member", "NON_MEMBER", "nonmember", "unseen"],
    UNKNOWN: ["", "nan", "None", "unknown", "-1", "perhaps"],
}


def test_labels_are_read_in_every_usual_spelling_and_unlabelled_rows_are_left_out() -> None:
    rows = ["text,label"]
    for place, (label, spellings) in enumerate(SPELLINGS.items()):
        rows += [f"{made_up(100 * place + i)},{spelling}" for i, spelling in enumerate(spellings)]
        assert label in SPELLINGS
    sets = sets_of(read_file("both.csv", "\n".join(rows).encode()))
    assert int(sets.is_member.sum()) == len(SPELLINGS[MEMBER])
    assert int((~sets.is_member).sum()) == len(SPELLINGS[OTHER])
    assert sets.notes == (f"{len(SPELLINGS[UNKNOWN])} texts without a label were left out.",)


def test_label_that_is_no_label_is_said_with_the_text() -> None:
    (found,) = read_file("both.csv", f"text,label\n{made_up(1)},perhaps\n".encode())
    assert found.label is UNKNOWN
    assert "perhaps" in found.warnings[0]


def test_rows_of_two_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    documents = []
    for label, start in ((MEMBER, 0), (OTHER, 100)):
        lines = "\n".join(json.dumps({"text": made_up(start + i), "label": label.value}) for i in range(3))
        documents += read_file("texts.jsonl", lines.encode())
    assert sets_of(documents).is_member.sum() == 3


def test_each_reading_stands_beside_its_own_text() -> None:
    sets, model = made_sets(5, 5), CountingModel()
    read = read_sets(model, sets)
    assert [one.text for one in read.readings] == sets.texts
    assert read.n_tokens.tolist() == sets.words.tolist()
    assert read.identity == model.identity


def test_every_text_is_read_once_as_it_stands_and_once_in_lower_case() -> None:
    sets, model = made_sets(5, 5), CountingModel()
    read_sets(model, sets)
    assert sorted(model.asked) == sorted([*sets.texts, *(text.lower() for text in sets.texts)])


def test_text_that_cannot_be_scored_is_named_by_its_work_and_place() -> None:
    class Refusing(CountingModel):
        def token_stats(self, texts, top=0, progress=None, names=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            raise AuditError(f"{names[0]} is too short.", "Leave it out.")

    with pytest.raises(AuditError, match="^“member group 0” from word 1 is too short"):
        read_sets(Refusing(), made_sets(2, 2))


def test_score_table_has_a_row_for_each_text_and_a_column_for_each_score() -> None:
    read = made_reading(made_sets(4, 4), 1.0)
    table = score_table(read, k=30)
    assert len(table) == 8
    had = {name for name, score in SCORES.items() if score.reads <= {Companion.LOWERCASED}}
    assert had <= set(table.columns)
    assert not (set(SCORES) - had) & set(table.columns)
    np.testing.assert_array_equal(table["min_k"], read.scores("min_k", 30))
    assert (table["label"] == "member").tolist() == read.sets.is_member.tolist()
    assert "text" not in table.columns
