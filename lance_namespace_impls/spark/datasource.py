"""Implements the Spark data source ``lance_namespace`` for the tables of any namespace.

>>> spark.read.format("lance_namespace").options(impl="dir", root="/data/lance").load("flights")
... # doctest: +SKIP

Every option that `TableOptions` does not define is a property of the namespace, with or without the
impl as a prefix. Rows are exchanged with Spark as Arrow record batches, in both directions.

Source: PySpark's Python Data Source API.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import frozen
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)

from lance_namespace_client.errors import (
    InvalidInputError,
    TableNotFoundError,
    UnsupportedError,
)

from ..core.identifiers import (
    Identifier,
    format_identifier,
    parse_identifier,
    split_identifier,
)
from ..distributed.failures import coded
from ..distributed.options import (
    option_name,
    read_options,
)
from ..distributed.secrets import Sealed, require_key
from ..distributed.target import partitioned_target
from ..registry import connect_config, resolved, secrets_among
from .row_writer import RowWriter
from .table_options import TableOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
    from pyspark.sql.types import StructType

    from ..distributed.partition_write import PartitionsPlan
    from ..distributed.write_plan import Target, WritePlan
    from ..partitioned.store import PartitionFiles
    from .catalog_table import CatalogTable
    from .read_plan import Piece, Pinned
    from .scan_plan import Source

__all__ = ["LanceNamespaceDataSource", "split_table_name"]

W = TypeVar("W")
FORMAT = "lance_namespace"
_INSTEAD = (
    "write load('name') or save('name') instead of saveAsTable('name') and "
    "CREATE TABLE (DROP TABLE removes the entry that Spark created); in SQL "
    f"write CREATE TEMPORARY VIEW name USING {FORMAT} OPTIONS (impl '...', table "
    "'name')"
)
# Matches an object store URI with a password before the host, or with a query (a signature).
_SIGNED = re.compile(
    r"(?:az|abfss?|wasbs?|adl|s3[an]?|gs|oss|https?)://(?:[^/?#]*:[^/?#]*@|[^?#]*\?)", re.IGNORECASE
)


def split_table_name(text: str, delimiter: str | None = None) -> Identifier:
    """Parse the identifier of a table.

    Args:
        text: with a delimiter, the names joined by it. Without one, the names joined by dots, as in
            Spark SQL: a name that contains a dot is in backticks.
        delimiter: separator of the levels of the identifier.

    Raises:
        InvalidInputError: code 13, a name is empty or a backtick is unpaired.
    """
    if delimiter is not None:
        return split_identifier(text, delimiter)
    parts = re.findall(r"(?:`((?:[^`]|``)+)`|([^`.]+))(\.|$)", text)
    written = sum(
        len(quoted) + 2 * bool(quoted) + len(bare) + len(dot) for quoted, bare, dot in parts
    )
    if written != len(text) or not parts or parts[-1][2]:
        raise InvalidInputError(
            f"table {text!r} is not an identifier: join names with dots, enclose a name that "
            "contains a dot in backticks, or set the option 'delimiter'"
        )
    return parse_identifier([quoted.replace("``", "`") or bare for quoted, bare, _ in parts])


def split_options(raw_options: Mapping[str, str]) -> tuple[TableOptions, dict[str, str]]:
    """Separate the options of the data source from the properties of the namespace.

    ``path`` is the argument of load() and save(), and names the table. If the option ``table`` is
    set, ``path`` is a property of the namespace.

    Raises:
        InvalidInputError: code 13, no table is named, an option has an invalid value, or a URI
            contains credentials.
    """
    require_unsigned(raw_options)
    if any(key.startswith("option.") for key in raw_options):  # the prefix that CREATE TABLE uses
        raise InvalidInputError(f"{FORMAT}: Spark's catalog does not store such tables: {_INSTEAD}")
    own: dict[str, str] = {}
    properties: dict[str, str] = {}
    for key, value in raw_options.items():
        (own if option_name(TableOptions, key) else properties)[key] = value
    if "table" not in own and "path" in properties:
        own["table"] = properties.pop("path")
    options = read_options(TableOptions, own, FORMAT)
    if not options.table:
        raise InvalidInputError(
            f"{FORMAT}: no table is specified: {_INSTEAD}, or set the option 'table'"
        )
    chosen = [options.version, options.tag, options.timestamp]
    if sum(each is not None for each in chosen) > 1:
        raise InvalidInputError(
            f"{FORMAT}: use only one of the options 'version', 'tag' and 'timestamp'"
        )
    return options, properties


def require_unsigned(raw_options: Mapping[str, str]) -> None:
    """Reject a URI with credentials.

    Raises:
        InvalidInputError: code 13.
    """
    for key, value in raw_options.items():
        if _SIGNED.match(value):
            raise InvalidInputError(
                f"{FORMAT}: the URI in the option {key!r} contains credentials, which Spark "
                "would show in plans and event logs; pass the URI without them, and the "
                "credentials as options that begin with 'storage.'"
            )


def secrets_of(options: Mapping[str, str]) -> frozenset[str]:
    """Return the option values that must not be shown; the options may be invalid."""
    properties = {
        key: value
        for key, value in options.items()
        if key.lower() != "impl" and option_name(TableOptions, key) is None
    }
    impl = options.get("impl", "")
    if not impl:
        with suppress(InvalidInputError):  # connecting to the namespace raises it
            impl, properties = resolved(properties)
    return secrets_among(impl, properties)


class LanceNamespaceDataSource(DataSource):
    """Reads and writes a Lance table through a namespace.

    A DataFrame reads the version that was the latest when it was loaded, regardless of later
    writes.
    """

    _pinned: Pinned | None = None

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def __reduce__(self) -> tuple[Any, ...]:
        state = {"options": self.options, "_pinned": self._pinned}
        return (_source, (type(self), Sealed(state) if self._secrets() else state))

    def schema(self) -> StructType:
        """Look up the table and return its columns.

        Raises:
            InvalidInputError: code 13, an invalid option, property or filter.
            TableNotFoundError: code 4.
            TableVersionNotFoundError: code 11.
            TableColumnNotFoundError: code 12, an unknown column in the option ``columns``.
            InvalidTableStateError: code 19, the table has no data.
            UnsupportedError: code 0, a column has a type that Spark does not have.
        """
        from .read_plan import readable_schema

        with self.coded("reading"):
            self._pinned = self._pin()
            return self._with_feed(self._pinned, readable_schema(self._pinned))

    def open(self, schema: StructType | None) -> tuple[Source, StructType]:
        """Return the version to read and its columns, limited to those of `schema` if it is set.

        Raises:
            LanceNamespaceError: the errors of `schema` and `reader`.
        """
        from .read_plan import readable_schema
        from .scan_plan import Source

        with self.coded("reading"):
            pinned = self._pin()
            if self._options.read_changes:  # only a stream reads them, with `streamReader`
                return Source(pinned, self._options), self._with_feed(
                    pinned, readable_schema(pinned)
                )
            if schema is not None:
                return Source(pinned.of_columns(schema), self._options), schema
            return Source(pinned, self._options), readable_schema(pinned)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of the table, limited to the columns of a user-specified schema.

        Raises:
            TableColumnNotFoundError: code 12, the table has no such column.
            TableSchemaValidationError: code 20, a column has a different type.
        """
        with self.coded("reading"):
            pinned = self._pinned or self._pin()
            self._options.require_batch(pinned.target.name)
            return LanceReader(pinned.of_columns(schema), schema, self._options)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Return a planned write; a missing table is declared in the catalog.

        Raises:
            InvalidInputError: code 13, an invalid option or property.
            NamespaceNotFoundError: code 1.
            TableSchemaValidationError: code 20, the rows do not fit the table.
        """
        from .catalog_table import CHANGES

        write = self._table.write if self._table is not None else None
        # A dynamic overwrite must never replace all rows of a table.
        with self.coded("writing"):
            options = self._options
        is_partitioned = options.partitioned_by is not None or (
            overwrite and options.partition_overwrite_mode is not None
        )
        if write is None and is_partitioned:
            return self._partitions_writer(schema, overwrite)
        if write is None:
            try:
                return self._write_by(LanceWriter, schema, overwrite, starts=True)
            except TableNotFoundError:
                with self.coded("writing"):
                    if partitioned_target(self._target()) is None:
                        raise
                return self._partitions_writer(schema, overwrite)
        if write.kind not in CHANGES:
            return self._write_by(LanceWriter, schema, overwrite, starts=True)
        from .change_writer import LanceChangeWriter, plan_change

        with self.coded("writing"):
            plan = plan_change(write, schema, options.files())
            return LanceChangeWriter(plan, write, overflow=options.overflow == "infinity")

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return a reader of the rows that versions add to the table, or of all changes.

        Raises:
            InvalidInputError: code 13, an invalid option, or one that pins a version.
            TableColumnNotFoundError: code 12, the table has no such column.
        """
        from .stream_reader import ChangeStreamReader, LanceStreamReader

        with self.coded("reading"):
            try:
                pinned = self._pinned or self._pin(stream=True)
            except TableNotFoundError:
                if partitioned_target(self._target()) is None:
                    raise
                raise self._not_streamed("read", "spark.read or read_table") from None
            if self._options.read_changes:
                return ChangeStreamReader(pinned, schema, self._options)
            return LanceStreamReader(pinned.of_columns(schema), schema, self._options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """Return the planned write of a batch.

        In output mode ``complete``, each batch replaces all rows.

        Raises:
            UnsupportedError: code 0, this Spark is older than 4.1.
            InvalidInputError: code 13, an invalid option or property.
            NamespaceNotFoundError: code 1.
            TableSchemaValidationError: code 20, the rows do not fit the table.
        """
        with self.coded("writing"):
            _require_arrow_streams()
            if self._options.partitioned_by is not None:
                raise self._not_streamed("write to", "write_table in foreachBatch")
        from .stream_writer import LanceStreamWriter

        try:
            return self._write_by(LanceStreamWriter, schema, overwrite, starts=False)
        except TableNotFoundError:
            with self.coded("writing"):
                if partitioned_target(self._target()) is None:
                    raise
                raise self._not_streamed("write to", "write_table in foreachBatch") from None

    def _not_streamed(self, doing: str, instead: str) -> UnsupportedError:
        return UnsupportedError(
            f"{format_identifier(self._target().table)}: streams cannot {doing} partitioned "
            f"namespaces; use {instead}"
        )

    def _partitions_writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        from ..distributed.casts import warn_of_losses
        from ..distributed.columns import lance_schema
        from ..distributed.partition_write import plan_partitions
        from ..distributed.target import PartitionedTarget

        with self.coded("writing"):
            options, found = self._options, self._target()
            target = PartitionedTarget(namespace=found.namespace, table=found.table)
            if overwrite and options.partition_overwrite_mode is None:
                raise UnsupportedError(
                    f"{target.name}: set the option partitionOverwriteMode to dynamic, which replaces "
                    "the rows of the partitions that receive rows; all rows cannot be replaced in one "
                    "commit"
                )
            if unsupported := options.changed(_OF_TABLES):
                raise UnsupportedError(
                    f"{target.name}: {unsupported[0]} is not supported for partitioned namespaces; "
                    "omit it"
                )
            rows = lance_schema(schema)
            plan = plan_partitions(
                target,
                lance_schema(schema, options.types),
                "overwrite_partitions" if overwrite else "append",
                options.partitioned_by,
                creates_missing=options.partitioned_by is not None,
            )
            assert plan is not None  # only exist_ok returns None
            warn_of_losses(rows, plan.schema, target.name)
            return PartitionsWriter(plan, overflow=options.overflow == "infinity")

    def _with_feed(self, pinned: Pinned, schema: StructType) -> StructType:
        """Return the Spark schema of a table, with the columns of a change feed if it is read."""
        if not self._options.read_changes:
            return schema
        from ..distributed.columns import to_spark_schema
        from .change_plan import feed_schema

        return to_spark_schema(feed_schema(pinned.schema, pinned.target.name))

    def _write_by(
        self, writer: Callable[..., W], schema: StructType, overwrite: bool, *, starts: bool
    ) -> W:
        with self.coded("writing"):
            plan = self._plan(schema, overwrite, starts=starts)
            return writer(plan, overflow=self._options.overflow == "infinity")

    def _plan(self, schema: StructType, overwrite: bool, *, starts: bool) -> WritePlan:
        from ..distributed.casts import warn_of_losses
        from ..distributed.columns import lance_schema
        from ..distributed.write_plan import plan_write

        options, rows = self._options, lance_schema(schema)
        plan = plan_write(
            self._target(),
            lance_schema(schema, options.types),
            **self._mode(overwrite),
            files=options.files(),
            merge_schema=options.merge_schema,
            starts=starts,
        )
        assert plan is not None  # only EXIST_OK returns None
        warn_of_losses(rows, plan.schema, plan.target.name)
        return plan

    def _mode(self, overwrite: bool) -> dict[str, Any]:
        """Return the arguments of `plan_write` that specify what a write replaces or creates."""
        from ..distributed.write_plan import Mode
        from .catalog_table import WriteKind

        mode = Mode.OVERWRITE if overwrite else Mode.APPEND
        if self._table is None:
            return {"mode": mode, "makes_table": True}
        write = self._table.write
        if write is None or write.kind is WriteKind.INSERT:
            return {"mode": mode, "keeps_schema": True}
        mode = Mode.CREATE if write.kind is WriteKind.CREATE else Mode.OVERWRITE
        return {"mode": mode, "properties": write.properties}

    @property
    def _table(self) -> CatalogTable | None:
        """The table, if a catalog of Spark SQL planned the read or write."""
        from .catalog_table import OPTION, option_of

        found = self.options.get(OPTION)
        return None if found is None else option_of(found)

    @property
    def _options(self) -> TableOptions:
        from .catalog_table import OPTION

        if self._table is None:
            return split_options(self.options)[0]
        raw_options = {key: value for key, value in self.options.items() if key.lower() != OPTION}
        return self._table.with_options(raw_options)

    def coded(self, doing: str) -> AbstractContextManager[None]:
        """Raise failures as protocol errors, without secrets; see `failures.coded`."""
        if self._table is not None:
            target = self._table.target
            return coded(f"{doing} {target.name}", target.namespace.config.secrets())
        what = self.options.get("table") or self.options.get("path")
        return coded(f"{doing} {what}", self._secrets())

    def _secrets(self) -> frozenset[str]:
        if self._table is not None:
            return frozenset(self._table.target.namespace.config.secrets())
        return secrets_of(self.options)

    def _target(self) -> Target:
        from ..distributed.write_plan import Target

        if self._table is not None:
            return self._table.target
        options, properties = split_options(self.options)
        identifier = split_table_name(str(options.table), options.delimiter)
        try:
            target = Target(namespace=connect_config(properties), table=identifier)
            if target.namespace.config.secrets():
                require_key()
            return target
        except InvalidInputError as error:
            if "has no 'impl'" in error.message:
                raise InvalidInputError(
                    f"{error.message}. Spark's catalog does not store the options of a table: "
                    f"{_INSTEAD}"
                ) from error
            if "'path' is required" not in error.message:
                raise
            raise InvalidInputError(
                f"{error.message}. Spark uses the option 'path' for the argument of load() "
                "and save(): write 'root' instead, or name the table with the option 'table'"
            ) from error

    def _pin(self, *, stream: bool = False) -> Pinned:
        from .read_plan import pin, pin_rows

        options = self._options
        return (pin if stream else pin_rows)(
            self._target(),
            columns=options.columns,
            filter=options.filter,
            version=options.version if options.version is not None else options.tag,
            branch=options.branch,
            timestamp=options.timestamp,
            with_row_id=options.with_row_id,
            blobs=options.blobs,
        )


_OF_TABLES = (
    "rows_per_file",
    "bytes_per_file",
    "data_storage_version",
    "stable_row_ids",
    "merge_schema",
)
"""Options of writes that partitioned namespaces do not support."""


def _require_arrow_streams() -> None:
    import pyspark
    import pyspark.sql.datasource as spark

    if not hasattr(spark, "DataSourceStreamArrowWriter"):
        raise UnsupportedError(
            f"Spark {pyspark.__version__} cannot stream Arrow into a Python data source: use Spark "
            "4.1 or later, or write_table in foreachBatch"
        )


def _source(
    cls: type[LanceNamespaceDataSource], state: dict[str, Any] | Sealed[dict[str, Any]]
) -> LanceNamespaceDataSource:
    source = cls.__new__(cls)
    source.__dict__ |= state.value if isinstance(state, Sealed) else state
    return source


class RowsPartition(InputPartition):
    """The part of a table that one task reads.

    Args:
        pieces: parts of the table.
    """

    def __init__(self, pieces: Sequence[Piece]) -> None:
        super().__init__(tuple(pieces))


class LanceReader(DataSourceReader):
    """Reads one version of a table, with a group of fragments per task.

    Batches are read by the JVM's scan (`scan_plan`) if the session has the jar of `pushdown`. This
    reader is for sessions without it. It accepts no filters from Spark (`pushFilters`): Spark keeps
    one planned reader for all queries of a DataFrame and replaces it whenever a query pushes a
    filter, so a query could receive the rows that match another query's filter.

    Args:
        pinned: the version and the columns.
        schema: the columns as a Spark schema.
        options: batch size and number of tasks.
    """

    def __init__(self, pinned: Pinned, schema: StructType, options: TableOptions) -> None:
        from ..distributed.columns import spark_arrow_schema

        self._pinned = pinned
        self._target_schema = spark_arrow_schema(schema)
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """Return the part of the table for each task."""
        from .read_plan import plan_tasks

        with self._coded():
            tasks = plan_tasks(self._pinned, self._options.splits)
            return [RowsPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows of one task on a worker."""
        from .read_plan import read_pieces

        if not isinstance(partition, RowsPartition):
            return  # Spark's own partition for a table without fragments
        with self._coded():
            yield from read_pieces(
                self._pinned, partition.value, self._target_schema, self._options.batch_rows
            )

    def _coded(self) -> AbstractContextManager[None]:
        target = self._pinned.target
        return coded(f"reading {target.name}", target.namespace.config.secrets())


@frozen
class WrittenFragments(WriterCommitMessage):
    """Fragments that one task wrote."""

    fragments: Sequence[Mapping[str, Any]]


class LanceWriter(RowWriter, DataSourceArrowWriter):
    """Writes rows on the workers and adds them to the table in one commit."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenFragments:
        """Write the rows of one task on a worker."""
        with self._coded():
            return WrittenFragments(self._write_rows(iterator))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit the rows of all tasks to the table."""
        from ..distributed.write_plan import commit

        with self._coded():
            commit(self._plan, _fragments(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Roll back the data of the successful tasks; a failed task leaves no data."""
        from ..distributed.write_plan import abort

        with self._coded():
            abort(self._plan, _fragments(messages))


@frozen
class WrittenPartitions(WriterCommitMessage):
    """Files that one task wrote to the partitions of a partitioned namespace."""

    files: Sequence[PartitionFiles]


class PartitionsWriter(DataSourceArrowWriter):
    """Writes rows on the workers to their partitions, and makes them visible in one commit.

    Args:
        plan: plan of the write.
        overflow: as for `RowWriter`.
    """

    def __init__(self, plan: PartitionsPlan, *, overflow: bool = False) -> None:
        self._plan = plan
        self._overflow = overflow

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenPartitions:
        """Write the rows of one task on a worker."""
        from ..distributed.columns import cast_rows
        from ..distributed.partition_write import write_partitions

        with self._coded():
            rows = cast_rows(iterator, self._plan.schema, overflow=self._overflow)
            return WrittenPartitions(write_partitions(self._plan, rows))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Make the rows of all tasks visible."""
        from ..distributed.partition_write import commit_partitions

        files = [
            each
            for message in messages
            if isinstance(message, WrittenPartitions)
            for each in message.files
        ]
        with self._coded():
            commit_partitions(self._plan, files)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Delete the files of all tasks."""
        from ..distributed.partition_write import abort_partitions

        with self._coded():
            abort_partitions(self._plan)

    def _coded(self) -> AbstractContextManager[None]:
        target = self._plan.target
        return coded(f"writing {target.name}", target.namespace.config.secrets())


def _fragments(messages: Sequence[WriterCommitMessage | None]) -> list[Mapping[str, Any]]:
    return [
        fragment
        for message in messages
        if isinstance(message, WrittenFragments)
        for fragment in message.fragments
    ]
