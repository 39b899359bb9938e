"""Adds computed columns to an existing table: many workers write, and the driver commits once.

For each fragment, a worker writes a data file with the new columns; existing files are left
unchanged. The commit is based on the latest version: the columns are also computed for fragments
that other writers have added in the meantime, but not again for fragments that only lost rows.
"""

from __future__ import annotations

import base64
import json
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import evolve, frozen

from lance_namespace_client.arrow import RowStream
from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    TableColumnNotFoundError,
    TableSchemaValidationError,
)

from ..core.imports import load
from ..distributed import write_plan
from ..distributed.columns import cast_batch, lance_schema, with_types
from ..distributed.failures import coded, decoded
from ..distributed.options import require_positive
from ..distributed.runners import quietly, spark_runner
from ..distributed.secrets import map_in_arrow
from ..distributed.type_names import parse_types
from ..tables.align import aligned
from ..tables.sql import SqlCheck
from ..tables.write import commit_onto
from .dataframe_reader import cores_of, read_table, require_clear_keys, target_of
from .extra import require_pyspark
from .read_plan import ROW_ADDRESS, pin, projection

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ..catalog.namespace import Namespace
    from ..distributed.runners import Count
    from ..distributed.write_plan import WritePlan
    from .read_plan import Pinned

__all__ = ["Added", "ColumnFunction", "add_columns"]

ColumnFunction = Callable[[pa.RecordBatch], pa.RecordBatch]
"""Computes the new columns for a batch of rows, in the same order."""

COMMIT_ATTEMPTS = 10
_OFFSET_BITS = 32


@frozen(kw_only=True)
class Added:
    """Result of adding columns.

    Attributes:
        version: version of the table with the new columns.
        columns: names of the new columns.
        rows: number of rows with the new columns.
    """

    version: int
    columns: tuple[str, ...]
    rows: int


def add_columns(
    spark: SparkSession,
    namespace: Namespace,
    table: str | Sequence[str],
    columns: Mapping[str, str] | ColumnFunction | DataFrame,
    *,
    types: str | None = None,
    reads: Sequence[str] | None = None,
    on: str | Sequence[str] | None = None,
    batch_rows: int | None = None,
) -> Added:
    """Add columns with values to a table and return the result.

    Rows that other writers append during the operation also receive values. Fragments that others
    compact or rewrite are computed again.

    Args:
        spark: the session.
        namespace: namespace of the table.
        table: identifier of the table, as ``"db.letters"`` or a list of names.
        columns: one of three forms. A mapping contains an expression in Lance's SQL for each new
            column. A function computes the columns from a ``pyarrow.RecordBatch`` and runs on the
            workers. A DataFrame contains the columns and the key `on`; rows of the table without a
            match receive null.
        types: Arrow types of new columns, such as ``embedding:float32[768]``; a function requires
            the types of all its columns.
        reads: columns that the function receives; defaults to all.
        on: columns of the key, for a DataFrame.
        batch_rows: maximum number of rows that the function receives per call.

    Raises:
        TableNotFoundError: code 4.
        TableColumnNotFoundError: code 12, `reads`, `on` or `types` names an unknown column.
        InvalidInputError: code 13, an argument is invalid, the function returns a different number
            of rows, or several rows of the DataFrame match one key of the table.
        ConcurrentModificationError: code 14, other writers changed the table's columns or kept
            changing its rows; no new column remains.
        InvalidTableStateError: code 19, the table has no data.
        TableSchemaValidationError: code 20, the table already has such a column, or a value does
            not fit.
    """
    require_pyspark()
    require_positive(batch_rows=batch_rows)
    target = target_of(namespace, table)
    pinned = pin(target)
    maker = _maker(spark, pinned, columns, types, reads, on, batch_rows)
    taken = [name for name in maker.schema.names if name in pinned.schema.names]
    if taken or not maker.schema.names:
        raise TableSchemaValidationError(
            f"{target.name}: "
            + (f"it has a column {', '.join(taken)}" if taken else "there is no column to add")
        )
    write_plan.check_schema(maker.schema, target.name)
    plan = write_plan.plan_write(target, pinned.schema, write_plan.Mode.APPEND, writes_rows=False)
    assert plan is not None  # only EXIST_OK returns None
    try:
        with decoded():
            version, rows, files = _commit(maker, evolve(plan, read_version=pinned.version))
    except BaseException:
        write_plan.abort(plan, [])
        raise
    write_plan.delete_rest(plan, (), needed=files)
    return Added(version=version, columns=tuple(maker.schema.names), rows=rows)


def _commit(maker: _Maker, plan: WritePlan) -> tuple[int, int, set[str]]:
    """Commit the columns after computing them; return the version, its rows and the new files."""
    lance = load("lance")

    target = plan.target
    storage = target.storage_at(plan.location)
    columns = target.open(storage, plan.read_version).lance_schema
    made: dict[int, Mapping[str, Any]] = {}
    for left in reversed(range(COMMIT_ATTEMPTS)):
        dataset = target.open(storage)
        if dataset.lance_schema != columns:
            raise ConcurrentModificationError(
                f"{target.name}: another writer changed its columns since version "
                f"{plan.read_version}, so nothing was added; read it again and retry"
            )
        version = int(dataset.version)
        there = {each.fragment_id: each.metadata.to_json() for each in dataset.get_fragments()}
        lacking = [
            number
            for number, fragment in there.items()
            if number not in made or made[number]["onto"] != _paths(fragment)
        ]
        if lacking:
            answers = maker.make(evolve(plan, read_version=version), lacking)
            made.update((answer["fragment"], answer) for answer in answers)
        if not there:
            dataset.add_columns(maker.schema)  # without rows, only metadata changes
            return int(dataset.version), 0, set()
        new = {number: made[number]["files"] for number in there}
        merged = [
            lance.FragmentMetadata.from_json(
                json.dumps({**fragment, "files": [*fragment["files"], *new[number]]})
            )
            for number, fragment in there.items()
        ]
        schema = pickle.loads(base64.b64decode(made[next(iter(there))]["schema"]))
        change = lance.Transaction(version, lance.LanceOperation.Merge(merged, schema))
        write_plan.require_open(plan, target.storage_at(plan.location))
        try:
            committed = commit_onto(storage, change)
        except Exception as error:
            failure = target.failure(error, "committing to")
            if not left or not isinstance(failure, ConcurrentModificationError):
                raise failure from error
            continue
        rows = sum(fragment.num_rows for fragment in merged)
        return committed, rows, {file["path"] for files in new.values() for file in files}
    raise AssertionError("the last attempt returns or raises")


def _paths(fragment: Mapping[str, Any]) -> list[str]:
    return [file["path"] for file in fragment["files"]]


class _Maker(ABC):
    """Computes the new columns of fragments.

    Args:
        spark: the session.
        schema: the new columns.
    """

    def __init__(self, spark: SparkSession, schema: pa.Schema) -> None:
        self._spark = spark
        self.schema = schema

    @abstractmethod
    def make(self, plan: WritePlan, fragments: Sequence[int]) -> list[dict[str, Any]]:
        """Write the columns for fragments of the plan's version; return the results of `_write`."""


class _ByFragment(_Maker):
    """Computes the new columns from the columns of each fragment, one fragment per task.

    Args:
        spark: the session.
        schema: the new columns.
        scan: arguments of pylance's scanner for reading the fragment.
        function: computes the new columns from the rows read; None if the scan returns the columns.
    """

    def __init__(
        self,
        spark: SparkSession,
        schema: pa.Schema,
        scan: Mapping[str, Any],
        function: ColumnFunction | None,
    ) -> None:
        super().__init__(spark, schema)
        self._scan = scan
        self._function = function

    def make(self, plan: WritePlan, fragments: Sequence[int]) -> list[dict[str, Any]]:
        """Write the columns for fragments of the plan's version."""
        scan, function, schema, target = self._scan, self._function, self.schema, plan.target

        def work(task: str, count: Count) -> str:
            with coded(f"adding columns to {target.name}", target.namespace.config.secrets()):
                number = int(task)
                dataset = target.open(target.storage_at(plan.location), plan.read_version)
                read = dataset.get_fragment(number).scanner(**scan).to_batches()
                made = (_applied(function, batch, schema) for batch in read if batch.num_rows)
                batches = (cast_batch(batch, schema) for batch in made)
                return json.dumps(_write(plan, dataset, number, schema, batches))

        name = f"add columns to {target.name}"
        tasks = [str(number) for number in fragments]
        return [
            json.loads(answer)
            for answer in spark_runner(self._spark).run(name, tasks, work, quietly)
        ]


class _ByKey(_Maker):
    """Copies the new columns from a DataFrame, matched by a key.

    Args:
        schema: the new columns.
        frame: the DataFrame.
        keys: columns of the key.
    """

    def __init__(self, schema: pa.Schema, frame: DataFrame, keys: Sequence[str]) -> None:
        super().__init__(frame.sparkSession, schema)
        self._frame = frame
        self._keys = list(keys)

    def make(self, plan: WritePlan, fragments: Sequence[int]) -> list[dict[str, Any]]:
        """Write the columns for fragments of the plan's version."""
        from pyspark.sql import functions

        schema, target, shown = self.schema, plan.target, ", ".join(self._keys)
        held = read_table(
            self._spark,
            target.namespace,
            list(target.table),
            columns=[*self._keys, ROW_ADDRESS],
            version=plan.read_version,
        )
        place = functions.shiftright(functions.col(ROW_ADDRESS), _OFFSET_BITS)
        tasks = min(len(fragments), 4 * (cores_of(self._spark) or 16))
        joined = (
            held.where(place.isin(list(fragments)))
            .join(self._frame, self._keys, "left")
            .select(ROW_ADDRESS, *(f"`{name}`" for name in schema.names))
            .repartition(tasks, place)
            .sortWithinPartitions(ROW_ADDRESS)
        )

        def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with coded(f"adding columns to {target.name}", target.namespace.config.secrets()):
                dataset = target.open(target.storage_at(plan.location), plan.read_version)
                for number, run in _runs(batches, target.name, shown):
                    rows = (cast_batch(batch, schema) for batch in run)
                    answer = json.dumps(_write(plan, dataset, number, schema, rows))
                    yield pa.record_batch({"answer": [answer]})

        found = map_in_arrow(joined, write, "answer string").collect()
        return [json.loads(row.answer) for row in found]


def _maker(
    spark: SparkSession,
    pinned: Pinned,
    columns: Mapping[str, str] | ColumnFunction | DataFrame,
    types: str | None,
    reads: Sequence[str] | None,
    on: str | Sequence[str] | None,
    batch_rows: int | None,
) -> _Maker:
    """Return the object that computes the columns, after checking the arguments."""
    from pyspark.sql import DataFrame

    keys = [on] if isinstance(on, str) else list(on or ())
    what = pinned.target.name
    for name in (*keys, *(reads or ())):
        if name not in pinned.schema.names:
            raise TableColumnNotFoundError(
                f"{what} has no column {name}; it has {', '.join(pinned.schema.names)}"
            )
    if isinstance(columns, Mapping):
        schema = with_types(_planned(pinned, columns), types)
        return _ByFragment(spark, schema, _scan_of(columns), None)
    if isinstance(columns, DataFrame):
        if not keys or not set(keys) <= set(columns.columns):
            raise InvalidInputError(
                f"{what}: specify the key columns with on=; the DataFrame and the table must "
                "have them"
            )
        require_clear_keys(columns, keys, what)
        rest = columns.drop(*keys)
        return _ByKey(lance_schema(rest.schema, types), columns, keys)
    if not callable(columns):
        raise InvalidInputError(
            f"{what}: columns must be a dict of expressions, a function or a DataFrame"
        )
    schema = pa.schema(list(parse_types(types or "").items()))
    if not schema.names:
        raise InvalidInputError(
            f"{what}: specify the columns that the function returns with types=, such as "
            "'score:float64'"
        )
    if reads is None:
        pinned.require_readable()
    read = {
        "columns": projection(reads or pinned.schema.names),
        "batch_size": batch_rows,
        "blob_handling": "all_binary",
    }
    return _ByFragment(spark, schema, read, columns)


def _scan_of(expressions: Mapping[str, str]) -> dict[str, Any]:
    # Include the row address: pylance returns no rows if all expressions are constants.
    return {"columns": dict(expressions), "with_row_address": True}


def _planned(pinned: Pinned, expressions: Mapping[str, str]) -> pa.Schema:
    check = SqlCheck(pinned.schema)
    for name, expression in expressions.items():
        check.value(expression, f"the expression of column {name[:100]!r}")
        if not expression.strip():
            raise InvalidInputError(f"the expression of column {name!r} is empty")
    if not expressions:
        return pa.schema([])
    try:
        scanner = pinned.open().scanner(**_scan_of(expressions))
        scanner.explain_plan()
        found = scanner.projected_schema
        return pa.schema([found.field(name).with_nullable(True) for name in expressions])
    except Exception as error:
        raise pinned.target.failure(error, "adding columns to") from error


def _applied(
    function: ColumnFunction | None, batch: pa.RecordBatch, schema: pa.Schema
) -> pa.RecordBatch:
    if function is None:
        return batch
    made = function(batch)
    if not isinstance(made, pa.RecordBatch):
        raise InvalidInputError(
            f"the function returned a {type(made).__name__}, not a pyarrow.RecordBatch"
        )
    if made.num_rows != batch.num_rows:
        raise InvalidInputError(
            f"the function returned {made.num_rows} rows for {batch.num_rows}; it must "
            "return one for each"
        )
    if set(made.schema.names) != set(schema.names):
        raise TableSchemaValidationError(
            f"the function returned the columns {', '.join(made.schema.names)}; types= "
            f"names {', '.join(schema.names)}"
        )
    return made


def _write(
    plan: WritePlan,
    dataset: Any,
    number: int,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
) -> dict[str, Any]:
    """Write the new columns of a fragment; return its new data files as JSON."""
    from ..tables.incoming import checked

    fragment = dataset.get_fragment(number)
    before = [file.path for file in fragment.data_files()]
    rows = RowStream(schema, map(aligned, batches))
    storage = plan.target.storage_at(plan.location)
    with write_plan.attempt_at(plan, storage, rows) as attempt:
        merged, whole = fragment.merge_columns(rows.reader(checked))
        files = [file for file in merged.to_json()["files"] if file["path"] not in before]
        attempt.finish(file["path"] for file in files)
    return {
        "fragment": number,
        "onto": before,
        "files": files,
        "schema": base64.b64encode(pickle.dumps(whole)).decode(),
    }


def _runs(
    batches: Iterable[pa.RecordBatch], what: str, keys: str
) -> Iterator[tuple[int, Iterator[pa.RecordBatch]]]:
    """Split rows that are sorted by address into runs of one fragment each.

    Raises:
        InvalidInputError: code 13, an address occurs twice.
    """
    import numpy as np

    def pieces() -> Iterator[tuple[int, pa.RecordBatch]]:
        last = -1
        for batch in batches:
            index = batch.schema.get_field_index(ROW_ADDRESS)
            places = batch.column(index).to_numpy()
            if np.any(np.diff(places, prepend=last) <= 0):
                raise InvalidInputError(
                    f"{what}: several rows of the DataFrame match one row of the table; keep one "
                    f"for each {keys}"
                )
            last = places[-1] if len(places) else last
            numbers, starts = np.unique(places >> _OFFSET_BITS, return_index=True)
            ends = [*starts[1:], len(places)]
            for number, start, end in zip(numbers, starts, ends, strict=True):
                yield int(number), batch.slice(start, end - start)

    for number, run in groupby(pieces(), key=lambda piece: piece[0]):
        yield number, (batch for _, batch in run)
