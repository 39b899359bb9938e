"""Compares the rows of two versions of a table with DuckDB, in bounded memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lance_namespace_client.errors import InvalidInputError, TableColumnNotFoundError

from .failures import needs
from .versions import dataset_of

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

    from ..objects.table import Table

__all__ = ["Change", "RowDiff", "row_diff"]

ROW_ID = "_rowid"
MEMORY = "1GB"
"""Memory of the comparison; rows beyond it are in temporary files."""
_KINDS = ("removed", "added", "changed")


@dataclass(frozen=True)
class Change:
    """A row that differs between two versions; the row is None in a version without it."""

    kind: str
    old: dict[str, Any] | None
    new: dict[str, Any] | None


@dataclass(frozen=True)
class RowDiff:
    """The rows that differ between two versions."""

    by: str
    """How rows are matched: ``row id``, ``key`` or ``row``."""
    counts: dict[str, int]
    """Number of ``removed``, ``added`` and ``changed`` rows."""
    changes: list[Change]


def row_diff(
    old: Table, new: Table, *, key: Sequence[str], select: Sequence[str] | None, limit: int
) -> RowDiff:
    """Compare the rows of two versions, in the columns that both versions have.

    Rows are matched by `key`, otherwise by stable row ids if the table has them, otherwise by all
    their values; a changed row is then a removed and an added row. Data files that both versions
    contain are not read.

    Args:
        old: the table at the old version.
        new: the table at the new version.
        key: key columns.
        select: columns to compare; defaults to all.
        limit: maximum number of returned rows of each kind.

    Raises:
        MissingPackageError: duckdb is not installed.
        TableColumnNotFoundError: code 12, a column is missing in one version or has another type.
        InvalidInputError: code 13, the key is not unique, or DuckDB does not support a column.
    """
    with needs("diff --rows", "duckdb"):
        import duckdb
    columns = _columns(old.schema, new.schema, key, select)
    sides = _Sides(old, new, columns)
    by_id = not key and sides.have_stable_ids
    with tempfile.TemporaryDirectory(prefix="lance-ns-diff-") as folder:
        engine = duckdb.connect(str(Path(folder, "rows.db")))
        try:
            engine.execute(f"SET memory_limit = '{MEMORY}'")
            engine.execute("SET preserve_insertion_order = false")
            for name, reader in zip(("old", "new"), sides.readers(by_id), strict=True):
                with _registered(engine, reader):
                    engine.execute(f"CREATE TABLE {name}_rows AS SELECT * FROM reader")
            comparison = _Comparison(engine, columns, key, by_id=by_id)
            comparison.require_unique()
            counts = {kind: comparison.count(kind) for kind in _KINDS}
            changes = [each for kind in _KINDS for each in comparison.changes(kind, limit)]
        except duckdb.Error as error:
            message = str(error).strip().partition("\n")[0]
            raise InvalidInputError(
                f"the rows cannot be compared: {message}; exclude columns with --select"
            ) from error
        finally:
            engine.close()
    return RowDiff("row id" if by_id else "key" if key else "row", counts, changes)


@contextmanager
def _registered(engine: DuckDBPyConnection, reader: pa.RecordBatchReader) -> Iterator[None]:
    with reader:
        engine.register("reader", reader)
        yield
        engine.unregister("reader")


def _columns(
    old: pa.Schema, new: pa.Schema, key: Sequence[str], select: Sequence[str] | None
) -> list[str]:
    """Return the columns to compare."""
    types = {field.name: field.type for field in new}
    common = [field.name for field in old if types.get(field.name) == field.type]
    for name in (*key, *(select or ())):
        if name not in common:
            raise TableColumnNotFoundError(
                f"column {name!r} does not exist in both versions with the same type; use "
                f"{', '.join(common) or 'versions with a common column'}"
            )
    if not common:
        raise InvalidInputError("the versions have no common column, so no row can be compared")
    return common if select is None else list(dict.fromkeys([*key, *select]))


class _Sides:
    """Readers for the rows of both versions.

    The columns of the readers are named by position, because DuckDB ignores case in names.
    """

    def __init__(self, old: Table, new: Table, columns: list[str]) -> None:
        self._tables = old, new
        self._columns = columns
        datasets: list[Any] = [dataset_of(each) for each in self._tables]
        self._datasets = None if None in datasets else datasets

    @property
    def have_stable_ids(self) -> bool:
        """Whether a row has the same id in both versions; a server does not report it."""
        return self._datasets is not None and all(d.has_stable_row_ids for d in self._datasets)

    def readers(self, with_ids: bool) -> Iterator[pa.RecordBatchReader]:
        """Yield the readers, the one of the old version first."""
        import pyarrow as pa

        names = [*(_position(n) for n in range(len(self._columns))), *([ROW_ID] * with_ids)]
        if self._datasets is None:
            for table in self._tables:
                yield _renamed(table.search().select(self._columns).to_batches(), names)
            return
        unshared = self._unshared()
        for dataset, fragments in zip(self._datasets, unshared, strict=True):
            # An empty list would select all fragments.
            scanner = dataset.scanner(
                columns=self._columns, fragments=fragments or None, with_row_id=with_ids
            )
            if fragments:
                yield _renamed(scanner.to_reader(), names)
            else:
                schema = scanner.projected_schema
                yield _renamed(pa.RecordBatchReader.from_batches(schema, []), names)

    def _unshared(self) -> list[list[Any]]:
        """Return the fragments of each version whose rows the other version does not have."""
        assert self._datasets is not None
        fragments = [each.get_fragments() for each in self._datasets]
        # Renamed columns exchange their values without a change of files.
        ids = [
            {field.name(): field.id() for field in each.lance_schema.fields()}
            for each in self._datasets
        ]
        if any(ids[0][name] != ids[1][name] for name in self._columns):
            return fragments
        keys = [[_files_of(each) for each in side] for side in fragments]
        shared = set(keys[0]) & set(keys[1])
        return [
            [each for each, key in zip(side, own, strict=True) if key not in shared]
            for side, own in zip(fragments, keys, strict=True)
        ]


def _files_of(fragment: Any) -> str:
    """Return a text that is equal for fragments with the same rows."""
    described = fragment.metadata.to_json()
    parts = [described.get(name) for name in ("files", "overlays", "deletion_file")]
    return repr([fragment.fragment_id, *parts])


def _renamed(reader: pa.RecordBatchReader, names: list[str]) -> pa.RecordBatchReader:
    import pyarrow as pa

    fields = [field.with_name(name) for field, name in zip(reader.schema, names, strict=True)]
    return pa.RecordBatchReader.from_batches(
        pa.schema(fields), (batch.rename_columns(names) for batch in reader)
    )


class _Comparison:
    """Queries on the tables ``old_rows`` and ``new_rows``."""

    def __init__(
        self, engine: DuckDBPyConnection, columns: list[str], key: Sequence[str], *, by_id: bool
    ) -> None:
        self._engine = engine
        self._columns = columns
        self._key_names = key
        self._key = [ROW_ID] if by_id else [_position(columns.index(each)) for each in key]
        self._values = [_position(number) for number in range(len(columns))]

    def require_unique(self) -> None:
        """Raise InvalidInputError if a key occurs more than once in a version."""
        if not self._key_names:
            return
        key = ", ".join(self._key)
        for name in ("old", "new"):
            query = f"SELECT 1 FROM {name}_rows GROUP BY {key} HAVING count(*) > 1"
            if repeated := self._number(query):
                raise InvalidInputError(
                    f"--key {','.join(self._key_names)}: {repeated:,} values occur more than once "
                    f"in the {name} version; add columns to the key, or omit --key"
                )

    def count(self, kind: str) -> int:
        """Return the number of rows of a kind."""
        return self._number(self._query(kind))

    def changes(self, kind: str, limit: int) -> Iterator[Change]:
        """Yield rows of a kind, in the order of the key or of the values."""
        order = ", ".join(str(1 + number) for number in range(len(self._key) or len(self._values)))
        query = f"{self._query(kind)} ORDER BY {order} LIMIT {limit}"
        skipped, width = len(self._key), len(self._columns)
        rows = self._engine.sql(query).to_arrow_table()
        values = [rows.column(number).to_pylist() for number in range(skipped, rows.num_columns)]
        for row in zip(*values, strict=True):
            first = dict(zip(self._columns, row[:width], strict=True))
            if kind == "changed":
                yield Change(kind, first, dict(zip(self._columns, row[width:], strict=True)))
            elif kind == "added":
                yield Change(kind, None, first)
            else:
                yield Change(kind, first, None)

    def _query(self, kind: str) -> str:
        one, other = ("new", "old") if kind == "added" else ("old", "new")
        if not self._key:
            if kind == "changed":
                return f"SELECT {', '.join(self._values * 2)} FROM old_rows WHERE false"
            values = ", ".join(self._values)
            return f"SELECT {values} FROM {one}_rows EXCEPT ALL SELECT {values} FROM {other}_rows"
        same = " AND ".join(f"a.{each} IS NOT DISTINCT FROM b.{each}" for each in self._key)
        shown = ", ".join(f"a.{each}" for each in [*self._key, *self._values])
        if kind != "changed":
            return f"SELECT {shown} FROM {one}_rows a ANTI JOIN {other}_rows b ON {same}"
        other_values = ", ".join(f"b.{each}" for each in self._values)
        differ = " OR ".join(f"a.{each} IS DISTINCT FROM b.{each}" for each in self._values)
        return (
            f"SELECT {shown}, {other_values} FROM old_rows a JOIN new_rows b ON {same} "
            f"WHERE {differ}"
        )

    def _number(self, query: str) -> int:
        [(number,)] = self._engine.execute(f"SELECT count(*) FROM ({query})").fetchall()
        return int(number)


def _position(number: int) -> str:
    return f"c{number}"
