"""What reports say alike: what a verdict means, what the tests cannot show, the terms, and how numbers are written."""

from __future__ import annotations

from auditlib.documents.cutting import Cutting
from auditlib.evidence import LIMITS, Difference, Interval, Word

WHAT_IT_CANNOT_SHOW = (
    LIMITS,
    "It holds for the model that was examined, named by its hashes, and for texts like these: of this kind, language, "
    "time and length. For another model, or other texts, it says nothing.",
    "Which texts are members and which are not was given by the person who brought them, and is not tested here. "
    "Where labels are wrong, so are the results.",
    "The baseline sees words, letter sequences, lengths and years. Sets may differ in ways that it does not see.",
    "The p-value is corrected for the scores that this run looked at, and not for other runs made before it.",
    "One text's score says little by itself: it scatters widely, and easy prose scores like known prose.",
)

GLOSSARY = (
    (
        "AUC",
        "How well a score separates two sets: the chance that a random member scores higher than a random "
        "non-member. 0.5 is chance, 1 is complete separation.",
    ),
    (
        "blind baseline",
        "The same separation tried from the words alone, with no model. What it reaches, the choice of texts explains.",
    ),
    ("calibration", "Trying a score on texts whose origin is known, to see what it can tell."),
    (
        "false-positive rate (FPR)",
        "Share of known non-members that are called members, by a score at or above the threshold.",
    ),
    ("group", "Texts that belong together, such as pieces of one work, and so are not independent of each other."),
    (
        "interval",
        "A range that covers the true value in 95 of 100 audits like this one. A wide one means that more texts are "
        "needed.",
    ),
    ("k", "The percentage of tokens, those that the model expected least, that the Min-K% scores look at."),
    (
        "log-probability",
        "How likely the model found a token, in nats: 0 is certain, −2.3 one in ten, −6.9 one in 1,000.",
    ),
    ("member, non-member", "A text that is known to have been in the training data, and one that is known not to."),
    (
        "p-value",
        "How often chance alone would give a result at least as strong, if the score could tell nothing. Corrected "
        "means: for as many scores as were looked at.",
    ),
    ("score", "One number about a text under a model. Higher means more like the texts that the model was trained on."),
    ("SHA-256", "A fingerprint of a file or text. If one character changes, so does the fingerprint."),
    ("threshold", "The score from which on a text is called a member."),
    ("token", "The piece of text, a word or part of one, that a model reads at a time."),
    ("true-positive rate (TPR)", "Share of known members that are called members."),
)


def verdict_sentence(word: Word, score_label: str) -> str:
    """What the word means for a calibration of one score."""
    match word:
        case Word.SUPPORTED:
            return (
                f"In this test, {score_label} is higher for texts that the model was trained on than for texts that it "
                "was not. Chance, the words of the texts and their lengths do not explain it."
            )
        case Word.NOT_SUPPORTED:
            return (
                f"There is no evidence in this test that {score_label} tells texts that the model was trained on from "
                "others, and the sets were large enough to show it."
            )
        case Word.INCONCLUSIVE:
            return (
                f"The test could not tell whether {score_label} separates texts that the model was trained on from "
                "others: at least one condition below does not hold."
            )


def cutting_in_words(how: Cutting) -> str:
    """How texts were cut, exactly enough to cut them so again."""
    match how.method:
        case "sample":
            return f"{n_of(how.count, 'random piece')} of {how.words:,} words from each text, seed {how.seed}"
        case "tile":
            return f"all pieces of {how.words:,} words, one after the other"
        case "truncate":
            return f"the first {how.words:,} words of each text"
    return "whole texts"


def interval_text(value: Interval | Difference, form: str = ".2f") -> str:
    """An estimate with its interval, for people."""
    low, middle, high = (format(x, form).replace("-", "−") for x in (value.low, value.estimate, value.high))
    return f"{middle} ({low} to {high})"


def n_of(count: int, one: str, many: str = "") -> str:
    """A count with its noun: "1 text", "2 texts"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def shortened(text: str, most: int = 150) -> str:
    """`text` on one line; of a longer one than `most` characters the middle is left out."""
    line = " ".join(text.split())
    half = (most - 1) // 2
    return line if len(line) <= most else f"{line[:half]}…{line[-half:]}"


def number_text(value: float, form: str = "") -> str:
    """A number for people: by `form` where there is one, else whole ones with commas and others to 4 figures."""
    text = format(value, form or ("," if isinstance(value, int) else ".4g"))
    return text.replace("-", "−", 1) if text.startswith("-") else text


def p_text(p: float) -> str:
    """A p-value for people: never a row of zeros."""
    return "below 0.0001" if p < 0.0001 else f"{p:.2g}"
