"""The question test: what the unlearned model still answers about the works (Shi et al. 2024, section 7.2.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np

from auditlib.audits.unlearning.chunks import Work
from auditlib.audits.unlearning.screening import Numbers, ratios, within
from auditlib.core import AuditError, Document
from auditlib.documents.names import display_name
from auditlib.documents.readers.delimited import open_csv, open_tsv
from auditlib.documents.readers.jsonl import open_jsonl
from auditlib.documents.reading import Source
from auditlib.evidence import Difference, mean_difference, permutation_p
from auditlib.scoring.similarity import rouge_l, words_of

PROMPT = "Question: {question}\nAnswer:"
MOST_QUESTIONS = 10_000
LONGEST = 2_000  # characters of a question or an answer
ANSWER_TOKENS = 48
MOST_ROWS_NAMED = 10
QUOTE_WORDS = 12  # on either side of an answer's place
_OPENERS = {".csv": open_csv, ".tsv": open_tsv, ".jsonl": open_jsonl, ".ndjson": open_jsonl}
_QUESTION_NAMES = ("question", "query", "q", "prompt")
_ANSWER_NAMES = ("answer", "reference", "gold", "a", "response")


@dataclass(frozen=True)
class Question:
    """A question and its right answer; `row` of the file they came from, as a person counts rows."""

    question: str
    answer: str
    row: int

    @property
    def text(self) -> str:
        """What both models read: the question as it is asked, with its answer."""
        return f"{PROMPT.format(question=self.question)} {self.answer}"


@dataclass(frozen=True)
class Questions:
    """The questions of a file; `notes` say which rows were left out and why."""

    questions: tuple[Question, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class AnswerPlace:
    """Where in a work an answer's words stand, with the words around them."""

    work: str
    first_word: int
    quotation: str


@dataclass(frozen=True)
class QuestionLine:
    """One question under both models, and what the unlearned one answered.

    selected      whether the ratio of the scores lies in the window
    mean_recall   of the answers' ROUGE-L recall; `best_recall` is the highest, of the answer `best`
    place         of the right answer in a work; None where its words stand in none
    """

    question: str
    answer: str
    row: int
    original: float
    unlearned: float
    ratio: float
    selected: bool
    mean_recall: float
    best_recall: float
    best: str
    n_correct: int
    place: AnswerPlace | None


@dataclass(frozen=True)
class QuestionTest:
    """All questions, selected against unselected. `missing` says why there is no difference, or no test at all."""

    lines: tuple[QuestionLine, ...]
    samples: int
    n_selected: int
    mean_selected: float
    mean_unselected: float
    difference: Difference | None
    p: float | None
    notes: tuple[str, ...] = ()
    missing: str = ""

    @property
    def correct(self) -> tuple[QuestionLine, ...]:
        """Questions that some answer had every word of the right answer for, best first."""
        right = [line for line in self.lines if line.n_correct]
        return tuple(sorted(right, key=lambda line: (-line.n_correct, line.row)))


def read_questions(name: str, data: bytes) -> Questions:
    """Questions of a CSV, TSV or JSONL file with the columns `question` and `answer`.

    Rows without one or the other are left out and named. Raises `AuditError` where none is left.
    """
    shown = display_name(PurePath(name).name)
    opener = _OPENERS.get(PurePath(name).suffix.lower())
    if opener is None:
        raise AuditError(
            f"“{shown}” is no table of questions.", "Bring a .csv or .jsonl file of questions and answers."
        )
    table = opener(Source(data, shown))
    columns = [_column(table.names, wanted, shown) for wanted in (_QUESTION_NAMES, _ANSWER_NAMES)]
    found: list[Question] = []
    lacking: list[int] = []
    long: list[int] = []
    for row, cells in table.rows(columns):
        question, answer = ("" if cell is None else " ".join(str(cell).split()) for cell in cells)
        if not question or not answer or not words_of(answer):
            lacking.append(row)
        elif len(question) > LONGEST or len(answer) > LONGEST:
            long.append(row)
        else:
            found.append(Question(question, answer, row))
        if len(found) > MOST_QUESTIONS:
            raise AuditError(f"“{shown}” has more than {MOST_QUESTIONS:,} questions.", "Bring fewer.")
    notes = [
        *table.warnings,
        *_left_out(lacking, "no question or no answer"),
        *_left_out(long, "more than 2,000 letters"),
    ]
    if not found:
        raise AuditError(
            f"No row of “{shown}” has a question and an answer.", "Fill the columns “question” and “answer”."
        )
    return Questions(tuple(found), tuple(notes))


def prompts_of(questions: Sequence[Question]) -> list[str]:
    """What the model is given to continue."""
    return [PROMPT.format(question=one.question) for one in questions]


def answer_of(continuation: str) -> str:
    """The answer in what a model wrote: its first line that says something."""
    return next((line.strip() for line in continuation.splitlines() if line.strip()), "")


def question_test(
    questions: Questions,
    original: Numbers,
    unlearned: Numbers,
    drawn: Mapping[tuple[int, int], str],
    works: Sequence[Work],
    factor: float,
    samples: int,
    seed: int,
) -> QuestionTest:
    """Numbers are of the questions' `text`, in their order; `drawn` by (place of the question, sample)."""
    ratio = ratios(original.scores, unlearned.scores)
    selected = within(ratio, factor)
    lines = []
    for place, one in enumerate(questions.questions):
        answers = [answer_of(drawn[place, sample]) for sample in range(samples)]
        own = np.array([rouge_l(one.answer, answer).recall for answer in answers])
        best = int(own.argmax())
        lines.append(
            QuestionLine(
                one.question,
                one.answer,
                one.row,
                float(original.scores[place]),
                float(unlearned.scores[place]),
                float(ratio[place]),
                bool(selected[place]),
                float(own.mean()),
                float(own[best]),
                answers[best],
                int(np.count_nonzero(own >= 1)),
                place_of_answer(one, [work.document for work in works]),
            )
        )
    return _compared(QuestionTest(tuple(lines), samples, 0, 0.0, 0.0, None, None, questions.notes), seed)


def selected_again(test: QuestionTest, factor: float, seed: int) -> QuestionTest:
    """The same answers with another window: asks no model."""
    selected = within(np.array([line.ratio for line in test.lines]), factor)
    lines = tuple(replace(line, selected=bool(one)) for line, one in zip(test.lines, selected, strict=True))
    return _compared(replace(test, lines=lines), seed) if lines else test


def _compared(test: QuestionTest, seed: int) -> QuestionTest:
    """Selected questions against the others, each counted once by the mean of its answers."""
    means = np.array([line.mean_recall for line in test.lines])
    selected = np.array([line.selected for line in test.lines], dtype=np.bool_)
    groups = [words_key(line.question) for line in test.lines]
    difference, p, missing = None, None, ""
    try:
        difference, p = mean_difference(means, selected, groups), permutation_p(means, selected, groups, seed=seed)
    except AuditError as error:
        missing = f"{error.wrong} {error.remedy}"
    except ValueError:
        missing = "A question stands in the file more than once, selected here and not there; keep it once."
    return replace(
        test,
        n_selected=int(selected.sum()),
        mean_selected=float(means[selected].mean()) if selected.any() else float("nan"),
        mean_unselected=float(means[~selected].mean()) if not selected.all() else float("nan"),
        difference=difference,
        p=p,
        missing=missing,
    )


def words_key(question: str) -> str:
    """What makes two rows the same question."""
    return " ".join(words_of(question))


def place_of_answer(question: Question, documents: Sequence[Document]) -> AnswerPlace | None:
    """Where all words of the answer stand in a row; of several places the one with most of the question around it."""
    wanted, asked = words_of(question.answer), set(words_of(question.question))
    best: tuple[int, AnswerPlace] | None = None
    for document in documents:
        words = document.text.split()
        plain = [" ".join(words_of(word)) for word in words]
        for first in range(len(words)):
            n = _matches(plain, first, wanted)
            if n == 0:
                continue
            around = slice(max(0, first - QUOTE_WORDS), first + n + QUOTE_WORDS)
            shared = len(asked & set(plain[around]))
            if best is None or shared > best[0]:
                title = document.group or document.title
                best = (shared, AnswerPlace(title, first, " ".join(words[around])[:300]))
    return best[1] if best else None


def _matches(plain: Sequence[str], first: int, wanted: Sequence[str]) -> int:
    """How many of the work's words from `first` on make up the answer; 0 where they do not."""
    if not plain[first].startswith(wanted[0]):
        return 0
    said = ""
    target = " ".join(wanted)
    for n in range(1, min(len(wanted) + 3, len(plain) - first) + 1):
        said = f"{said} {plain[first + n - 1]}".strip()
        if said == target:
            return n
        if not target.startswith(said):
            return 0
    return 0


def _column(names: Sequence[str], wanted: Sequence[str], shown: str) -> str:
    by_name = {name.strip().lower(): name for name in reversed(names)}
    found = next((by_name[one] for one in wanted if one in by_name), None)
    if found is None:
        raise AuditError(
            f"“{shown}” has no column “{wanted[0]}”.", "Name the columns “question” and “answer” in the first row."
        )
    return found


def _left_out(rows: Sequence[int], why: str) -> list[str]:
    if not rows:
        return []
    named = ", ".join(f"{row:,}" for row in rows[:MOST_ROWS_NAMED]) + (" and others" * (len(rows) > MOST_ROWS_NAMED))
    were = "1 question was" if len(rows) == 1 else f"{len(rows):,} questions were"
    return [f"{were} left out for {why}: row{'' if len(rows) == 1 else 's'} {named}."]
