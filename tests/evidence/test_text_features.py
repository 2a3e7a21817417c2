"""What the classifier sees, against scikit-learn's own vectoriser and by hand."""

from __future__ import annotations

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from auditlib.evidence.text_features import NUMBERS, Vectoriser, count_features

TEXTS = [
    "The lock was old, the key was new.",
    "A key and a lock; in 1999 and 2024!",
    "Old locks want new keys.",
    "the new lock\nwas THE old one",
    "nothing of it",
]
TRAIN = np.array([0, 1, 3])


def test_words_are_scikit_learns_tf_idf_fitted_on_the_training_texts_alone() -> None:
    features = count_features(TEXTS)
    ours = Vectoriser(features).matrix(TRAIN).toarray()[:, : len(features.names)]
    theirs = TfidfVectorizer(sublinear_tf=True, min_df=2, token_pattern=r"\w+")
    theirs.fit([TEXTS[place] for place in TRAIN])
    expected = theirs.transform(TEXTS).toarray()
    for name, column in theirs.vocabulary_.items():
        np.testing.assert_allclose(ours[:, features.names.index(name)], expected[:, column], rtol=1e-6, atol=1e-12)
    others = [place for place, name in enumerate(features.names) if name not in theirs.vocabulary_]
    assert not ours[:, others].any()


def test_numbers_are_counted_from_the_text_as_it_stands() -> None:
    numbers = dict(zip(NUMBERS, count_features(TEXTS).numbers[1], strict=True))
    assert numbers["number of words"] == np.log(9)
    assert numbers["share of words that are years"] == 2 / 9
    assert numbers["latest year"] == 2024
    assert numbers["a year from 2023 on is named"] == 1
    assert numbers["share of digits"] == 8 / len(TEXTS[1])
    assert dict(zip(NUMBERS, count_features(TEXTS).numbers[3], strict=True))["line breaks per word"] == 1 / 7


def test_a_text_without_a_year_is_between_those_with_one() -> None:
    column = NUMBERS.index("latest year")
    numbers = count_features(["in 1800", "in 1900", "in 2000", "never"]).numbers[:, column]
    assert list(numbers) == [1800, 1900, 2000, 1900]


def test_what_only_held_out_texts_have_weighs_nothing() -> None:
    features = count_features(["a b", "a c", "zebra a", "zebra b"])
    matrix = Vectoriser(features).matrix(np.array([0, 1])).toarray()
    assert not matrix[:, features.names.index("zebra")].any()
