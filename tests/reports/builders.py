"""A finished calibration of made-up texts under a made-up model, with a separation that is known beforehand."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256

import numpy as np

from auditlib.audits.calibration import calibrate, examine_words, k_sweep, length_classes, null_runs
from auditlib.audits.sets import LabelledSets, ReadSets
from auditlib.core import Capability, Label, ModelIdentity, Snippet, TokenStats
from auditlib.reports.calibration_facts import CalibrationFacts, facts_of
from auditlib.scoring import Reading

MADE = datetime(2026, 3, 4, 14, 30, tzinfo=UTC)
COMMAND = "python -m auditlib calibrate members.jsonl non-members.jsonl --seed 0"
VOCABULARY = [
    f"{a}{b}" for a in ("lan", "mor", "tes", "vel", "qui", "dra") for b in ("tern", "row", "ing", "ola", "ust")
]


def statistics(n: int, seen: float, rng: np.random.Generator) -> TokenStats:
    """n tokens; `seen` shifts the log-probabilities up."""
    logprob = (-rng.gamma(1.4, 2.2, n) * (1 - seen)).astype(np.float32)
    places = np.arange(n, dtype=np.int32)
    expected = np.full(n, -3.0, dtype=np.float32)
    return TokenStats(places, places, places + 1, logprob, expected, np.full(n, 4.0, dtype=np.float32), places + 1)


@lru_cache(maxsize=4)
def read_sets(n: int = 40, seen: float = 0.12, model: str = "SmolLM2-135M", groups: tuple[str, ...] = ()) -> ReadSets:
    """n texts of each label. Named `groups` stand first among the members."""
    rng = np.random.default_rng(3)
    snippets, readings = [], []
    for place in range(2 * n):
        label = Label.MEMBER if place < n else Label.NON_MEMBER
        n_words = int(rng.choice([60, 90, 130]))
        text = " ".join(rng.choice(VOCABULARY, n_words))
        digest = sha256(text.encode()).hexdigest()
        group = groups[place] if place < len(groups) else f"{label.value.capitalize()} work no. {place // 2 + 1}"
        snippets.append(Snippet(digest, digest, group, text, 0, 0, n_words, label))
        shift = seen * rng.random() * 2 if label is Label.MEMBER else 0.0
        stats = statistics(int(n_words * 1.3), shift, rng)
        readings.append(Reading(text, stats, lowercased=statistics(int(n_words * 1.4), 0.0, rng)))
    identity = ModelIdentity(
        model, "bundled", None, "a1" * 32, "b2" * 32, "c3" * 32, "float32", "transformers 5.23.0, cpu"
    )
    notes = ("2 texts were left out because they share passages with others (2 pairs reach across the two sets).",)
    return ReadSets(LabelledSets(tuple(snippets), notes), tuple(readings), identity, frozenset(Capability))


@lru_cache(maxsize=4)
def calibration_facts(
    name: str = "Northern Letters, first pass",
    seen: float = 0.12,
    model: str = "SmolLM2-135M",
    groups: tuple[str, ...] = (),
) -> CalibrationFacts:
    """Everything that a calibration can have."""
    read = read_sets(seen=seen, model=model, groups=groups)
    words = examine_words(read.sets)
    found = calibrate(read, words)
    return facts_of(
        read,
        found,
        "min_k",
        name=name,
        made=MADE,
        by="A. Compliance",
        command=COMMAND,
        sweep=k_sweep(read, "min_k"),
        nulls=null_runs(read, words, found.methods["min_k"]),
        length_classes=tuple(length_classes(read, found.methods["min_k"].scores)),
    )
