"""Parquet tables, as researchers' datasets are published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from auditlib.documents.readers.table import Table, check_columns
from auditlib.documents.reading import Source
from auditlib.documents.refusals import damaged

MEDIA_TYPE = "application/vnd.apache.parquet"
KIND = "a Parquet table"
_BATCH_ROWS = 256

# Besides its own errors pyarrow lets through what Python raises on sizes and strings that cannot be.
_DAMAGE = (pa.ArrowException, OSError, ValueError, OverflowError, KeyError, TypeError)


def open_parquet(source: Source) -> Table:
    """A table that reads only the columns it is asked for."""
    try:
        file = pq.ParquetFile(pa.BufferReader(source.data))
        names = list(file.schema_arrow.names)
    except _DAMAGE as error:
        raise damaged(source.name, KIND) from error
    check_columns(names, source.name)

    def rows(wanted: Sequence[str]) -> Iterator[tuple[int, list[object]]]:
        number = 0
        try:
            batches = file.iter_batches(batch_size=_BATCH_ROWS, columns=list(wanted), use_threads=False)
            for batch in batches:
                columns = [batch.column(name).to_pylist() for name in wanted]
                for cells in zip(*columns, strict=True):
                    number += 1
                    yield number, list(cells)
        except MemoryError:  # one of pyarrow's own errors is this too
            raise
        except _DAMAGE as error:
            raise damaged(source.name, KIND) from error

    return Table(tuple(names), rows, MEDIA_TYPE)
