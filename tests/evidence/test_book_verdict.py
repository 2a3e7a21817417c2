"""Each gate of a book's verdict, opened and closed one at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from auditlib.evidence import BookFindings, Reason, Verdict, Word, book_verdict

SUPPORTED = Verdict(Word.SUPPORTED, (Reason(True, "It tells them apart."),), 0.001, {})
GOOD = BookFindings(
    reference=SUPPORTED,
    p=0.02,
    p_corrected=0.04,
    n_works=50,
    n_books=4,
    correction="bh",
    smallest=1 / 51,
    n_snippets=100,
    n_tokens=700,
    token_range=(600, 800),
    same_model=True,
    power=0.9,
    intervals={},
)


def test_all_gates_open_is_supported() -> None:
    verdict = book_verdict(GOOD)
    assert verdict.word is Word.SUPPORTED
    assert all(reason.holds for reason in verdict.reasons)
    assert verdict.p == 0.04


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"reference": Verdict(Word.INCONCLUSIVE, (Reason(False, "The AUC is 0.55."),), 0.4, {})},
            "inconclusive”: The AUC is 0.55.",
        ),
        ({"same_model": False}, "another model"),
        ({"n_snippets": 1}, "too few to say how much they scatter"),
        ({"n_tokens": 900}, "outside the range of the known non-members (600 to 800)"),
        ({"smallest": 0.06}, "too few to reach 0.05"),
        ({"p_corrected": 0.06}, "above the 0.05 that was set"),
    ],
)
def test_one_closed_gate_is_inconclusive_and_says_which(change: dict[str, object], said: str) -> None:
    verdict = book_verdict(replace(GOOD, **change))  # type: ignore[arg-type]
    assert verdict.word is Word.INCONCLUSIVE
    (closed,) = [reason for reason in verdict.reasons if not reason.holds]
    assert said in closed.sentence


def test_a_high_p_is_not_supported_only_where_a_member_would_have_been_seen() -> None:
    high = replace(GOOD, p=0.5, p_corrected=0.6)
    assert book_verdict(high).word is Word.NOT_SUPPORTED
    weak = book_verdict(replace(high, power=0.4))
    assert weak.word is Word.INCONCLUSIVE
    assert "40%" in weak.reasons[-1].sentence
    # What only the correction took above alpha was not seen to be absent.
    assert book_verdict(replace(GOOD, p=0.03, p_corrected=0.06)).word is Word.INCONCLUSIVE


def test_a_book_of_which_nothing_was_read() -> None:
    verdict = book_verdict(replace(GOOD, p=None, p_corrected=None, n_snippets=0, n_tokens=None))
    assert verdict.word is Word.INCONCLUSIVE
    assert verdict.p is None
    assert any("shorter than one snippet" in reason.sentence for reason in verdict.reasons)
