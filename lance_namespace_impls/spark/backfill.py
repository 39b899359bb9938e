"""Adds computed columns to an existing table: many workers write, and the driver commits once.

For each fragment, a worker writes a data file with the new columns; existing files are left
unchanged. The commit is based on the latest version: the columns are also computed for fragments
that other writers have added in the meantime, but not again for fragments that only lost rows.
"""

from __future__ import annotations

import base64
import json
import uuid
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
from ..distributed.attempts import Attempts
from ..distributed.calls import Calls, Pace, require_columns
from ..distributed.columns import cast_batch, lance_schema, with_types
from ..distributed.failures import coded, decoded
from ..distributed.markers import marked
from ..distributed.options import require_positive
from ..distributed.runners import quietly, spark_runner
from ..distributed.secrets import map_in_arrow
from ..distributed.type_names import parse_types
from ..tables.align import aligned
from ..tables.files import missing_files
from ..tables.layout import DATA
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
MARK = "lance_namespace.backfill"
"""Transaction property that contains the id of a resumable job, set by its commit."""
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
    calls_per_second: float | None = None,
    attempts: int = 1,
    backoff_seconds: float = 1.0,
    retry_on: type[Exception] | tuple[type[Exception], ...] = Exception,
    resume: str | None = None,
) -> Added:
    """Add columns with values to a table and return the result.

    Rows that other writers append during the operation also receive values. Fragments that others
    compact or rewrite are computed again.

    With `resume`, the files of finished fragments remain in the table's folder if the job fails or
    is killed, and repeating the call continues with the other fragments.

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
        on: key columns, if `columns` is a DataFrame.
        batch_rows: maximum number of rows that the function receives per call.
        calls_per_second: maximum number of calls to the function per second, across all workers and
            including repeated calls. Spark's speculative and retried tasks count separately.
        attempts: maximum number of calls for one batch, in each attempt of a Spark task.
        backoff_seconds: pause after the first failed call of a batch. Each further pause is twice
            as long, up to a minute, plus jitter.
        retry_on: exceptions after which a call is repeated.
        resume: name of the job. Choose another name if the function changes: only the name, the
            columns and the types identify the results to continue with.

    Raises:
        TableNotFoundError: code 4.
        TableColumnNotFoundError: code 12, `reads`, `on` or `types` names an unknown column.
        InvalidInputError: code 13, an argument is invalid, the function returns a different number
            of rows, or several rows of the DataFrame match one key of the table.
        ConcurrentModificationError: code 14, other writers changed the table's columns or kept
            changing its rows; the table has none of the new columns.
        ServiceUnavailableError: code 17, the function did not reach its service in any attempt; the
            message names the fragment, the rows and the attempt.
        InvalidTableStateError: code 19, the table has no data.
        TableSchemaValidationError: code 20, the table already has such a column, or a value does
            not fit.
    """
    require_pyspark()
    require_positive(batch_rows=batch_rows)
    calls = Calls(
        per_second=calls_per_second,
        attempts=attempts,
        backoff_seconds=backoff_seconds,
        retry_on=retry_on if isinstance(retry_on, tuple) else (retry_on,),
    )
    target = target_of(namespace, table)
    if calls != Calls() and (isinstance(columns, Mapping) or not callable(columns)):
        raise InvalidInputError(
            f"{target.name}: calls_per_second, attempts, backoff_seconds and retry_on apply only "
            "to a function; omit them"
        )
    if resume is not None and not resume.strip():
        raise InvalidInputError(f"{target.name}: resume must be the name of the job")
    pinned = pin(target)
    maker = _maker(spark, pinned, columns, types, reads, on, batch_rows, calls)
    job = None if resume is None else _job(pinned, maker, columns, resume)
    if job is not None and (done := _committed(pinned, maker, job)) is not None:
        return done
    duplicates = [name for name in maker.schema.names if name in pinned.schema.names]
    if duplicates or not maker.schema.names:
        raise TableSchemaValidationError(
            f"{target.name}: "
            + (
                f"it already has the column {', '.join(duplicates)}"
                if duplicates
                else "no columns to add; specify at least one"
            )
        )
    write_plan.check_schema(maker.schema, target.name)
    plan = write_plan.plan_write(
        target, pinned.schema, write_plan.Mode.APPEND, writes_rows=False, job=job
    )
    assert plan is not None  # only EXIST_OK returns None
    try:
        with decoded():
            version, rows, files = _commit(
                maker, evolve(plan, read_version=pinned.version), resumes=job is not None
            )
    except BaseException as error:
        if job is None or isinstance(error, ConcurrentModificationError):
            write_plan.abort(plan, [])
        raise
    write_plan.delete_rest(plan, (), needed=files)
    return Added(version=version, columns=tuple(maker.schema.names), rows=rows)


def _job(pinned: Pinned, maker: _Maker, columns: Any, name: str) -> str:
    """Return the id of a resumable job: the same arguments lead to the same id."""
    parts = {
        "name": name,
        "location": pinned.location,
        "columns": [f"{field.name}: {field.type}" for field in maker.schema],
        "expressions": dict(columns) if isinstance(columns, Mapping) else None,
    }
    return uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(parts, sort_keys=True)).hex


def _committed(pinned: Pinned, maker: _Maker, job: str) -> Added | None:
    """Return the result of an earlier run of the job if it reached its commit; otherwise None."""
    names = maker.schema.names
    if not set(names) <= set(pinned.schema.names):
        return None
    dataset = pinned.open()
    for version, _ in marked(dataset, MARK, job):
        current = pinned.target.open(pinned.target.storage_at(pinned.location), version)
        Attempts(pinned.target.storage_at(pinned.location), job).end()
        return Added(version=version, columns=tuple(names), rows=current.count_rows())
    return None


def _commit(maker: _Maker, plan: WritePlan, *, resumes: bool) -> tuple[int, int, set[str]]:
    """Commit the columns after computing them; return the version, its rows and the new files.

    Args:
        maker: computes the columns of fragments.
        plan: the plan of the write.
        resumes: whether to use fragments that an earlier run of the job finished.
    """
    lance = load("lance")

    target = plan.target
    storage = target.storage_at(plan.location)
    columns = target.open(storage, plan.read_version).lance_schema
    finished = _finished(plan, columns) if resumes else {}
    properties = {MARK: plan.job} if resumes else {}
    for left in reversed(range(COMMIT_ATTEMPTS)):
        dataset = target.open(storage)
        if dataset.lance_schema != columns:
            raise ConcurrentModificationError(
                f"{target.name}: another writer changed its columns since version "
                f"{plan.read_version}, so nothing was added; read it again and retry"
            )
        version = int(dataset.version)
        current = {each.fragment_id: each.metadata.to_json() for each in dataset.get_fragments()}
        lacking = [
            number
            for number, fragment in current.items()
            if number not in finished or finished[number]["onto"] != _paths(fragment)
        ]
        if lacking:
            answers = maker.make(evolve(plan, read_version=version), lacking)
            finished.update((answer["fragment"], answer) for answer in answers)
        if not current:
            dataset.add_columns(maker.schema)  # without rows, only metadata changes
            return int(dataset.version), 0, set()
        new = {number: finished[number]["files"] for number in current}
        merged = [
            lance.FragmentMetadata.from_json(
                json.dumps({**fragment, "files": [*fragment["files"], *new[number]]})
            )
            for number, fragment in current.items()
        ]
        schema = _schema_from(finished[next(iter(current))]["schema"])
        change = lance.Transaction(
            version,
            lance.LanceOperation.Merge(merged, schema),
            transaction_properties=properties,
        )
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


def _finished(plan: WritePlan, columns: Any) -> dict[int, Mapping[str, Any]]:
    """Return the usable results of `_write` from earlier runs of the job.

    Args:
        plan: the plan of the write.
        columns: the table's current ``LanceSchema``; results for another schema are skipped,
            because their field ids may be in use.
    """
    storage = plan.target.storage_at(plan.location)
    current = _schema_to_json(columns)
    answers = [json.loads(record) for record in Attempts(storage, plan.job).records()]
    answers = [answer for answer in answers if answer["base"] == current]
    files = [file["path"] for answer in answers for file in answer["files"]]
    missing = set(missing_files(storage, DATA, files))
    return {
        answer["fragment"]: answer
        for answer in answers
        if not any(file["path"] in missing for file in answer["files"])
    }


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
        calls: how the function is called.
    """

    def __init__(
        self,
        spark: SparkSession,
        schema: pa.Schema,
        scan: Mapping[str, Any],
        function: ColumnFunction | None,
        calls: Calls,
    ) -> None:
        super().__init__(spark, schema)
        self._scan = scan
        self._function = function
        self._calls = calls

    def make(self, plan: WritePlan, fragments: Sequence[int]) -> list[dict[str, Any]]:
        """Write the columns for fragments of the plan's version."""
        scan, function, schema, calls = self._scan, self._function, self.schema, self._calls
        target, runner = plan.target, spark_runner(self._spark)
        # With a limit, each task has an equal share of it, so there are only as many tasks as run
        # concurrently.
        groups = len(fragments) if calls.per_second is None else min(len(fragments), runner.cores)
        tasks = [json.dumps(list(fragments[start::groups])) for start in range(groups)]

        def work(task: str, count: Count) -> str:
            with coded(f"adding columns to {target.name}", target.namespace.config.secrets()):
                dataset = target.open(target.storage_at(plan.location), plan.read_version)
                pace = calls.pace(groups)
                answers = []
                for number in json.loads(task):
                    read = dataset.get_fragment(number).scanner(**scan).to_batches()
                    what = f"{target.name}: fragment {number}"
                    computed = _computed(function, read, schema, what, calls, pace)
                    answers.append(_write(plan, dataset, number, schema, computed))
                return json.dumps(answers)

        answers = runner.run(f"add columns to {target.name}", tasks, work, quietly)
        return [each for answer in answers for each in json.loads(answer)]


def _computed(
    function: ColumnFunction | None,
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    what: str,
    calls: Calls,
    pace: Pace,
) -> Iterator[pa.RecordBatch]:
    """Yield the new columns of a fragment's batches."""
    first = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        last = first + batch.num_rows - 1
        rows = f"{what}, rows {first} to {last}"
        if function is not None:
            computed = calls.call(function, batch, rows, pace)
            batch = require_columns(computed, schema, batch.num_rows)
        yield cast_batch(batch, schema)
        first = last + 1


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
        existing_rows = read_table(
            self._spark,
            target.namespace,
            list(target.table),
            columns=[*self._keys, ROW_ADDRESS],
            version=plan.read_version,
        )
        place = functions.shiftright(functions.col(ROW_ADDRESS), _OFFSET_BITS)
        tasks = min(len(fragments), 4 * (cores_of(self._spark) or 16))
        joined = (
            existing_rows.where(place.isin(list(fragments)))
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
    calls: Calls,
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
        return _ByFragment(spark, schema, _scan_of(columns), None, calls)
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
    return _ByFragment(spark, schema, read, columns, calls)


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
        answer = {
            "fragment": number,
            "onto": before,
            "files": files,
            "base": _schema_to_json(dataset.lance_schema),
            "schema": _schema_to_json(whole),
        }
        attempt.finish((file["path"] for file in files), json.dumps(answer).encode())
    return answer


def _schema_to_json(schema: Any) -> list[str]:
    """Return a ``LanceSchema``, with the ids of its fields, as JSON."""
    metadata, *fields = schema.__reduce__()[1]
    ordered = json.dumps(json.loads(metadata), sort_keys=True)
    return [ordered, *(base64.b64encode(field).decode() for field in fields)]


def _schema_from(found: Sequence[str]) -> Any:
    """Return the ``LanceSchema`` that `_schema_to_json` converted to JSON."""
    metadata, *fields = found
    return load("lance.schema").LanceSchema._from_protos(metadata, *map(base64.b64decode, fields))


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
                    f"{what}: several rows in the DataFrame match one row in the table; keep one "
                    f"row for each value of {keys}"
                )
            last = places[-1] if len(places) else last
            numbers, starts = np.unique(places >> _OFFSET_BITS, return_index=True)
            ends = [*starts[1:], len(places)]
            for number, start, end in zip(numbers, starts, ends, strict=True):
                yield int(number), batch.slice(start, end - start)

    for number, run in groupby(pieces(), key=lambda piece: piece[0]):
        yield number, (batch for _, batch in run)
