"""All that is kept of the snippets once a model has read them: their scores, and how likely their passages are.

Another k, score, threshold rule, alpha or length of snippet asks these numbers and never the model, nor the texts.
A snippet takes about 1.5 KB here, where its token statistics would take 20.
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from auditlib.audits.books.shelves import REFERENCE, Shelves
from auditlib.audits.calibration import K_SCORES, KS
from auditlib.core import AuditError, Capability, Progress, TargetModel, TokenStats
from auditlib.evidence import extraction_windows
from auditlib.scoring import DEFAULT_K, SCORES, Companions, Reading, read_beside, read_texts
from auditlib.scoring.min_k import bottom_means
from auditlib.scoring.min_k_plus_plus import standardized_logprob

PORTIONS = (0.25, 0.5, 1.0)
WHOLE = len(PORTIONS) - 1
FEWEST_TOKENS = 2
Places = slice | NDArray[np.int64] | NDArray[np.bool_]
ALL = slice(None)


@dataclass(frozen=True)
class SnippetNumbers:
    """Numbers of the snippets (n,) of some shelves, in their order.

    ks         percentages that the scores of the Min-K family were computed at
    by_score   name -> (n, portions) or, of the Min-K family, (n, portions, ks): of the first quarter and half of the
               words of each snippet and of all of them; NaN where a snippet cannot have the score
    n_tokens   scored tokens of each snippet
    windows    log-probabilities, nats, of the suffixes of all extraction windows, snippet after snippet
    n_windows  how many of them each snippet has
    missing    by score, why there is a NaN
    """

    ks: tuple[float, ...]
    by_score: dict[str, NDArray[np.float64]]
    n_tokens: NDArray[np.int64]
    windows: NDArray[np.float32]
    n_windows: NDArray[np.int64]
    missing: dict[str, str]

    def usable(self, places: Places = ALL) -> list[str]:
        """Scores that every one of these snippets has."""
        return [name for name in self.by_score if self.unavailable_because(name, places) is None]

    def unavailable_because(self, name: str, places: Places = ALL) -> str | None:
        """Why not all of these snippets have a score; None where they have."""
        if name not in self.by_score:
            return f"There is no score {name[:40]!r}."
        values = self.by_score[name][places, WHOLE]
        lacking = int(np.count_nonzero(np.isnan(values.reshape(len(values), -1)).any(axis=1)))
        if not lacking:
            return None
        why = self.missing.get(name, "")
        return why if lacking == len(values) else f"{lacking:,} of {len(values):,} snippets cannot have it: {why}"

    def scores(
        self, name: str, k: float = DEFAULT_K, portion: int = WHOLE, places: Places = ALL
    ) -> NDArray[np.float64]:
        """One score of these snippets, at k percent. Raises `AuditError` where that was not computed."""
        if name not in SCORES or name not in self.by_score:
            raise AuditError(f"There is no score {name[:40]!r}.", f"Choose one of {', '.join(SCORES)}.")
        values = self.by_score[name][places, portion]
        if name in K_SCORES:
            if k not in self.ks:
                raise AuditError(
                    f"This run did not compute k = {k:g}%.",
                    f"Choose one of {', '.join(f'{one:g}' for one in self.ks)}, or run it again with that k.",
                )
            values = values[:, self.ks.index(k)]
        if np.isnan(values).any():
            why = self.unavailable_because(name, places) or "Some snippets are too short for it."
            raise AuditError(f"{SCORES[name].label} cannot be had for these texts. {why}", "Choose another score.")
        return values

    def windows_of(self, place: int) -> NDArray[np.float32]:
        """Log-probabilities of one snippet's windows."""
        end = int(self._ends[place])
        return self.windows[end - int(self.n_windows[place]) : end]

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return np.cumsum(self.n_windows)


def read_shelves(
    model: TargetModel,
    shelves: Shelves,
    score: str = "min_k",
    k: float = DEFAULT_K,
    progress: Progress | None = None,
    companions: Companions | None = None,
) -> SnippetNumbers:
    """Every snippet through the model. The one expensive step.

    What `companions` adds is read first; the works of a prefix must not be on the shelves.

    The reference shelf is also read in lower case, so that every method can be tried on it; audited books are only
    where `score` asks for that, as it takes as long again. Token statistics are let go as soon as their numbers are
    made. Raises `AuditError`, naming the work, where a snippet cannot be scored.
    """
    snippets = shelves.snippets
    titles = [shelves.works[work].title for work in shelves.work_of.tolist()]
    names = [f"“{title[:60]}” from word {s.first_word + 1:,}" for title, s in zip(titles, snippets, strict=True)]
    made = NumbersMaker(len(snippets), k, model.capabilities)
    texts = [snippet.text for snippet in snippets]
    beside = read_beside(model, texts, companions, names, progress) if companions is not None else None
    lowercase = [
        SCORES[score].reads_lowercased or shelves.works[work].shelf in REFERENCE for work in shelves.work_of.tolist()
    ]
    for place, reading in read_texts(model, texts, lowercase=lowercase, progress=progress, names=names):
        made.add(place, reading if beside is None else beside[place].joined_to(reading))
    return made.numbers()


def read_placebo(
    model: TargetModel, shelves: Shelves, k: float = DEFAULT_K, progress: Progress | None = None
) -> SnippetNumbers:
    """The reference shelves through a model that cannot have seen them; NaN for what stands on no reference shelf."""
    places = np.flatnonzero(np.isin(shelves.work_of, shelves.on(*REFERENCE)))
    made = NumbersMaker(len(shelves.snippets), k, model.capabilities)
    names = [f"“{shelves.works[int(shelves.work_of[place])].title[:60]}”" for place in places]
    texts = [shelves.snippets[place].text for place in places]
    for row, reading in read_texts(model, texts, progress=progress, names=names):
        made.add(int(places[row]), reading)
    return made.numbers()


class NumbersMaker:
    """Takes readings in any order and gives the numbers of all of them."""

    def __init__(self, n: int, k: float, capabilities: frozenset[Capability]) -> None:
        self._ks = tuple(sorted({*map(float, KS), float(k)}))
        self._capabilities = capabilities
        plain, swept = (n, len(PORTIONS)), (n, len(PORTIONS), len(self._ks))
        self._by_score = {name: np.full(swept if name in K_SCORES else plain, np.nan) for name in SCORES}
        self._n_tokens = np.zeros(n, dtype=np.int64)
        self._windows: list[NDArray[np.float32]] = [np.zeros(0, dtype=np.float32)] * n
        self._missing: dict[str, str] = {}

    def add(self, place: int, reading: Reading) -> None:
        """One snippet's reading."""
        self._n_tokens[place] = reading.stats.n_tokens
        self._windows[place] = extraction_windows(reading.stats.logprob).log_p.astype(np.float32)
        for column, own in enumerate(_portions(reading)):
            if own is None:
                continue
            for name, score in SCORES.items():
                if why := score.unavailable_because(own, self._capabilities):
                    self._missing.setdefault(name, why)
                elif name in K_SCORES:
                    values = own.stats.logprob if name == "min_k" else standardized_logprob(own.stats)
                    self._by_score[name][place, column] = bottom_means(values, self._ks)
                else:
                    self._by_score[name][place, column] = score.compute(own)

    def numbers(self) -> SnippetNumbers:
        """The numbers of all that was added."""
        lengths = np.array([len(own) for own in self._windows], dtype=np.int64)
        windows = np.concatenate(self._windows) if self._windows else np.zeros(0, dtype=np.float32)
        return SnippetNumbers(self._ks, self._by_score, self._n_tokens, windows, lengths, self._missing)


def numbers_to_parquet(numbers: SnippetNumbers) -> bytes:
    """One row a snippet, as exact as it is in memory."""
    columns: dict[str, pa.Array] = {"n_tokens": pa.array(numbers.n_tokens)}
    for name, values in numbers.by_score.items():
        flat = values.reshape(len(values), -1)
        columns[name] = pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), flat.shape[1])
    offsets = np.concatenate([[0], np.cumsum(numbers.n_windows)]).astype(np.int64)
    columns["windows"] = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(numbers.windows))
    head = {"ks": " ".join(repr(k) for k in numbers.ks)} | {f"missing {n}": why for n, why in numbers.missing.items()}
    table = pa.table(columns).replace_schema_metadata(head)
    target = io.BytesIO()
    pq.write_table(table, target, compression="zstd")
    return target.getvalue()


def numbers_from_parquet(data: bytes) -> SnippetNumbers:
    """What `numbers_to_parquet` was given. Raises `AuditError` for anything else."""
    try:
        table = pq.read_table(io.BytesIO(data))
        head = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        ks = tuple(float(k) for k in head["ks"].split())
        by_score = {}
        for name in table.column_names:
            if name in ("n_tokens", "windows"):
                continue
            flat = table[name].combine_chunks().flatten().to_numpy(zero_copy_only=False)
            shape = (len(table), len(PORTIONS), len(ks)) if name in K_SCORES else (len(table), len(PORTIONS))
            by_score[name] = flat.reshape(shape)
        windows = table["windows"].combine_chunks()
        lengths = np.diff(windows.offsets.to_numpy()).astype(np.int64)
        missing = {key.removeprefix("missing "): why for key, why in head.items() if key.startswith("missing ")}
        n_tokens = table["n_tokens"].to_numpy()
        return SnippetNumbers(ks, by_score, n_tokens, windows.flatten().to_numpy(), lengths, missing)
    except (pa.ArrowException, KeyError, ValueError) as error:
        raise AuditError(
            "The numbers of this run's snippets cannot be read: they are damaged, or of another version.",
            "Run it again: its texts are not read again as long as the cache holds them.",
        ) from error


def _portions(reading: Reading) -> list[Reading | None]:
    """The reading's first quarter and half, by words, and all of it; None for a portion too short to be scored.

    The model read every token from what stands before it, so that the beginning of a text has the numbers that it
    would have by itself.
    """
    found: list[Reading | None] = []
    n_words = len(reading.text.split())
    for portion in PORTIONS[:-1]:
        text = _first_words(reading.text, max(1, math.ceil(portion * n_words)))
        stats = _first_of(reading.stats, len(text))
        lowercased = None if reading.lowercased is None else _first_of(reading.lowercased, len(text.lower()))
        # What was read besides is of the whole text; only counts of words are the same for a part of it.
        part = Reading(text, stats, reading.k, lowercased, frequencies=reading.frequencies) if stats else None
        found.append(part)
    return [*found, reading]


def _first_words(text: str, count: int) -> str:
    """`text` up to the end of its word number `count`."""
    rest = text.split(None, count)[count:]
    return text[: len(text) - len(rest[0])].rstrip() if rest else text


def _first_of(stats: TokenStats, characters: int) -> TokenStats | None:
    """Statistics of the tokens that end within so many characters; None where these are fewer than two."""
    n = int(np.searchsorted(stats.end, characters, "right"))
    if n < FEWEST_TOKENS:
        return None
    return TokenStats(
        stats.token_ids[:n],
        stats.start[:n],
        stats.end[:n],
        stats.logprob[:n],
        *(None if own is None else own[:n] for own in (stats.expected, stats.variance, stats.rank)),  # type: ignore[arg-type]
    )
