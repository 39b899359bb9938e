"""Imports files into a Lance table of a namespace, as a Spark job or in this process.

The driver lists the files, and workers inspect them in parallel. The driver then derives one schema
and divides the files into tasks. Workers read their parts with Arrow and write Lance data files
directly. The driver commits once. Spark transfers only JSON, no rows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import frozen

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    TableNotFoundError,
)

from ..core.identifiers import to_identifier
from ..core.modes import parse_mode
from ..distributed.failures import failure_result, protocol_error, raise_failure
from ..distributed.runners import Count, Runner, ThreadRunner, is_on_this_machine, spark_runner
from ..distributed.secrets import Sealed
from ..distributed.write_plan import Mode, Target, WritePlan, abort, commit, plan_write, write_rows
from ..registry import open_namespace
from .downloads import Downloading
from .inputs import Inputs, opened
from .readers import FileInfo, Format, Piece, SourceFile
from .readers.folders import read_piece
from .schema import agree, changed_columns, exact_columns
from .tasks import Storage, file_of, info_from_json, info_to_json, piece_of, plain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ..catalog.namespace import Namespace
    from ..partitioned.namespace import PartitionWriteResult

__all__ = [
    "ImportPreview",
    "ImportResult",
    "Progress",
    "import_files",
    "import_into",
    "import_partitioned",
    "preview_files",
    "preview_into",
]

Progress = Callable[[int, int, int], None]
"""Receives the finished tasks, the total number of tasks known so far, and the rows written."""

MIN_TASK_BYTES = 8 << 20
MAX_TASK_BYTES = 128 << 20
FILES_PER_TASK = 256
SMALL_BYTES = 256 << 20
"""Up to this total size, importing in this process is faster than starting Spark first."""


@frozen(kw_only=True)
class ImportResult:
    """Result of an import."""

    table: tuple[str, ...]
    """Identifier of the table."""
    location: str
    """Root of its dataset."""
    version: int
    """Version that holds the rows."""
    rows: int
    """Rows written; 0 if the table already exists and the mode is exist_ok."""
    files: int
    """Files read."""
    fragments: int
    """Fragments written."""
    seconds: float
    """Duration in seconds."""


@frozen(kw_only=True)
class ImportPreview:
    """Preview of an import."""

    table: tuple[str, ...]
    """Identifier of the table."""
    format: str
    """Format of the files."""
    read_with: Mapping[str, str]
    """Settings for reading the files; for CSV the delimiters, the quote and the null texts."""
    files: int
    """Files to be read."""
    bytes: int
    """Total size of the files in bytes."""
    schema: pa.Schema
    """Schema of the imported rows."""


def import_files(
    spark: SparkSession | Callable[[], SparkSession] | None,
    *,
    impl: str,
    properties: Mapping[str, str],
    table: str | Sequence[str],
    sources: Sequence[str],
    format: str | None = None,
    mode: str = "create",
    options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    downloading: Downloading | None = None,
    cores: int | None = None,
    small_bytes: int = SMALL_BYTES,
) -> ImportResult:
    """Import CSV, JSON (one object per line), Parquet, ORC or Avro files, or Delta or Iceberg tables.

    All files become one table with one schema. CSV and JSON files are read completely to derive the
    schema, so that every value fits it. Files are divided among tasks if possible: Parquet between
    row groups, ORC between stripes, Iceberg tables between data files, JSON and CSV between lines.
    Compressed text and CSV with line breaks inside values are not divided. If anything fails, the
    table stays unchanged.

    Args:
        spark: the session, or a callable that starts one, or None. The callable is called only if
            the files are larger than `small_bytes`; otherwise, and with None, threads of this
            process import the files. The resulting table is the same.
        impl: implementation of the namespace, as for `connect`.
        properties: properties of the namespace.
        table: identifier of the table, as ``"db.letters"`` or a list of names.
        sources: files, folders and patterns such as ``data/*.csv``, or tables: the folder of a Delta
            or Iceberg table, or the metadata file of an Iceberg table. Paths and URIs must be readable
            by the workers with the namespace's ``storage.*`` properties. Web files (``https://``,
            ``hf://datasets/...``) are downloaded to this machine; if Spark runs on other machines,
            this process reads them instead.
        format: ``csv``, ``json``, ``parquet``, ``orc``, ``avro``, ``delta`` or ``iceberg``; defaults
            to the format of the table or of the file extensions.
        mode: ``create`` (code 5 if the table exists), ``append`` (code 4 if it does not exist),
            ``overwrite`` (rows and schema, in one commit), ``exist_ok`` (leave an existing table
            unchanged).
        options: options of the format, see `lance_namespace_impls.ingest.readers`: ``types``,
            ``missing``, ``rows_per_file``, ``bytes_per_file``, ``data_storage_version``,
            ``stable_row_ids``, ``merge_schema``, ``task_bytes``; ``storage.*`` for the object store
            of the files; for CSV also ``header``, ``names``, ``delimiter``, ``quote``, ``escape``,
            ``nulls``, ``encoding``.
        progress: called from this thread, several times per second.
        downloading: called from this thread for each downloaded chunk.
        cores: number of threads of this process, if Spark is not used; defaults to all cores.
        small_bytes: Spark is started only if the files have more bytes in total than this.

    Raises:
        InvalidInputError: code 13, an argument is invalid or there are no files to read.
        NamespaceNotFoundError: code 1.
        TableNotFoundError: code 4, the mode is append.
        TableAlreadyExistsError: code 5, the mode is create.
        TableColumnNotFoundError: code 12, the option ``types`` names an unknown column.
        ConcurrentModificationError: code 14, another writer changed the table during the import.
        PermissionDeniedError: code 15, a store or a server denies access to a file.
        UnauthenticatedError: code 16, a store or a server requires other credentials.
        ServiceUnavailableError: code 17, a store or a server is unreachable or sends an incomplete
            file.
        TableSchemaValidationError: code 20, a file does not fit; the message names the file and the
            column.
    """
    with open_namespace(impl, properties) as namespace:
        return import_into(
            _target(namespace, table),
            spark,
            sources=sources,
            format=format,
            mode=mode,
            options=options,
            progress=progress,
            downloading=downloading,
            cores=cores,
            small_bytes=small_bytes,
        )


def import_into(
    target: Target,
    spark: SparkSession | Callable[[], SparkSession] | None,
    *,
    sources: Sequence[str],
    format: str | None = None,
    mode: str = "create",
    options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    downloading: Downloading | None = None,
    cores: int | None = None,
    small_bytes: int = SMALL_BYTES,
    commit_properties: Mapping[str, str] | None = None,
) -> ImportResult:
    """Import files into a table; the remaining arguments are those of `import_files`.

    Args:
        target: the table.
        commit_properties: transaction properties of the commit.

    Raises:
        LanceNamespaceError: the errors of `import_files`.
    """
    started = time.monotonic()
    chosen = parse_mode(mode, Mode.CREATE)
    present = _present(target, chosen)
    if present is not None and chosen is Mode.EXIST_OK:
        return _unchanged_result(target, started)
    storage = target.namespace.config.storage
    with opened(sources, format, options, storage, downloading) as inputs:
        runner = _runner(spark, inputs, cores, small_bytes)
        job = _Import(runner, target, inputs, progress)
        infos, schema = job.agree(inputs.files, present if chosen is Mode.APPEND else None)
        given = inputs.reader.options
        plan = plan_write(
            target, schema, chosen, files=given.files(), merge_schema=given.merge_schema
        )
        if plan is None:
            return _unchanged_result(target, started)
        fragments, version = job.write(plan, infos, commit_properties)
    return ImportResult(
        table=target.table,
        location=plan.location,
        version=version,
        rows=sum(fragment["physical_rows"] for fragment in fragments),
        files=len(inputs.files),
        fragments=len(fragments),
        seconds=time.monotonic() - started,
    )


def import_partitioned(
    namespace: Namespace,
    id: str | Sequence[str],
    *,
    sources: Sequence[str],
    partition_by: Sequence[str],
    format: str | None = None,
    mode: str = "create",
    options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    downloading: Downloading | None = None,
    cores: int | None = None,
) -> PartitionWriteResult:
    """Import files into a partitioned namespace; this process reads them.

    All rows become visible in one commit.

    Args:
        namespace: the catalog.
        id: the partitioned namespace.
        sources: as for `import_files`.
        partition_by: partition fields, as for `Namespace.create_partitioned`; for the mode
            ``append``, those of the current spec.
        format: as for `import_files`.
        mode: ``create`` or ``append``.
        options: options of the format, as for `import_files`.
        progress: called with the finished tasks, their number, and the rows written so far.
        downloading: called for each downloaded chunk.
        cores: number of threads that inspect the files; defaults to all cores.

    Raises:
        LanceNamespaceError: the errors of `import_files` and `Namespace.create_partitioned`.
    """
    chosen = parse_mode(mode, Mode.CREATE)
    if chosen not in (Mode.CREATE, Mode.APPEND):
        raise InvalidInputError(
            f"import: mode {mode!r} is not supported for partitioned namespaces; use create or append"
        )
    target = _target(namespace, to_identifier(id))
    there = namespace.partitioned(id)
    if chosen is Mode.APPEND and not there.is_partitioned_by(partition_by):
        raise InvalidInputError(
            f"import: {target.name} is partitioned by {', '.join(there.partition_by)}, not by "
            f"{', '.join(partition_by)}; pass the existing partition fields"
        )
    storage = namespace.config.storage
    with opened(sources, format, options, storage, downloading) as inputs:
        job = _Import(ThreadRunner(cores), target, inputs, progress)
        table = there if chosen is Mode.APPEND else None
        infos, schema = job.agree(inputs.files, table)
        if chosen is Mode.CREATE:
            there = namespace.create_partitioned(id, schema, partition_by)
        rows = pa.RecordBatchReader.from_batches(schema, job.rows(infos, schema))
        try:
            return there.write(rows)
        except LanceNamespaceError as error:
            raise (job.failure or error) from error


def _target(namespace: Namespace, table: Sequence[str]) -> Target:
    identifier = to_identifier(table)
    if not identifier:
        raise InvalidInputError("import: the identifier of the table is empty")
    return Target(namespace=namespace, table=identifier)


def preview_files(
    *,
    impl: str,
    properties: Mapping[str, str],
    table: str | Sequence[str],
    sources: Sequence[str],
    format: str | None = None,
    mode: str = "create",
    options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    downloading: Downloading | None = None,
    cores: int | None = None,
) -> ImportPreview:
    """Return a preview of an import without changing anything; this process reads the files.

    Arguments and errors are those of `import_files`.
    """
    with open_namespace(impl, properties) as namespace:
        return preview_into(
            _target(namespace, table),
            sources=sources,
            format=format,
            mode=mode,
            options=options,
            progress=progress,
            downloading=downloading,
            cores=cores,
        )


def preview_into(
    target: Target,
    *,
    sources: Sequence[str],
    format: str | None = None,
    mode: str = "create",
    options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    downloading: Downloading | None = None,
    cores: int | None = None,
) -> ImportPreview:
    """Return a preview of `import_into` without changing anything."""
    chosen = parse_mode(mode, Mode.CREATE)
    present = _present(target, chosen)
    storage = target.namespace.config.storage
    with opened(sources, format, options, storage, downloading) as inputs:
        job = _Import(ThreadRunner(cores), target, inputs, progress)
        infos, schema = job.agree(inputs.files, present if chosen is Mode.APPEND else None)
        job.check(infos, schema)
        return ImportPreview(
            table=target.table,
            format=inputs.format,
            read_with=inputs.reader.described(inputs.files),
            files=len(inputs.files),
            bytes=sum(file.size for file in inputs.files),
            schema=schema,
        )


def _runner(
    spark: SparkSession | Callable[[], SparkSession] | None,
    inputs: Inputs,
    cores: int | None,
    small_bytes: int,
) -> Runner:
    """Return the runner of an import: Spark, if there is a session or enough data to start one."""
    if callable(spark):
        small = sum(file.size for file in inputs.files) <= small_bytes
        spark = None if small else spark()
    # Workers on other machines cannot read the downloaded files.
    if spark is None or (inputs.are_here and not is_on_this_machine(spark)):
        return ThreadRunner(cores)
    return spark_runner(spark)


def _unchanged_result(target: Target, started: float) -> ImportResult:
    """Return the result of an import that leaves an existing table unchanged."""
    storage = target.storage()
    return ImportResult(
        table=target.table,
        location=storage.location,
        version=int(target.open(storage).version),
        rows=0,
        files=0,
        fragments=0,
        seconds=time.monotonic() - started,
    )


def _present(target: Target, mode: Mode) -> Any:
    """Open the table's dataset if it exists, and reject early if the mode forbids the import."""
    try:
        storage, has_data = target.locate()
    except TableNotFoundError:
        if mode is Mode.APPEND:
            raise
        return None
    if not has_data:
        return None
    if mode is Mode.CREATE:
        raise target.already_exists()
    return target.open(storage)


def divide(infos: Sequence[FileInfo], max_bytes: int) -> list[list[Piece]]:
    """Divide the files into tasks of about `max_bytes`, in file order."""
    tasks: list[list[Piece]] = []
    room = 0
    for info in infos:
        for piece in info.pieces(max_bytes):
            if not tasks or piece.size > room:
                tasks.append([])
                room = max_bytes
            tasks[-1].append(piece)
            room -= piece.size
    return tasks


class _Import:
    """Runs the jobs of one import.

    Args:
        runner: runs the tasks.
        target: the table.
        inputs: the files and their reader.
        progress: called with the progress.
    """

    def __init__(
        self, runner: Runner, target: Target, inputs: Inputs, progress: Progress | None
    ) -> None:
        self.format = inputs.reader
        self._storage = Sealed(inputs.storage)
        self._runner = runner
        self._target = target
        self._progress = progress
        self._done_before = 0
        self.failure: LanceNamespaceError | None = None
        """The error that ended `rows`, which the reader of the rows may rephrase."""

    def inspect(self, files: Sequence[SourceFile]) -> list[FileInfo]:
        """Inspect all files in parallel, and keep their order.

        Raises:
            TableSchemaValidationError: code 20, a file does not have the expected format.
        """
        cores = self._runner.cores
        groups: list[list[SourceFile]] = []
        room, most = 0, max(1, sum(file.size for file in files) // (cores * 4))
        for file in files:
            if not groups or file.size > room or len(groups[-1]) == FILES_PER_TASK:
                groups.append([])
                room = most
            groups[-1].append(file)
            room -= file.size
        tasks = [json.dumps([plain(file) for file in group]) for group in groups]
        format, storage = self.format, self._storage
        answers = self._run(
            tasks, lambda text, count: _inspect(format, storage, text), expected=len(tasks)
        )
        for answer in answers:
            raise_failure(answer)
        return [info_from_json(info, storage) for answer in answers for info in answer["files"]]

    def agree(self, files: Sequence[SourceFile], table: Any) -> tuple[list[FileInfo], pa.Schema]:
        """Inspect all files; return their descriptions and the common schema for reading them.

        Args:
            files: the files.
            table: dataset that receives the rows, if it exists.
        """
        infos = self.inspect(files)
        appended = None if table is None else table.schema
        return infos, agree(infos, self.format, appended, self._target.name)

    def write(
        self,
        plan: WritePlan,
        infos: Sequence[FileInfo],
        properties: Mapping[str, str] | None = None,
    ) -> tuple[list[Mapping[str, Any]], int]:
        """Write all rows and commit them; return the fragments and the new version.

        Raises:
            ConcurrentModificationError: code 14.
            TableSchemaValidationError: code 20, a value does not fit.
        """
        tasks = divide(infos, self._task_bytes(infos))
        texts = [json.dumps([plain(piece) for piece in task]) for task in tasks]
        format, storage = self.format, self._storage
        exact = exact_columns(infos, format, plan.schema)
        written: list[Mapping[str, Any]] = []
        try:
            answers = self._run(
                texts, lambda text, count: _write(format, storage, plan, exact, text, count)
            )
            written = [fragment for answer in answers for fragment in answer.get("fragments", ())]
            for answer in answers:
                raise_failure(answer)
            return written, commit(plan, written, properties=properties)
        except BaseException as error:
            try:
                abort(plan, written)
            except LanceNamespaceError as second:
                error.add_note(f"The written data could not be rolled back: {second}")
            raise

    def rows(self, infos: Sequence[FileInfo], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Read all files in this process and yield their rows.

        Raises:
            TableSchemaValidationError: code 20, a value does not fit.
        """
        exact = exact_columns(infos, self.format, schema)
        pieces = [piece for task in divide(infos, self._task_bytes(infos)) for piece in task]
        total, count = self._done_before + len(pieces), 0
        try:
            for done, piece in enumerate(pieces):
                for batch in read_piece(self.format, piece, schema, exact):
                    count += batch.num_rows
                    yield batch
                self._report(self._done_before + done + 1, total, count)
        except Exception as error:
            self.failure = protocol_error(error, "reading files")
            raise self.failure from error

    def check(self, infos: Sequence[FileInfo], schema: pa.Schema) -> None:
        """Read the files whose column types change in the table, without writing anything.

        Raises:
            TableSchemaValidationError: code 20, a value does not fit.
        """
        format, storage = self.format, self._storage
        if not changed_columns(infos, format, schema):
            return
        exact = exact_columns(infos, format, schema)
        texts = [
            json.dumps([plain(piece) for piece in task])
            for task in divide(infos, self._task_bytes(infos))
        ]
        for answer in self._run(
            texts, lambda text, count: _read(format, storage, schema, exact, text, count)
        ):
            raise_failure(answer)

    def _task_bytes(self, infos: Sequence[FileInfo]) -> int:
        if self.format.options.task_bytes:
            return int(self.format.options.task_bytes)
        share = -(-sum(info.file.size for info in infos) // self._runner.cores)
        return min(max(share, MIN_TASK_BYTES), MAX_TASK_BYTES)

    def _run(
        self,
        tasks: Sequence[str],
        work: Callable[[str, Count], Mapping[str, Any]],
        *,
        expected: int = 0,
    ) -> list[dict[str, Any]]:
        """Run a job and report its progress.

        Args:
            tasks: one text for each task.
            work: function that a worker calls with the text of a task; its second argument is
                called with the number of rows written.
            expected: number of tasks of later jobs, as far as it is known.
        """
        if not tasks:
            return []
        total = self._done_before + len(tasks) + expected
        answers = self._runner.run(
            f"import into {self._target.name}",
            tasks,
            lambda text, count: json.dumps(work(text, count)),
            lambda done, rows: self._report(self._done_before + done, total, rows),
        )
        self._done_before += len(tasks)
        return [json.loads(answer) for answer in answers]

    def _report(self, done: int, total: int, rows: int) -> None:
        if self._progress is not None:
            self._progress(done, total, rows)


def _inspect(format: Format, storage: Storage, text: str) -> dict[str, Any]:
    """Inspect files on a worker."""
    try:
        infos = [format.inspect(file_of(file, storage)) for file in json.loads(text)]
    except Exception as error:  # noqa: BLE001 it is the result, and the driver raises it
        return failure_result(protocol_error(error, "reading files"))
    return {"files": [info_to_json(info) for info in infos]}


def _read(
    format: Format,
    storage: Storage,
    schema: pa.Schema,
    exact: Sequence[str],
    text: str,
    count: Count,
) -> dict[str, Any]:
    """Read pieces of files on a worker and discard the rows."""
    try:
        for piece in json.loads(text):
            for batch in read_piece(format, piece_of(piece, storage), schema, exact):
                count(batch.num_rows)
    except Exception as error:  # noqa: BLE001 it is the result, and the driver raises it
        return failure_result(protocol_error(error, "reading files"))
    return {}


def _write(
    format: Format,
    storage: Storage,
    plan: WritePlan,
    exact: Sequence[str],
    text: str,
    count: Count,
) -> dict[str, Any]:
    """Read pieces of files on a worker and write their rows."""
    pieces = [piece_of(piece, storage) for piece in json.loads(text)]

    def batches() -> Iterator[pa.RecordBatch]:
        for piece in pieces:
            for batch in read_piece(format, piece, plan.schema, exact):
                count(batch.num_rows)
                yield batch

    try:
        return {"fragments": write_rows(plan, batches())}
    except Exception as error:  # noqa: BLE001 it is the result, and the driver raises it
        return failure_result(plan.target.failure(error, "writing"))
