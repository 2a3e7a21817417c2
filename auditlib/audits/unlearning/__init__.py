"""Did it really forget: works that a model was made to forget, looked for in its scores, its texts and its answers."""

from auditlib.audits.unlearning.again import judged_again
from auditlib.audits.unlearning.audit import (
    DEMO_SETTINGS,
    UnlearningResult,
    UnlearningSettings,
    checked_unlearning,
)
from auditlib.audits.unlearning.chunks import Chunk, Chunks, Role, Work, cut_works
from auditlib.audits.unlearning.completions import (
    Completion,
    CompletionTest,
    JudgePanel,
    closest,
    rated_again,
)
from auditlib.audits.unlearning.forgetting import Forgetting, forgetting
from auditlib.audits.unlearning.questions import Questions, QuestionTest, question_test, read_questions
from auditlib.audits.unlearning.screening import Numbers, Screening, read_numbers, screen, screened_again
from auditlib.audits.unlearning.verdict import ForgottenWord, UnlearningVerdict, unlearning_verdict

__all__ = [
    "DEMO_SETTINGS",
    "Chunk",
    "Chunks",
    "Completion",
    "CompletionTest",
    "Forgetting",
    "ForgottenWord",
    "JudgePanel",
    "Numbers",
    "QuestionTest",
    "Questions",
    "Role",
    "Screening",
    "UnlearningResult",
    "UnlearningSettings",
    "UnlearningVerdict",
    "Work",
    "checked_unlearning",
    "closest",
    "cut_works",
    "forgetting",
    "judged_again",
    "question_test",
    "rated_again",
    "read_numbers",
    "read_questions",
    "screen",
    "screened_again",
    "unlearning_verdict",
]
