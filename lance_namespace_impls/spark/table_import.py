"""Imports many tables in one run: from files, Spark tables and queries, and other databases."""

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
"""Transaction property of each commit, by which a run finds the commits of an interrupted run."""


@define(kw_only=True)
class ImportRow:
    """Result of importing a table, or its preview in a dry run."""

    table: tuple[str, ...]
    """Identifier of the table."""
    source: str
    """Source of the rows."""
    version: int | None = None
    """Version with the rows; None if nothing was done."""
    rows: int | None = None
    """Rows written; 0 if the table already exists and the mode is exist_ok."""
    read_with: str | None = None
    """Settings for reading the files: format, separators and the null texts."""
    columns: tuple[str, ...] = ()
    """Columns of the table, each with its type."""
    checked: bool = False
    """Whether the rows and types of the table were verified against the source."""
    problem: str | None = None
    """Reason why the table was not imported, or the result of a failed verification."""
    code: int | None = None
    """Error code of the problem."""


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
    """Import the tables of a mapping, each in one commit, and return a row for each.

    At the end, rows and types are verified against the sources. If a table fails, its row contains
    the problem and the table stays unchanged; the import continues with the others.

    Args:
        namespace: namespace of the tables.
        mapping: a TOML file, its content, or the result of `read_mapping`.
        spark: the session, or a callable that starts one. It is called once, and only if a table
            needs Spark.
        dry_run: whether to only inspect the sources.
        state: file with the progress, so that the same call resumes after a crash; it is deleted
            when the import is complete.
        cores: number of threads of this process, if Spark is not used; defaults to all cores.
        small_bytes: Spark is used only for tables whose files have more bytes in total than this.
        progress: called with the number of finished tables, the total, and the current activity: a
            table with the progress of its files or its download, or its verification at the end.

    Raises:
        InvalidInputError: code 13, the mapping is invalid, or it needs Spark and `spark` is None.
        ConcurrentModificationError: code 14, another process runs the same job with that state
            file.
    """
    sources = mapping if isinstance(mapping, Sequence) else read_mapping(mapping)
    if spark is None and any(source.needs_spark for source in sources):
        raise InvalidInputError(
            "import: reading tables, queries and jdbc requires Spark; pass a session"
        )
    with job_state(
        None if dry_run else state, "import", import_name(namespace, sources)
    ) as state_file:
        if "run" not in state_file.done:
            state_file.add("run", uuid.uuid4().hex)
        reporter = _Reporter(progress, len(sources))
        job = _Job(namespace, spark, state_file.done["run"], cores, small_bytes, reporter)
        rows: list[ImportRow] = []
        for number, source in enumerate(sources):
            reporter.begin(number, source)
            key = "\0".join(("table", *source.table))
            if key in state_file.done:
                rows.append(from_plain(ImportRow, state_file.done[key]))
                continue
            row = job.row(source, job.preview if dry_run else job.import_table)
            rows.append(row)
            _record(state_file, key, row)
        if not dry_run:
            for row, source in zip(rows, sources, strict=True):
                if row.problem is None:
                    reporter.begin(len(sources), source, "check ")
                    job.check(row, source)
        state_file.is_whole = all(row.problem is None for row in rows)
    return Rows(ImportRow, rows)


def _record(state_file: JobState, key: str, row: ImportRow) -> None:
    if row.problem is None:
        state_file.add(key, as_plain(row))


def import_name(namespace: Namespace, sources: Sequence[TableSource]) -> str:
    """Return a name that distinguishes an import from others."""
    tables = [(format_identifier(source.table), source.shown(), source.mode) for source in sources]
    return f"{namespace.namespace_id()} {tables}"


class _Reporter:
    """Reports the progress of an import.

    Args:
        progress: function to call, or None.
        total: total number of tables.
    """

    def __init__(self, progress: Callable[[int, int, str], None] | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0
        self._name = ""

    def begin(self, done: int, source: TableSource, what: str = "") -> None:
        """Report the start of a table."""
        self._done, self._name = done, what + format_identifier(source.table)
        self._report("")

    def rows(self, done: int, total: int, rows: int) -> None:
        """Report the number of rows written to the table, unless it is 0."""
        if rows:
            self._report(f": {rows:,} rows")

    def inspected(self, done: int, total: int, rows: int) -> None:
        """Report the number of inspected files of the table."""
        self._report(f": {done:,} of {total:,} files inspected")

    def download(self, file: str, done: int, total: int | None) -> None:
        """Report the progress of a download for the table."""
        size = "" if total is None else f" of {total >> 20:,}"
        self._report(f": download {file}, {done >> 20:,}{size} MiB")

    def _report(self, progress: str) -> None:
        """Report the progress of the table."""
        if self._progress is not None:
            self._progress(self._done, self._total, self._name + progress)


class _Job:
    """The steps for each table of an import.

    Args:
        namespace: namespace of the tables.
        spark: the session, or a callable that starts one.
        run: id of the run, which a resumed run keeps.
        cores: number of threads of this process.
        small_bytes: Spark is used only if a table's files have more bytes in total than this.
        reporter: receives the progress of each table.
    """

    def __init__(
        self,
        namespace: Namespace,
        spark: SparkSession | Callable[[], SparkSession] | None,
        run: str,
        cores: int | None,
        small_bytes: int,
        reporter: _Reporter,
    ) -> None:
        self._reporter = reporter
        self._namespace = namespace
        self._spark = spark
        self._run = run
        self._cores = cores
        self._small_bytes = small_bytes

    def row(self, source: TableSource, work: Callable[[TableSource, ImportRow], None]) -> ImportRow:
        """Run a step for a table and return its row, which contains the problem if the step fails."""
        row = ImportRow(table=source.table, source=source.shown())
        try:
            with decoded():
                work(source, row)
        except Exception as error:  # noqa: BLE001 the row reports it
            secrets = {*self._namespace.config.secrets(), *_secrets(source)}
            failure = protocol_error(error, f"importing {row.source}", secrets)
            row.problem, row.code = failure.message, int(failure.code)
        return row

    def preview(self, source: TableSource, row: ImportRow) -> None:
        """Preview the import of a table."""
        if source.files:
            found = preview_into(
                self._target(source),
                **self._arguments(source),
                cores=self._cores,
                progress=self._reporter.inspected,
            )
            how = {"format": found.format, **found.read_with}
            row.read_with = ", ".join(f"{name} {value}" for name, value in how.items())
            schema = found.schema
        else:
            from ..distributed.columns import lance_schema

            schema = lance_schema(self._frame(source).schema, source.types)
        row.columns = _columns(schema)

    def import_table(self, source: TableSource, row: ImportRow) -> None:
        """Import a table, unless a previous run has imported it."""
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
                progress=self._reporter.rows,
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
        """Compare a table with its source; a difference becomes the row's problem."""
        target = self._target(source)
        try:
            storage = target.storage()
            dataset = target.open(storage, row.version)
            row.columns = _columns(dataset.schema)
            if not row.rows and source.mode.lower() == "exist_ok":
                return  # the table already existed
            before = 0
            if source.mode.lower() == "append" and row.version and row.version > 1:
                before = target.open(storage, row.version - 1).count_rows()
            added = dataset.count_rows() - before
            with decoded():
                expected = self._rows_of(source)
            if added != row.rows or (expected is not None and expected != added):
                raise InternalError(
                    f"{target.name} has {added:,} rows from the import, which wrote "
                    f"{row.rows:,}; the source has {(added if expected is None else expected):,}"
                )
            self._check_types(dataset.schema, source, target)
            row.checked = True
        except Exception as error:  # noqa: BLE001 the row reports it
            failure = target.failure(error, "checking")
            row.problem, row.code = failure.message, int(failure.code)

    def _check_types(self, schema: pa.Schema, source: TableSource, target: Target) -> None:
        from ..distributed.columns import check_compatible, lance_schema

        if source.files:
            return  # reading already rejects values that do not fit the schema
        check_compatible(
            lance_schema(self._frame(source).schema, source.types), schema, target.name
        )

    def _rows_of(self, source: TableSource) -> int | None:
        """Return the number of rows in the source; None if counting would read all the data."""
        if not source.files:
            return int(self._frame(source).count())
        from ..ingest.downloads import is_web
        from ..ingest.readers import find_files
        from ..ingest.readers.parquet import rows_of

        if any(map(is_web, source.files)):
            return None  # the web files may have changed since the download
        format, files = find_files(source.files, source.format, self._namespace.config.storage)
        return sum(map(rows_of, files)) if format == "parquet" else None

    def _was_committed(self, target: Target, row: ImportRow) -> bool:
        """Return whether an interrupted run had committed the table, and if so fill in its row."""
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
            "downloading": self._reporter.download,
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
        assert self._spark is not None  # checked before
        return self._spark


def _columns(schema: pa.Schema) -> tuple[str, ...]:
    return tuple(f"{name}: {kind}" for name, kind in column_types(schema).items())


def _secrets(source: TableSource) -> set[str]:
    return {value for key, value in source.jdbc.items() if key.lower() == "password"}
