"""Divides rows among the partitions of a spec and writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from attrs import define, field, frozen

from ..core.imports import load
from .spec import PartitionSpec
from .store import Key, PartitionWrite, keys_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Router", "divided"]

WRITE_CONCURRENCY = 4
"""Number of partitions that are written concurrently."""
BUFFER_BYTES = 256 << 20
"""Size up to which rows are buffered, so that each partition gets a few large files."""


@frozen(kw_only=True)
class Part:
    """Rows of one batch that belong to the same partition."""

    key: Key
    values: tuple[pa.Scalar, ...]
    rows: pa.RecordBatch


def divided(
    batch: pa.RecordBatch, spec: PartitionSpec, paths: Mapping[int, Sequence[str]]
) -> Iterator[Part]:
    """Yield the rows of a batch by partition; within a partition, the order of rows is kept."""
    np, pa = load("numpy"), load("pyarrow")
    if not batch.num_rows:
        return
    columns = [each.values(batch, paths) for each in spec.fields]
    codes = np.zeros(batch.num_rows, np.int64)
    for column in columns:
        # Null counts as a separate value.
        parts = column.dictionary_encode(null_encoding="encode")
        _, codes = np.unique(codes, return_inverse=True)
        codes = codes.reshape(-1) * max(1, len(parts.dictionary)) + parts.indices.to_numpy(
            zero_copy_only=False
        )
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=codes[order[0]] - 1))
    firsts = pa.array(order[starts])
    firsts_of = [column.take(firsts) for column in columns]
    keys = keys_of(firsts_of, len(starts))
    ends = [*starts[1:].tolist(), batch.num_rows]
    for place, (start, end) in enumerate(zip(starts.tolist(), ends, strict=True)):
        rows = batch if len(starts) == 1 else batch.take(pa.array(order[start:end]))
        yield Part(key=keys[place], values=tuple(c[place] for c in firsts_of), rows=rows)


@define
class Router:
    """Buffers rows by partition, and writes the rows when the buffer is full.

    Attributes:
        write: the write.
        spec: the spec of the partitions.
        paths: the source columns.
    """

    write: PartitionWrite
    spec: PartitionSpec
    paths: Mapping[int, Sequence[str]]
    rows: int = 0
    """Number of rows written so far."""
    _waiting: dict[Key, list[Part]] = field(factory=dict)
    _bytes: int = 0
    _written: set[Key] = field(factory=set)

    def run(self, batches: Iterable[pa.RecordBatch]) -> int:
        """Write all rows and return the number of partitions."""
        for batch in batches:
            for part in divided(batch, self.spec, self.paths):
                self._waiting.setdefault(part.key, []).append(part)
            self._bytes += batch.nbytes
            if self._bytes >= BUFFER_BYTES:
                self._flush()
        self._flush()
        return len(self._written)

    def _flush(self) -> None:
        def add(key: Key) -> int:
            parts = self._waiting.pop(key)
            return self.write.add(key, parts[0].values, (part.rows for part in parts))

        self._written.update(self._waiting)
        with ThreadPoolExecutor(WRITE_CONCURRENCY, "lance-partitions") as pool:
            self.rows += sum(pool.map(add, list(self._waiting)))
        self._bytes = 0
