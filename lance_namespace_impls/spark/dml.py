"""Changes the rows of a table with many workers, in one commit of the driver.

Workers write new data files and deletion files, which no version references yet. The driver then
commits either all of them or none. If another writer changes the same rows concurrently, the call
fails with code 14.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import frozen

from lance_namespace_client.errors import (
    InvalidInputError,
    TableColumnNotFoundError,
    TableSchemaValidationError,
)

from ..distributed import write_plan
from ..distributed.columns import check_compatible
from ..distributed.failures import coded, decoded
from ..distributed.runners import quietly, spark_runner
from ..distributed.secrets import map_in_arrow
from ..tables.sql import SqlCheck, check_sql
from .dataframe_reader import cores_of, read_table, require_clear_keys, target_of
from .read_plan import ROW_ADDRESS, pin, plan_tasks
from .row_changes import Removals, offsets_by_fragment, removed, rows_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ..catalog.namespace import Namespace
    from ..distributed.runners import Count
    from ..distributed.write_plan import WritePlan
    from .read_plan import Pinned

__all__ = [
    "Change",
    "Matched",
    "NotMatched",
    "NotMatchedBySource",
    "delete",
    "merge_into",
    "update",
]


class Matched(Enum):
    """Action for a row of the table whose key exists in the source."""

    UPDATE = "update"
    DELETE = "delete"
    KEEP = "keep"


class NotMatched(Enum):
    """Action for a row of the source whose key does not exist in the table."""

    INSERT = "insert"
    IGNORE = "ignore"


class NotMatchedBySource(Enum):
    """Action for a row of the table whose key does not exist in the source."""

    DELETE = "delete"
    KEEP = "keep"


@frozen(kw_only=True)
class Change:
    """Result of a change.

    Attributes:
        version: version of the table with the change; the previous version if nothing changed.
        inserted: number of inserted rows.
        updated: number of updated rows.
        deleted: number of deleted rows.
    """

    version: int
    inserted: int = 0
    updated: int = 0
    deleted: int = 0


def delete(
    spark: SparkSession, namespace: Namespace, table: str | Sequence[str], where: str
) -> Change:
    """Delete rows and return their number.

    Args:
        spark: the session.
        namespace: namespace of the table.
        table: identifier of the table, as ``"db.letters"`` or a list of names.
        where: condition in Lance's SQL for the rows to delete.

    Raises:
        TableNotFoundError: code 4.
        InvalidInputError: code 13, the condition is invalid.
        ConcurrentModificationError: code 14, another writer changed the same rows concurrently;
            nothing is deleted.
        InvalidTableStateError: code 19, the table has no data.
    """
    check_sql(where, "the condition")  # before opening anything
    target = target_of(namespace, table)
    pinned = pin(target, filter=where)
    plan = _planned(target, pinned.schema, pinned.version, writes_rows=False)

    def work(task: str, count: Count) -> str:
        with coded(f"deleting from {target.name}", target.namespace.config.secrets()):
            fragments = _fragments(pinned.open(), json.loads(task))
            return json.dumps(removed((each, each.delete(where)) for each in fragments))

    try:
        tasks = _by_fragments(spark, pinned)
        answers = spark_runner(spark).run(f"delete from {target.name}", tasks, work, quietly)
        removals = Removals.of(answers)
        if removals.rows:
            return Change(version=removals.commit(plan, []), deleted=removals.rows)
    except BaseException:
        write_plan.abort(plan, [])
        raise
    write_plan.abort(plan, [])
    return Change(version=pinned.version)


def update(
    spark: SparkSession,
    namespace: Namespace,
    table: str | Sequence[str],
    values: Mapping[str, str],
    where: str | None = None,
) -> Change:
    """Update columns of rows and return the number of rows.

    Args:
        spark: the session.
        namespace: namespace of the table.
        table: identifier of the table, as ``"db.letters"`` or a list of names.
        values: an expression in Lance's SQL for each column to set; all expressions read the values
            before the update.
        where: condition in Lance's SQL for the rows to update; defaults to all.

    Raises:
        TableNotFoundError: code 4.
        TableColumnNotFoundError: code 12, the table has no such column.
        InvalidInputError: code 13, an expression or the condition is invalid, or the condition
            matches different rows each time it is evaluated.
        ConcurrentModificationError: code 14, another writer changed the same rows concurrently;
            nothing is updated.
        InvalidTableStateError: code 19, the table has no data.
        TableSchemaValidationError: code 20, a value does not fit its column.
    """
    check_sql(where, "the condition")  # before opening anything
    target = target_of(namespace, table)
    pinned = pin(target, filter=where)
    columns = _expressions(values, pinned)
    plan = _planned(target, pinned.schema, pinned.version)

    def work(task: str, count: Count) -> str:
        with coded(f"updating {target.name}", target.namespace.config.secrets()):
            fragments = _fragments(pinned.open(), json.loads(task))
            written = write_plan.write_rows(plan, _rewritten(pinned, columns, fragments))
            answer = removed((each, each.delete(where or "true")) for each in fragments)
            if answer["rows"] != rows_in(written):
                raise InvalidInputError(
                    f"{target.name}: the condition matches different rows on each evaluation; use "
                    "a deterministic one"
                )
            return json.dumps({**answer, "fragments": written})

    try:
        tasks = _by_fragments(spark, pinned)
        answers = spark_runner(spark).run(f"update {target.name}", tasks, work, quietly)
        removals = Removals.of(answers)
        written = [each for answer in answers for each in json.loads(answer)["fragments"]]
        if removals.rows:
            return Change(version=removals.commit(plan, written), updated=removals.rows)
    except BaseException:
        write_plan.abort(plan, [])
        raise
    write_plan.abort(plan, [])
    return Change(version=pinned.version)


def _expressions(values: Mapping[str, str], pinned: Pinned) -> dict[str, str]:
    """Return an expression for each column of the table, after Lance has checked them."""
    what = pinned.target.name
    if not values:
        raise InvalidInputError(f"{what}: no columns to update; specify at least one")
    if unknown := [name for name in values if name not in pinned.schema.names]:
        raise TableColumnNotFoundError(
            f"{what} has no column {', '.join(unknown)}; it has {', '.join(pinned.schema.names)}"
        )
    pinned.require_readable()  # an update rewrites whole rows
    check = SqlCheck(pinned.schema)
    for name, expression in values.items():
        check.assignment(name, expression, f"the expression of column {name}")
    columns = {name: values.get(name, f"`{name}`") for name in pinned.schema.names}
    try:
        scanner = pinned.open().scanner(columns=columns, filter=pinned.filter)
        scanner.explain_plan()
        projected = scanner.projected_schema
    except Exception as error:
        raise pinned.target.failure(error, "updating") from error
    check_compatible(pa.schema([projected.field(name) for name in values]), pinned.schema, what)
    return columns


def _rewritten(
    pinned: Pinned, columns: dict[str, str], fragments: Sequence[Any]
) -> Iterator[pa.RecordBatch]:
    """Yield the updated rows with their new values."""
    from ..distributed.columns import cast_batch

    scanner = pinned.open().scanner(
        columns=columns, filter=pinned.filter, fragments=fragments, blob_handling="all_binary"
    )
    for batch in scanner.to_batches():
        if batch.num_rows:
            yield cast_batch(batch, pinned.schema)


def _by_fragments(spark: SparkSession, pinned: Pinned) -> list[str]:
    """Return tasks of whole fragments as JSON."""
    plan = plan_tasks(pinned, cores=cores_of(spark), whole=True)
    return [json.dumps([piece.fragment for piece in group]) for group in plan]


def _fragments(dataset: Any, numbers: Iterable[int]) -> list[Any]:
    return [dataset.get_fragment(number) for number in numbers]


def merge_into(
    frame: DataFrame,
    namespace: Namespace,
    table: str | Sequence[str],
    on: str | Sequence[str],
    *,
    when_matched: Matched | str = Matched.UPDATE,
    when_not_matched: NotMatched | str = NotMatched.INSERT,
    when_not_matched_by_source: NotMatchedBySource | str = NotMatchedBySource.KEEP,
) -> Change:
    """Merge the rows of a DataFrame into a table by key and return the changes.

    Spark reads only the keys of the table. A null key matches nothing. If several merges insert
    rows concurrently, one succeeds and the others fail with code 14, regardless of the client, so a
    new key is inserted only once.

    Args:
        frame: the source, with all columns of the table.
        namespace: namespace of the table.
        table: identifier of the table, as ``"db.letters"`` or a list of names.
        on: columns of the key.
        when_matched: action for rows in both: ``update``, ``delete`` or ``keep``.
        when_not_matched: action for rows only in the source: ``insert`` or ``ignore``.
        when_not_matched_by_source: action for rows only in the table: ``delete`` or ``keep``.

    Raises:
        TableNotFoundError: code 4.
        TableColumnNotFoundError: code 12, the table lacks a column of the key.
        InvalidInputError: code 13, several rows of the source have the same key.
        ConcurrentModificationError: code 14, another writer added rows or changed the same rows
            concurrently; the table keeps that change.
        InvalidTableStateError: code 19, the table has no data.
        TableSchemaValidationError: code 20, the columns of the source are not those of the table.
    """
    matched, new, unmatched_target = _actions(
        when_matched, when_not_matched, when_not_matched_by_source
    )
    keys = [on] if isinstance(on, str) else list(on)
    target = target_of(namespace, table)
    spark = frame.sparkSession
    pinned = pin(target)
    _check_columns(frame, keys, pinned.schema, target.name)
    require_clear_keys(frame, keys, target.name)
    _check_keys(frame, keys, target.name)
    existing = read_table(
        spark, namespace, list(target.table), columns=[*keys, ROW_ADDRESS], version=pinned.version
    )
    plan = _planned(target, _schema_of(frame), pinned.version)
    try:
        with decoded():
            written = _Written.of(_merged(frame, existing, keys, matched, new, plan))
        addresses = written.addresses
        if len(set(addresses)) < len(addresses):
            raise InvalidInputError(
                f"{target.name}: several rows in the source match one row in the table; keep one "
                f"row for each value of {', '.join(keys)}"
            )
        unmatched: list[int] = []
        if unmatched_target is NotMatchedBySource.DELETE:
            rest = existing.join(frame.select(*keys), keys, "left_anti").select(ROW_ADDRESS)
            unmatched = rest.toArrow()[ROW_ADDRESS].to_pylist()
        removals = _remove(spark, plan, [*addresses, *unmatched])
    except BaseException:
        write_plan.abort(plan, [])
        raise
    updated = len(addresses) if matched is Matched.UPDATE else 0
    if not removals.rows and not written.rows:
        write_plan.abort(plan, written.fragments)
        return Change(version=pinned.version)
    return Change(
        version=removals.commit(plan, written.fragments, claims=written.rows > updated),
        inserted=written.rows - updated,
        updated=updated,
        deleted=removals.rows - updated,
    )


def _actions(
    matched: Matched | str, new: NotMatched | str, unmatched_target: NotMatchedBySource | str
) -> tuple[Matched, NotMatched, NotMatchedBySource]:
    try:
        return Matched(matched), NotMatched(new), NotMatchedBySource(unmatched_target)
    except ValueError as error:
        raise InvalidInputError(
            f"{error}: when_matched must be update, delete or keep, when_not_matched must be "
            "insert or ignore, and when_not_matched_by_source must be delete or keep"
        ) from error


def _check_columns(frame: DataFrame, keys: Sequence[str], table: pa.Schema, what: str) -> None:
    missing = [key for key in keys if key not in table.names]
    if missing or not keys:
        raise TableColumnNotFoundError(
            f"{what} has no column {', '.join(missing) or 'to merge on'}; it has {', '.join(table.names)}"
        )
    if lacking := [name for name in table.names if name not in frame.columns]:
        raise TableSchemaValidationError(
            f"{what}: the source lacks the column {', '.join(lacking)}; add it, because a merge "
            "replaces whole rows"
        )


def _check_keys(frame: DataFrame, keys: Sequence[str], what: str) -> None:
    """Reject a source in which several rows have the same key (code 13); null keys are ignored."""
    from pyspark.sql import functions

    from ..tables.merge import duplicate_key

    quoted = ["`" + key.replace("`", "``") + "`" for key in keys]
    known = frame.select(*quoted).dropna()
    several = known.groupBy(*quoted).agg(functions.count("*").alias("rows"))
    with decoded():
        found = several.where(functions.col("rows") > 1).limit(1).collect()
    for row in found:
        *values, rows = row
        error = duplicate_key(dict(zip(keys, values, strict=True)), rows)
        raise InvalidInputError(f"{what}: {error.message}")


def _schema_of(frame: DataFrame) -> pa.Schema:
    from ..distributed.columns import lance_schema

    return lance_schema(frame.schema)


def _planned(
    target: Any, schema: pa.Schema, version: int, *, writes_rows: bool = True
) -> WritePlan:
    from attrs import evolve

    plan = write_plan.plan_write(target, schema, write_plan.Mode.APPEND, writes_rows=writes_rows)
    assert plan is not None  # only EXIST_OK returns None
    return evolve(plan, read_version=version)


def _merged(
    frame: DataFrame,
    existing: DataFrame,
    keys: Sequence[str],
    matched: Matched,
    new: NotMatched,
    plan: WritePlan,
) -> DataFrame:
    """Return one row per task, with its written fragments and the addresses of the matched rows."""
    joined = frame.join(existing, list(keys), "left")
    if matched is Matched.KEEP:
        joined = joined.where(f"{ROW_ADDRESS} IS NULL")
    if new is NotMatched.IGNORE:
        joined = joined.where(f"{ROW_ADDRESS} IS NOT NULL")
    updates = matched is Matched.UPDATE

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ..distributed.columns import cast_batch
        from ..tables.align import aligned

        addresses: list[pa.Array] = []

        def rows() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                place = batch.column(batch.schema.get_field_index(ROW_ADDRESS))
                addresses.append(place.drop_null())
                rows_to_write = batch if updates else batch.filter(place.is_null())
                if rows_to_write.num_rows:
                    yield cast_batch(aligned(rows_to_write), plan.schema)

        target = plan.target
        with coded(f"merging into {target.name}", target.namespace.config.secrets()):
            fragments = json.dumps(write_plan.write_rows(plan, rows()))
            flat = pa.concat_arrays(addresses) if addresses else pa.array([], pa.int64())
            text = base64.b64encode(flat.to_numpy(zero_copy_only=False).tobytes()).decode()
            yield pa.record_batch({"fragments": [fragments], "addresses": [text]})

    return map_in_arrow(joined, write, "fragments string, addresses string")


@frozen(kw_only=True)
class _Written:
    """Fragments that the tasks of a merge wrote, and addresses of the matched rows in the table."""

    fragments: list[Any]
    addresses: list[int]

    @property
    def rows(self) -> int:
        return rows_in(self.fragments)

    @classmethod
    def of(cls, frame: DataFrame) -> _Written:
        import numpy as np

        fragments: list[Any] = []
        addresses: list[int] = []
        for row in frame.collect():
            fragments += json.loads(row.fragments)
            addresses += np.frombuffer(base64.b64decode(row.addresses), np.int64).tolist()
        return cls(fragments=fragments, addresses=addresses)


def _remove(spark: SparkSession, plan: WritePlan, addresses: Sequence[int]) -> Removals:
    """Write the deletion files for rows with the given addresses, one fragment per task."""
    by_fragment = offsets_by_fragment(addresses)
    if not by_fragment:
        return Removals(changed=[], removed=[], rows=0)
    tasks = [json.dumps(each) for each in sorted(by_fragment.items())]
    target, location, version = plan.target, plan.location, plan.read_version

    def work(task: str, count: Count) -> str:
        with coded(f"merging into {target.name}", target.namespace.config.secrets()):
            number, offsets = json.loads(task)
            fragment = target.open(target.storage_at(location), version).get_fragment(number)
            return json.dumps(removed([(fragment, fragment.delete_rows(offsets))]))

    return Removals.of(spark_runner(spark).run(f"merge into {target.name}", tasks, work, quietly))
