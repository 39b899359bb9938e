"""Writes a table from several processes as one change.

The driver plans the write (`plan_write`), and each worker writes rows (`write_rows`). The driver
then either adds all rows to the table in one commit (`commit`) or deletes their files (`abort`).
The processes exchange only strings.
"""

from __future__ import annotations

import json
import uuid
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any

import pyarrow as pa
from attrs import frozen

from lance_namespace_client.arrow import RowStream
from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    TableAlreadyExistsError,
    TableNotFoundError,
    TableSchemaValidationError,
)

from ..core.imports import load
from ..core.storage import TableStorage
from ..tables.align import ROWS_PER_FILE
from ..tables.dataset import exists
from ..tables.errors import may_be_committed
from ..tables.schema import check_columns
from ..tables.write import commit_onto, delete_data_files, is_overtaken
from .attempts import Attempt, Attempts
from .columns import check_compatible
from .options import require_positive
from .target import Target, partitioned_target

__all__ = [
    "FORMAT_VERSIONS",
    "FileOptions",
    "Fragments",
    "Mode",
    "Target",
    "WritePlan",
    "abort",
    "attempt_at",
    "commit",
    "delete_rest",
    "missing_columns",
    "plan_write",
    "require_open",
    "start",
    "write_rows",
]

COMMIT_RETRIES = 20

Fragments = Sequence[Mapping[str, Any]]
"""New fragments of a dataset, each in pylance's JSON form."""


class Mode(Enum):
    """How a write handles an existing or missing table."""

    CREATE = "Create"
    """Create the table; code 5 if it exists."""
    EXIST_OK = "ExistOk"
    """Create the table; leave an existing table unchanged."""
    APPEND = "Append"
    """Add rows; code 4 if the table does not exist."""
    OVERWRITE = "Overwrite"
    """Replace rows and schema in one commit; create the table if it does not exist."""


FORMAT_VERSIONS = ("2.0", "2.1", "2.2", "stable")
"""Versions of Lance's file format for new tables; ``stable`` is pylance's default."""


@frozen(kw_only=True)
class FileOptions:
    """How a write stores rows.

    Attributes:
        rows: maximum number of rows in one data file.
        bytes: approximate maximum size of one data file; defaults to pylance's 90 GiB.
        data_storage_version: version of the file format of a new table; it must match that of
            an existing table.
        stable_row_ids: whether rows of a new table keep their ids when they are updated or
            compacted, as change feeds require. An existing table must have the same setting.
            Defaults to false.
    """

    rows: int = ROWS_PER_FILE
    bytes: int | None = None
    data_storage_version: str | None = None
    stable_row_ids: bool | None = None

    def check(self) -> None:
        """Reject invalid values (code 13)."""
        require_positive(rows_per_file=self.rows, bytes_per_file=self.bytes)
        if self.data_storage_version not in (None, *FORMAT_VERSIONS):
            raise InvalidInputError(
                f"data_storage_version must be one of {', '.join(FORMAT_VERSIONS)}, not "
                f"{self.data_storage_version!r}"
            )

    def check_table(self, dataset: Any, what: str) -> None:
        """Reject options that contradict an existing table (code 13)."""
        version = self.data_storage_version
        if version not in (None, "stable", dataset.data_storage_version):
            raise InvalidInputError(
                f"{what} has the data storage version {dataset.data_storage_version}, not "
                f"{version}: omit data_storage_version, or drop the table and create it again"
            )
        if self.stable_row_ids not in (None, dataset.has_stable_row_ids):
            has = "has" if dataset.has_stable_row_ids else "does not have"
            raise InvalidInputError(
                f"{what} {has} stable row ids: omit stable_row_ids, or drop the table and create it "
                "again"
            )


@frozen(kw_only=True)
class WritePlan:
    """The plan of a write."""

    target: Target
    location: str
    read_version: int
    """Version on which the write is based; 0 if there is no dataset yet."""
    appends: bool
    """Whether rows are added to an existing dataset."""
    adds: bool
    """Whether the rows are added even if other writers have added rows before the commit."""
    declared: bool
    """Whether this write declared the table in the catalog."""
    schema: pa.Schema
    """The schema with which the rows are written."""
    files: FileOptions = FileOptions()
    added_columns: tuple[str, ...] = ()
    """Columns that this write added to the table before writing rows."""
    job: str
    """Unique name of this write."""


def plan_write(
    target: Target,
    schema: pa.Schema,
    mode: Mode,
    *,
    makes_table: bool = False,
    keeps_schema: bool = False,
    files: FileOptions = FileOptions(),
    merge_schema: bool = False,
    properties: Mapping[str, str] | None = None,
    starts: bool = True,
    writes_rows: bool = True,
    job: str | None = None,
) -> WritePlan | None:
    """Look up the table, declare it in the catalog if it is new, and return the plan of the write.

    Args:
        target: the table.
        schema: schema of the rows; rows that are added to a table are cast to the table's schema.
        mode: how to handle an existing table.
        makes_table: whether APPEND creates a missing table.
        keeps_schema: whether OVERWRITE replaces only the rows; the table must exist (code 4).
        files: how to store the rows.
        merge_schema: whether columns that an existing table lacks are added to it as nullable
            columns, in a commit before that of the rows; `abort` drops them again.
        properties: properties for the declaration of a new table.
        starts: whether the write starts immediately; otherwise, `start` starts it.
        writes_rows: whether whole rows of this schema are written. This is false when rows are
            deleted or columns are added, which therefore also work for a table with a column that
            Lance cannot write.
        job: unique name of the write, 32 hexadecimal digits; defaults to a random one.

    Returns:
        the plan, or None if the mode is EXIST_OK and the table has data.

    Raises:
        NamespaceNotFoundError: code 1.
        TableNotFoundError: code 4, the write does not create the table, or there is a partitioned
            namespace with this identifier, see `partition_write`.
        TableAlreadyExistsError: code 5, the mode is CREATE.
        InvalidInputError: code 13, an option of `files` is invalid or contradicts the table.
        ConcurrentModificationError: code 14, another writer changed the table while columns were
            added.
        TableSchemaValidationError: code 20, the rows do not fit the table.
    """
    files.check()
    if writes_rows:
        check_schema(schema, target.name)
    declared = False
    try:
        storage, has_data = target.locate()
    except TableNotFoundError:
        if keeps_schema or (mode is Mode.APPEND and not makes_table):
            raise
        if partitioned_target(target) is not None:
            raise
        declared = _declare(target, mode, properties)
        storage, has_data = target.locate()
    version, written = 0, schema
    added: tuple[str, ...] = ()
    if has_data:
        if mode is Mode.CREATE:
            raise target.already_exists()
        if mode is Mode.EXIST_OK:
            return None
        dataset = target.open(storage)
        files.check_table(dataset, target.name)
        if mode is not Mode.OVERWRITE or keeps_schema:
            new = missing_columns(schema, dataset.schema) if merge_schema else pa.schema([])
            written = pa.schema([*dataset.schema, *new])
            check_compatible(schema, written, target.name)
            if writes_rows:
                check_schema(written, target.name)
            if new.names:
                dataset = _with_columns(target, dataset, new)
                written, added = dataset.schema, tuple(new.names)
        version = int(dataset.version)
    plan = WritePlan(
        target=target,
        location=storage.location,
        read_version=version,
        appends=has_data and mode is not Mode.OVERWRITE,
        adds=mode is Mode.APPEND,
        declared=declared,
        schema=written,
        files=files,
        added_columns=added,
        job=job or uuid.uuid4().hex,
    )
    if starts:
        start(plan)
    return plan


def missing_columns(rows: pa.Schema, table: pa.Schema) -> pa.Schema:
    """Return nullable versions of the columns of `rows` that a table lacks."""
    return pa.schema(
        [field.with_nullable(True) for field in rows if table.get_field_index(field.name) < 0]
    )


def _with_columns(target: Target, dataset: Any, columns: pa.Schema) -> Any:
    """Add columns without values to a table; return the dataset at the new version."""
    try:
        dataset.add_columns(columns)  # changes only the metadata
    except Exception as error:
        raise target.failure(error, "adding columns to") from error
    return dataset


def start(plan: WritePlan) -> None:
    """Allow tasks to write; repeated calls have no further effect."""
    try:
        Attempts(plan.target.storage_at(plan.location), plan.job).start()
    except Exception as error:
        raise plan.target.failure(error, "starting to write") from error


def _declare(target: Target, mode: Mode, properties: Mapping[str, str] | None) -> bool:
    """Declare a table in the catalog; return False if another client has declared it first."""
    try:
        request = {"id": list(target.table), "properties": dict(properties or {}) or None}
        target.namespace.declare_table(request)
    except TableAlreadyExistsError as error:
        if mode is Mode.CREATE:
            raise
        try:
            target.locate()
        except TableNotFoundError:
            raise error from None
        return False
    return True


def check_schema(schema: pa.Schema, what: str) -> None:
    """Reject a schema that Lance cannot store (code 20)."""
    if not schema.names:
        raise TableSchemaValidationError(f"{what}: there are no columns to write; add at least one")
    try:
        check_columns(schema)
    except TableSchemaValidationError as error:
        raise TableSchemaValidationError(f"{what}: {error.message}") from error


def write_rows(plan: WritePlan, batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    """Write rows to storage; the table does not contain them until `commit` is called.

    If the write fails for any reason, the files that it has finished are deleted.

    Args:
        plan: the plan.
        batches: the rows, in the plan's schema.

    Raises:
        ConcurrentModificationError: code 14, the table moved to another location, or the write has
            ended and no longer needs this attempt.
    """
    storage = plan.target.storage_at(plan.location)
    rows = RowStream(plan.schema, batches)
    with attempt_at(plan, storage, rows) as attempt:
        fragments = _write_fragments(plan, storage, rows, attempt)
        attempt.finish(file.path for fragment in fragments for file in fragment.files)
    return [fragment.to_json() for fragment in fragments]


@contextmanager
def attempt_at(plan: WritePlan, storage: TableStorage, rows: RowStream) -> Iterator[Attempt]:
    """Let a task write files; delete its finished files if the task fails or ends too late.

    Args:
        plan: the plan.
        storage: location of the table.
        rows: the rows to write; their own failure takes precedence over pylance's.
    """
    attempt = Attempt(Attempts(storage, plan.job))
    try:
        yield attempt
        if not attempt.notes.is_open():
            raise ConcurrentModificationError(
                f"{plan.target.name}: the write ended before this task attempt did"
            )
    except BaseException as error:
        if delete_files(plan, attempt.files):
            attempt.forget()
        # pylance rephrases a failure that occurs while it reads the rows.
        if rows.failure is not None:
            raise rows.failure from error
        if isinstance(error, Exception):
            raise plan.target.failure(error, "writing") from error
        raise


def _write_fragments(
    plan: WritePlan, storage: TableStorage, rows: RowStream, attempt: Attempt
) -> list[Any]:
    write_fragments = load("lance.fragment").write_fragments

    from ..tables.incoming import writable

    def write(mode: str) -> list[Any]:
        fragments: list[Any] = write_fragments(
            writable(rows, rows_per_file=plan.files.rows),
            storage.location,
            schema=plan.schema,
            mode=mode,
            max_rows_per_file=plan.files.rows,
            progress=attempt,
            storage_options=storage.lance_options(),
            **({} if plan.files.bytes is None else {"max_bytes_per_file": plan.files.bytes}),
            **({} if plan.appends else {"data_storage_version": plan.files.data_storage_version}),
        )
        return fragments

    if plan.appends:
        return write("append")
    if plan.read_version:
        return write("overwrite")
    try:
        return write("create")
    except OSError as error:
        if rows.failure is not None or not is_overtaken(error):
            raise
        if not (plan.adds and rows.can_begin_again):
            raise _overtaken(plan) from error
        # Write the files as for a new dataset; the commit adds them to the dataset that another
        # writer created.
        return write("overwrite")


def commit(
    plan: WritePlan,
    fragments: Fragments,
    *,
    operation: Callable[[list[Any]], Any] | None = None,
    alone: bool = False,
    properties: Mapping[str, str] | None = None,
) -> int:
    """Commit the written rows to the table; return its new version.

    Rows are added even if other rows, including the first rows of the table, have been added since
    the write was planned. Rows are replaced only if nothing has changed since then.

    Args:
        plan: the plan.
        fragments: the written fragments.
        operation: returns pylance's operation for the new fragments; defaults to the plan's
            operation.
        properties: transaction properties, for rows that are added or replaced.
        alone: whether an operation fails if anything, including added rows, has been committed
            since the write was planned. This is checked immediately before the commit; pylance
            still commits an update on top of rows that are added after the check.

    Raises:
        ConcurrentModificationError: code 14, a conflicting change has been committed since the
            write was planned; the table keeps that change, and the written files are deleted.
    """
    lance = load("lance")

    found = [lance.FragmentMetadata.from_json(json.dumps(fragment)) for fragment in fragments]
    storage = plan.target.storage_at(plan.location)
    try:
        if found or operation is not None:
            require_open(plan, storage)
        if operation is None:
            version = _commit(plan, storage, found, dict(properties or {}))
        elif alone and int(plan.target.open(storage).version) != plan.read_version:
            raise _overtaken(plan)
        else:
            version = _commit_on_top(plan, storage, operation(found), plan.read_version)
    except Exception as error:
        failure = _commit_failure(plan, storage, error)
        if isinstance(failure, ConcurrentModificationError) and not may_be_committed(error):
            delete_rest(plan, fragments, needed=())
        raise failure from error
    delete_rest(plan, (), needed={file for each in fragments for file in _files(each)})
    return version


def _commit(
    plan: WritePlan, storage: TableStorage, fragments: list[Any], properties: dict[str, str]
) -> int:
    lance = load("lance")

    if plan.appends:
        if not fragments:
            return plan.read_version
        return _add(plan, storage, fragments, plan.read_version, properties)
    operation = lance.LanceOperation.Overwrite(plan.schema, fragments)
    try:
        change = lance.Transaction(plan.read_version, operation, transaction_properties=properties)
        return commit_onto(storage, change, stable_row_ids=plan.files.stable_row_ids)
    except OSError as error:
        if plan.adds and is_overtaken(error) and not may_be_committed(error):
            return _add_to_new(plan, storage, fragments, properties)
        raise


def _add(
    plan: WritePlan,
    storage: TableStorage,
    fragments: list[Any],
    version: int,
    properties: dict[str, str],
) -> int:
    lance = load("lance")

    append = lance.LanceOperation.Append(fragments)
    return _commit_on_top(plan, storage, append, version, properties)


def _commit_on_top(
    plan: WritePlan,
    storage: TableStorage,
    operation: Any,
    version: int,
    properties: Mapping[str, str] | None = None,
) -> int:
    """Commit a change that is based on `version`, on top of later versions that do not conflict."""
    lance = load("lance")

    dataset = lance.LanceDataset.commit(
        plan.location,
        lance.Transaction(version, operation, transaction_properties=dict(properties or {})),
        storage_options=storage.lance_options(),
        max_retries=COMMIT_RETRIES,
        **storage.of_namespace(),
    )
    return int(dataset.version)


def _add_to_new(
    plan: WritePlan, storage: TableStorage, fragments: list[Any], properties: dict[str, str]
) -> int:
    """Add files written for a new dataset to the dataset that another writer has created first.

    Raises:
        ConcurrentModificationError: code 14, the existing dataset differs from the planned one.
    """
    dataset = plan.target.open(storage)
    written_in = {
        f"{file.file_major_version}.{file.file_minor_version}"
        for fragment in fragments
        for file in fragment.files
    }
    same = (
        dataset.schema.equals(plan.schema)
        and written_in <= {dataset.data_storage_version}
        and plan.files.stable_row_ids in (None, dataset.has_stable_row_ids)
        and _has_default_field_ids(dataset.lance_schema)
    )
    if not same:
        raise _overtaken(plan)
    version = int(dataset.version)
    return _add(plan, storage, fragments, version, properties) if fragments else version


def _has_default_field_ids(schema: Any) -> bool:
    """Return whether columns have the field ids that they have in files for a new dataset."""

    def numbers(fields: Iterable[Any]) -> Iterator[int]:
        for field in fields:
            yield field.id()
            yield from numbers(field.children())

    found = list(numbers(schema.fields()))
    return found == list(range(len(found)))


def _commit_failure(
    plan: WritePlan, storage: TableStorage, error: Exception
) -> LanceNamespaceError:
    failure = plan.target.failure(error, "committing to")
    if may_be_committed(error):
        return failure
    overtaken = plan.read_version == 0 and exists(storage)
    if overtaken or isinstance(failure, ConcurrentModificationError):
        return _overtaken(plan)
    return failure


def require_open(plan: WritePlan, storage: TableStorage) -> None:
    """Reject the commit if the table has been dropped since the write began.

    The drop has deleted the written files, and another table may now exist in place of the dropped
    one.

    Raises:
        ConcurrentModificationError: code 14.
    """
    if not Attempts(storage, plan.job).is_open():
        raise _overtaken(plan)


def _overtaken(plan: WritePlan) -> ConcurrentModificationError:
    since = f"version {plan.read_version}" if plan.read_version else "it was found without data"
    return ConcurrentModificationError(
        f"{plan.target.name} was changed by another writer since {since}, so nothing "
        "was written; read it again and retry"
    )


def abort(plan: WritePlan, fragments: Fragments) -> None:
    """Roll back a write: delete the files of all attempts, and the table if the write declared it.

    Files that a version of the table references are kept, because the commit may have taken effect
    after all.
    """
    storage = plan.target.storage()
    if exists(storage):
        delete_rest(plan, fragments, needed=_files_since(plan, storage))
        _drop_added(plan)
        return
    delete_rest(plan, fragments, needed=())
    # Another write may be about to fill the table that this write has declared.
    if plan.declared and not Attempts(storage, plan.job).others_are_open():
        plan.target.namespace.drop_table({"id": list(plan.target.table)})


def _drop_added(plan: WritePlan) -> None:
    """Drop the columns that the write added, unless another version uses them."""
    if not plan.added_columns:
        return
    dataset = plan.target.open(plan.target.storage_at(plan.location))
    if int(dataset.version) == plan.read_version:
        dataset.drop_columns(list(plan.added_columns))


def delete_rest(plan: WritePlan, fragments: Fragments, needed: Collection[str]) -> None:
    """End a write: delete its markers and unneeded files; a failure causes only a warning.

    Args:
        plan: the plan.
        fragments: fragments that are known to be written, in addition to the marked files.
        needed: names of data files to keep.
    """
    try:
        attempts = Attempts(plan.target.storage_at(plan.location), plan.job)
        known = {file for fragment in fragments for file in _files(fragment)}
        written = known | attempts.close()
        if delete_files(plan, written.difference(needed)):
            attempts.end()
    except Exception as error:  # noqa: BLE001 a failed cleanup must not hide the outcome
        failure = plan.target.failure(error, "looking for unused data files of")
        warnings.warn(f"{failure.message}; job {plan.job}", stacklevel=3)


def _files_since(plan: WritePlan, storage: TableStorage) -> set[str]:
    """Return the data files of all versions after the version on which the plan is based."""
    paths: set[str] = set()
    for found in plan.target.open(storage).versions():
        if found["version"] > plan.read_version:
            fragments = plan.target.open(storage, found["version"]).get_fragments()
            paths.update(file.path for fragment in fragments for file in fragment.data_files())
    return paths


def delete_files(plan: WritePlan, files: Collection[str]) -> bool:
    """Delete data files that no version references; if any remain, warn and return False."""
    if not files:
        return True
    try:
        delete_data_files(plan.target.storage_at(plan.location), files)
    except Exception as error:  # noqa: BLE001 a failed cleanup must not hide the outcome
        failure = plan.target.failure(error, "deleting unused data files of")
        left = f"{failure.message}; they are at {plan.location}/data: {', '.join(sorted(files))}"
        warnings.warn(left, stacklevel=2)
        return False
    return True


def _files(fragment: Mapping[str, Any]) -> list[str]:
    return [file["path"] for file in fragment["files"]]
