"""Many tables in one run: files, tables and queries of Spark, and other databases."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import define

from lance_namespace_client.errors import (
    InternalError,
    InvalidInputError,
    TableNotFoundError,
)

from ..core.identifiers import format_identifier
from ..distributed.failures import decoded, protocol_error
from ..distributed.markers import marked
from ..distributed.target import Target
from ..ingest.file_import import SMALL_BYTES, import_into, preview_into
from ..maintenance.results import Rows, as_plain, from_plain
from ..maintenance.state import job_state
from ..tables.schema import column_types
from .dataframe_writer import write_table
from .import_mapping import TableSource, read_mapping

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ..catalog.namespace import Namespace
    from ..maintenance.state import JobState

__all__ = ["ImportRow", "import_name", "import_tables"]

MARK = "lance_namespace.import"
"""Property of the transaction of each commit, by which a run finds what the one before it did."""


@define(kw_only=True)
class ImportRow:
    """What became of a table of an import, or would."""

    table: tuple[str, ...]
    """Identifier of the table."""
    source: str
    """Where its rows are from."""
    version: int | None = None
    """Version that holds them; None where nothing was done."""
    rows: int | None = None
    """Rows that were written; 0 where the table was there and the mode is exist_ok."""
    read_with: str | None = None
    """How files are read: format, separators and the texts that stand for null."""
    columns: tuple[str, ...] = ()
    """Columns of the table, each with its type."""
    checked: bool = False
    """Whether the table has the rows and types that the source has."""
    problem: str | None = None
    """Why it was not imported, or what the check found."""
    code: int | None = None
    """Error code of that."""


def import_tables(
    namespace: Namespace,
    mapping: Path | Mapping[str, Any] | Sequence[TableSource],
    *,
    spark: SparkSession | Callable[[], SparkSession] | None = None,
    dry_run: bool = False,
    state: Path | None = None,
    cores: int | None = None,
    small_bytes: int = SMALL_BYTES,
    progress: Callable[[int, int, str], None] | None = None,
) -> Rows[ImportRow]:
    """Import the tables of a mapping, each in one commit, and return what became of each.

    Rows and types are checked at the end, against the sources. A table that fails has a row that
    says why and is as it was; the others go on.

    Args:
        namespace: what has the tables, or is to have them.
        mapping: a TOML file, what is in one, or what `read_mapping` made of it.
        spark: the session, or what starts it: once, and if a table needs it.
        dry_run: whether to look at the sources alone.
        state: a file that keeps what is done until all is, so that the same call goes on after a
            crash.
        cores: threads of this process, where Spark is not used; all cores unless given.
        small_bytes: size of a table's files up to which Spark is not used for them.
        progress: called with the tables done, the tables in all, and what is being done: a table,
            with how far its files or its download are, and its check at the end.

    Raises:
        InvalidInputError: code 13, the mapping is wrong, or needs Spark and `spark` is None.
        ConcurrentModificationError: code 14, the same job is running with that state file.
    """
    sources = mapping if isinstance(mapping, Sequence) else read_mapping(mapping)
    if spark is None and any(source.needs_spark for source in sources):
        raise InvalidInputError(
            "import: tables, queries and jdbc are read by Spark: give a session"
        )
    with job_state(None if dry_run else state, "import", import_name(namespace, sources)) as kept:
        if "run" not in kept.done:
            kept.add("run", uuid.uuid4().hex)
        told = _Told(progress, len(sources))
        job = _Job(namespace, spark, kept.done["run"], cores, small_bytes, told)
        rows: list[ImportRow] = []
        for number, source in enumerate(sources):
            told.begin(number, source)
            key = "\0".join(("table", *source.table))
            if key in kept.done:
                rows.append(from_plain(ImportRow, kept.done[key]))
                continue
            row = job.row(source, job.look if dry_run else job.bring)
            rows.append(row)
            _keep(kept, key, row)
        if not dry_run:
            for row, source in zip(rows, sources, strict=True):
                if row.problem is None:
                    told.begin(len(sources), source, "check ")
                    job.check(row, source)
        kept.is_whole = all(row.problem is None for row in rows)
    return Rows(ImportRow, rows)


def _keep(kept: JobState, key: str, row: ImportRow) -> None:
    if row.problem is None:
        kept.add(key, as_plain(row))


def import_name(namespace: Namespace, sources: Sequence[TableSource]) -> str:
    """Return what tells an import from others."""
    tables = [(format_identifier(source.table), source.shown(), source.mode) for source in sources]
    return f"{namespace.namespace_id()} {tables}"


class _Told:
    """Reports how far an import is.

    Args:
        progress: what is called, or None.
        total: tables in all.
    """

    def __init__(self, progress: Callable[[int, int, str], None] | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0
        self._name = ""

    def begin(self, done: int, source: TableSource, what: str = "") -> None:
        """Report that a table is begun with."""
        self._done, self._name = done, what + format_identifier(source.table)
        self.tell("")

    def rows(self, done: int, total: int, rows: int) -> None:
        """Report how many rows of the table are written, once there are."""
        if rows:
            self.tell(f": {rows:,} rows")

    def inspected(self, done: int, total: int, rows: int) -> None:
        """Report how many files of the table were looked at."""
        self.tell(f": {done:,} of {total:,} files inspected")

    def download(self, file: str, done: int, total: int | None) -> None:
        """Report how far the download of a file of the table is."""
        size = "" if total is None else f" of {total >> 20:,}"
        self.tell(f": download {file}, {done >> 20:,}{size} MiB")

    def tell(self, how_far: str) -> None:
        """Report how far the table is."""
        if self._progress is not None:
            self._progress(self._done, self._total, self._name + how_far)


class _Job:
    """What is done with each table.

    Args:
        namespace: what has the tables.
        spark: the session, or what starts it.
        run: name of the run, which a run that goes on has too.
        cores: threads of this process.
        small_bytes: size of files up to which Spark is not used.
        told: what is told how far a table is.
    """

    def __init__(
        self,
        namespace: Namespace,
        spark: SparkSession | Callable[[], SparkSession] | None,
        run: str,
        cores: int | None,
        small_bytes: int,
        told: _Told,
    ) -> None:
        self._told = told
        self._namespace = namespace
        self._spark = spark
        self._run = run
        self._cores = cores
        self._small_bytes = small_bytes

    def row(self, source: TableSource, work: Callable[[TableSource, ImportRow], None]) -> ImportRow:
        """Do something with a table and return its row, which says if that failed."""
        row = ImportRow(table=source.table, source=source.shown())
        try:
            with decoded():
                work(source, row)
        except Exception as error:  # noqa: BLE001 it is what the row says
            secrets = {*self._namespace.config.secrets(), *_secrets(source)}
            failure = protocol_error(error, f"importing {row.source}", secrets)
            row.problem, row.code = failure.message, int(failure.code)
        return row

    def look(self, source: TableSource, row: ImportRow) -> None:
        """Find out what an import would do."""
        if source.files:
            found = preview_into(
                self._target(source),
                **self._arguments(source),
                cores=self._cores,
                progress=self._told.inspected,
            )
            how = {"format": found.format, **found.read_with}
            row.read_with = ", ".join(f"{name} {value}" for name, value in how.items())
            schema = found.schema
        else:
            from ..distributed.columns import lance_schema

            schema = lance_schema(self._frame(source).schema, source.types)
        row.columns = _columns(schema)

    def bring(self, source: TableSource, row: ImportRow) -> None:
        """Import a table, unless a run before has."""
        target = self._target(source)
        if self._was_committed(target, row):
            return
        properties = {MARK: self._run}
        if source.files:
            done = import_into(
                target,
                self._session if callable(self._spark) else self._spark,
                **self._arguments(source),
                cores=self._cores,
                small_bytes=self._small_bytes,
                commit_properties=properties,
                progress=self._told.rows,
            )
            row.version, row.rows = done.version, done.rows
        else:
            written = write_table(
                self._frame(source),
                self._namespace,
                list(source.table),
                source.mode,
                types=source.types,
                commit_properties=properties,
            )
            row.version, row.rows = written.version, written.rows

    def check(self, row: ImportRow, source: TableSource) -> None:
        """Compare a table with its source; a difference is the row's problem."""
        target = self._target(source)
        try:
            storage = target.storage()
            dataset = target.open(storage, row.version)
            row.columns = _columns(dataset.schema)
            if not row.rows and source.mode.lower() == "exist_ok":
                return  # it was there
            before = 0
            if source.mode.lower() == "append" and row.version and row.version > 1:
                before = target.open(storage, row.version - 1).count_rows()
            there = dataset.count_rows() - before
            with decoded():
                wanted = self._rows_of(source)
            if there != row.rows or (wanted is not None and wanted != there):
                raise InternalError(
                    f"{target.name} has {there:,} rows of the import, which wrote {row.rows:,}, and "
                    f"the source has {there if wanted is None else wanted:,}"
                )
            self._check_types(dataset.schema, source, target)
            row.checked = True
        except Exception as error:  # noqa: BLE001 it is what the row says
            failure = target.failure(error, "checking")
            row.problem, row.code = failure.message, int(failure.code)

    def _check_types(self, schema: pa.Schema, source: TableSource, target: Target) -> None:
        from ..distributed.columns import check_fits, lance_schema

        if source.files:
            return  # values that do not fit the one schema are refused where they are read
        check_fits(lance_schema(self._frame(source).schema, source.types), schema, target.name)

    def _rows_of(self, source: TableSource) -> int | None:
        """Return the rows that the source has now; None where only reading it all would tell."""
        if not source.files:
            return int(self._frame(source).count())
        from ..ingest.downloads import is_web
        from ..ingest.readers import find_files
        from ..ingest.readers.parquet import rows_of

        if any(map(is_web, source.files)):
            return None  # its rows are those that were downloaded, and may be others by now
        format, files = find_files(source.files, source.format, self._namespace.config.storage)
        return sum(map(rows_of, files)) if format == "parquet" else None

    def _was_committed(self, target: Target, row: ImportRow) -> bool:
        """Return whether a run that was cut short had committed the table, and note it."""
        try:
            storage, has_data = target.locate()
        except TableNotFoundError:
            return False
        if not has_data:
            return False
        dataset = target.open(storage)
        for version, _ in marked(dataset, MARK, self._run):
            rows = target.open(storage, version).count_rows()
            before = 0
            operation = type(dataset.read_transaction(version).operation).__name__
            if operation == "Append":
                before = target.open(storage, version - 1).count_rows()
            row.version, row.rows = version, rows - before
            return True
        return False

    def _target(self, source: TableSource) -> Target:
        return Target(namespace=self._namespace, table=source.table)

    def _arguments(self, source: TableSource) -> dict[str, Any]:
        types = {"types": source.types} if source.types else {}
        return {
            "sources": list(source.files),
            "format": source.format,
            "mode": source.mode,
            "options": {**source.options, **types},
            "downloading": self._told.download,
        }

    def _frame(self, source: TableSource) -> DataFrame:
        spark = self._session()
        if source.spark_table:
            return spark.table(source.spark_table)
        if source.query:
            return spark.sql(source.query)
        return spark.read.format("jdbc").options(**source.jdbc_options()).load()

    def _session(self) -> SparkSession:
        if callable(self._spark):
            self._spark = self._spark()
        assert self._spark is not None  # looked at before
        return self._spark


def _columns(schema: pa.Schema) -> tuple[str, ...]:
    return tuple(f"{name}: {kind}" for name, kind in column_types(schema).items())


def _secrets(source: TableSource) -> set[str]:
    return {value for key, value in source.jdbc.items() if key.lower() == "password"}
