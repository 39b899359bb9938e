"""Imports files into a Lance table of a namespace, as a Spark job or in this process.

The driver finds the files; workers look at them, each at its own; the driver agrees on one schema
and divides the files into tasks; workers read their parts with Arrow and write Lance themselves;
the driver commits once. Only JSON goes through Spark.
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

from ..core.identifiers import parse_identifier
from ..core.modes import parse_mode
from ..distributed.failures import failure_answer, protocol_error, raise_failure
from ..distributed.runners import Count, Runner, ThreadRunner, is_on_this_machine, spark_runner
from ..distributed.secrets import Sealed
from ..distributed.write_plan import Mode, Target, WritePlan, abort, commit, plan_write, write_rows
from ..registry import open_namespace
from .downloads import Downloading
from .inputs import Inputs, opened
from .readers import FileInfo, Format, Piece, SourceFile
from .schema import agree, changed_columns, exact_columns
from .tasks import Storage, file_of, info_from_json, info_to_json, piece_of, plain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ..catalog.namespace import Namespace

__all__ = [
    "ImportPreview",
    "ImportResult",
    "Progress",
    "import_files",
    "import_into",
    "preview_files",
    "preview_into",
]

Progress = Callable[[int, int, int], None]
"""Called with the tasks done, the tasks in all (as far as known) and the rows written so far."""

MIN_TASK_BYTES = 8 << 20
MAX_TASK_BYTES = 128 << 20
FILES_PER_TASK = 256
SMALL_BYTES = 256 << 20
"""Files of so many bytes together are imported sooner by this process than by a Spark to be started."""


@frozen(kw_only=True)
class ImportResult:
    """What an import did."""

    table: tuple[str, ...]
    """Identifier of the table."""
    location: str
    """Root of its dataset."""
    version: int
    """Version that holds the rows."""
    rows: int
    """Rows written; 0 where the table was there and the mode is exist_ok."""
    files: int
    """Files read."""
    fragments: int
    """Fragments written."""
    seconds: float
    """How long it took."""


@frozen(kw_only=True)
class ImportPreview:
    """What an import would do."""

    table: tuple[str, ...]
    """Identifier of the table."""
    format: str
    """Format of the files."""
    read_with: Mapping[str, str]
    """How they are read: for CSV the delimiters, the quote and the texts that stand for null."""
    files: int
    """Files to be read."""
    bytes: int
    """Their size together."""
    schema: pa.Schema
    """Columns that the rows would have."""


def import_files(
    spark: SparkSession | Callable[[], SparkSession] | None,
    *,
    impl: str,
    properties: Mapping[str, str],
    table: Sequence[str],
    sources: Sequence[str],
    format: str | None = None,
    mode: str = "create",
    options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    downloading: Downloading | None = None,
    cores: int | None = None,
    small_bytes: int = SMALL_BYTES,
) -> ImportResult:
    """Import CSV, JSON (an object a line) or Parquet files into a Lance table of a namespace.

    All files become one table with one schema. For CSV and JSON all of every file is read to find
    it, so that no value surprises later. Files are divided among tasks where that is possible:
    Parquet between row groups, JSON and CSV between lines, other than CSV with line breaks inside
    of values and compressed text. Where anything fails, the table stays as it was.

    Args:
        spark: the session; or what starts it, which is called once it is known that there is more
            to import than `small_bytes`, and less is imported by threads of this process; or None,
            and all is. The table is the same.
        impl: implementation of the namespace, as for `connect`.
        properties: its properties.
        table: identifier of the table, a list of levels.
        sources: files, folders and patterns such as ``data/*.csv``; paths or URIs that workers
            can read too, with the namespace's ``storage.*`` properties, or the addresses of files
            on the web (``https://``, ``hf://datasets/...``), which are downloaded to this machine:
            a Spark that runs on others does not read them, this process does.
        format: ``csv``, ``json`` or ``parquet``; by the files' endings unless given.
        mode: ``create`` (code 5 where the table is there), ``append`` (code 4 where it is not),
            ``overwrite`` (rows and schema, in one commit), ``exist_ok`` (leave a table that is
            there as it is).
        options: of the format, see `lance_namespace_impls.ingest.readers`: ``types``, ``missing``,
            ``rows_per_file``, ``task_bytes``; ``storage.*`` of the files' own store; for CSV also
            ``header``, ``names``, ``delimiter``, ``quote``, ``escape``, ``nulls``, ``encoding``.
        progress: called from this thread, several times a second.
        downloading: called from this thread for each part that was downloaded.
        cores: threads of this process, where Spark is not used; all cores unless given.
        small_bytes: size of the files together up to which Spark is not started.

    Raises:
        InvalidInputError: code 13, an argument cannot be understood or there is nothing to read.
        NamespaceNotFoundError: code 1.
        TableNotFoundError: code 4, the mode is append.
        TableAlreadyExistsError: code 5, the mode is create.
        TableColumnNotFoundError: code 12, the option ``types`` names a column that is not there.
        ConcurrentModificationError: code 14, someone else changed the table meanwhile.
        PermissionDeniedError: code 15, a store or a server refuses a file.
        UnauthenticatedError: code 16, it wants credentials, or others.
        ServiceUnavailableError: code 17, it cannot be reached, or sends half a file.
        TableSchemaValidationError: code 20, a file does not fit; the message names file and
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
    """Import files into a table, as `import_files` does; other arguments are as there.

    Args:
        target: the table.
        commit_properties: properties of the transaction of the commit.

    Raises:
        LanceNamespaceError: as in `import_files`.
    """
    started = time.monotonic()
    chosen = parse_mode(mode, Mode.CREATE)
    present = _present(target, chosen)
    if present is not None and chosen is Mode.EXIST_OK:
        return _kept(target, started)
    storage = target.namespace.config.storage
    with opened(sources, format, options, storage, downloading) as inputs:
        runner = _runner(spark, inputs, cores, small_bytes)
        job = _Import(runner, target, inputs, progress)
        infos, schema = job.agree(inputs.files, present if chosen is Mode.APPEND else None)
        plan = plan_write(target, schema, chosen, rows_per_file=inputs.reader.options.rows_per_file)
        if plan is None:
            return _kept(target, started)
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


def _target(namespace: Namespace, table: Sequence[str]) -> Target:
    identifier = parse_identifier(table)
    if not identifier:
        raise InvalidInputError("import: the identifier of the table is empty")
    return Target(namespace=namespace, table=identifier)


def preview_files(
    *,
    impl: str,
    properties: Mapping[str, str],
    table: Sequence[str],
    sources: Sequence[str],
    format: str | None = None,
    mode: str = "create",
    options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    downloading: Downloading | None = None,
    cores: int | None = None,
) -> ImportPreview:
    """Return what an import would do, and change nothing; the files are read in this process.

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
    """Return what `import_into` would do, and change nothing."""
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
    """Return what imports files: Spark where it is given or worth its start."""
    if callable(spark):
        small = sum(file.size for file in inputs.files) <= small_bytes
        spark = None if small else spark()
    # Files that were downloaded are not there for workers on other machines.
    if spark is None or (inputs.are_here and not is_on_this_machine(spark)):
        return ThreadRunner(cores)
    return spark_runner(spark)


def _kept(target: Target, started: float) -> ImportResult:
    """Return the result of an import that found the table there and left it as it is."""
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
    """Open the table's dataset where there is one, and refuse at once what the mode forbids."""
    try:
        storage, has_data = target.locate()
    except TableNotFoundError:
        if mode is Mode.APPEND:
            raise
        return None
    if not has_data:
        return None
    if mode is Mode.CREATE:
        raise target.is_there()
    return target.open(storage)


def divide(infos: Sequence[FileInfo], max_bytes: int) -> list[list[Piece]]:
    """Divide the files into tasks of about `max_bytes`, in the order of the files."""
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
    """The jobs of one import.

    Args:
        runner: what runs their tasks.
        target: the table.
        inputs: the files, and how they are read.
        progress: told how far it is.
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

    def inspect(self, files: Sequence[SourceFile]) -> list[FileInfo]:
        """Inspect all files, several at once, and keep their order.

        Raises:
            TableSchemaValidationError: code 20, a file is not of the format.
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
        """Inspect all files, and return what is in them and the one schema to read them in.

        Args:
            files: the files.
            table: dataset that the rows are added to, if there is one.
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
                error.add_note(f"What was written could not be rolled back: {second}")
            raise

    def check(self, infos: Sequence[FileInfo], schema: pa.Schema) -> None:
        """Read the files whose columns have other types than were found, and write nothing.

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
        """Run a job and report how far it is.

        Args:
            tasks: one text for each task.
            work: what a worker does with it; the second argument takes rows that it has written.
            expected: tasks of the jobs after this one, as far as is known.
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
    """Inspect files, on a worker."""
    try:
        infos = [format.inspect(file_of(file, storage)) for file in json.loads(text)]
    except Exception as error:  # noqa: BLE001 it is the answer, and raised by the driver
        return failure_answer(protocol_error(error, "reading files"))
    return {"files": [info_to_json(info) for info in infos]}


def _read(
    format: Format,
    storage: Storage,
    schema: pa.Schema,
    exact: Sequence[str],
    text: str,
    count: Count,
) -> dict[str, Any]:
    """Read pieces of files and drop the rows, on a worker."""
    try:
        for piece in json.loads(text):
            for batch in format.read(piece_of(piece, storage), schema, exact):
                count(batch.num_rows)
    except Exception as error:  # noqa: BLE001 it is the answer, and raised by the driver
        return failure_answer(protocol_error(error, "reading files"))
    return {}


def _write(
    format: Format,
    storage: Storage,
    plan: WritePlan,
    exact: Sequence[str],
    text: str,
    count: Count,
) -> dict[str, Any]:
    """Read pieces of files and write their rows, on a worker."""
    pieces = [piece_of(piece, storage) for piece in json.loads(text)]

    def batches() -> Iterator[pa.RecordBatch]:
        for piece in pieces:
            for batch in format.read(piece, plan.schema, exact):
                count(batch.num_rows)
                yield batch

    try:
        return {"fragments": write_rows(plan, batches())}
    except Exception as error:  # noqa: BLE001 it is the answer, and raised by the driver
        return failure_answer(plan.target.failure(error, "writing"))
