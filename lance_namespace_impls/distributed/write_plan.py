"""Writes a table from several processes as one change.

The driver plans (`plan_write`), each worker writes rows (`write_rows`), the driver makes the table
hold them all at once (`commit`) or takes them back (`abort`). What travels between them is text.
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
    LanceNamespaceError,
    TableAlreadyExistsError,
    TableNotFoundError,
    TableSchemaValidationError,
)

from ..core.imports import load
from ..core.storage import TableStorage
from ..tables.dataset import exists
from ..tables.errors import may_be_committed
from ..tables.schema import check_columns
from ..tables.write import commit_onto, delete_data_files, is_overtaken
from .attempts import Attempt, Attempts
from .columns import check_fits
from .target import Target

__all__ = [
    "Fragments",
    "Mode",
    "Target",
    "WritePlan",
    "abort",
    "attempt_at",
    "commit",
    "delete_rest",
    "plan_write",
    "require_open",
    "start",
    "write_rows",
]

ROWS_PER_FILE = 1 << 20
COMMIT_RETRIES = 20

Fragments = Sequence[Mapping[str, Any]]
"""New fragments of a dataset, each as pylance's JSON object."""


class Mode(Enum):
    """What a write does about a table that is there, or is not."""

    CREATE = "Create"
    """Create the table; code 5 where it is there."""
    EXIST_OK = "ExistOk"
    """Create the table; leave one that is there as it is."""
    APPEND = "Append"
    """Add rows; code 4 where there is no table."""
    OVERWRITE = "Overwrite"
    """Replace rows and schema in one commit; make the table where there is none."""


@frozen(kw_only=True)
class WritePlan:
    """What a write is going to do."""

    target: Target
    location: str
    read_version: int
    """Version that the write builds on; 0 where there is no dataset yet."""
    appends: bool
    """Whether rows are added to a dataset that was there."""
    adds: bool
    """Whether rows are added to whatever rows others have written by the commit."""
    declared: bool
    """Whether this write put the table into the catalog."""
    schema: pa.Schema
    """Schema of the rows as they are written."""
    rows_per_file: int = ROWS_PER_FILE
    job: str
    """Unique name of this write."""


def plan_write(
    target: Target,
    schema: pa.Schema,
    mode: Mode,
    *,
    makes_table: bool = False,
    rows_per_file: int = ROWS_PER_FILE,
    properties: Mapping[str, str] | None = None,
    starts: bool = True,
    writes_rows: bool = True,
) -> WritePlan | None:
    """Look at the table, put it into the catalog where it is new, and say what is to be done.

    Args:
        target: the table.
        schema: schema of the rows; they are cast to the table's where they are added to it.
        mode: what to do about a table that is there.
        makes_table: whether APPEND makes a table that is not there.
        rows_per_file: most rows in one data file.
        properties: what a table that is made is declared with.
        starts: whether the write starts now, else with `start`.
        writes_rows: whether whole rows of that schema are written. Rows can be deleted from a table
            with a column that Lance cannot write, and columns added to it.

    Returns:
        the plan; None where the mode is EXIST_OK and the table has data.

    Raises:
        NamespaceNotFoundError: code 1.
        TableNotFoundError: code 4, the mode is APPEND and does not make the table.
        TableAlreadyExistsError: code 5, the mode is CREATE.
        TableSchemaValidationError: code 20, the rows do not fit the table.
    """
    if writes_rows:
        check_schema(schema, target.name)
    declared = False
    try:
        storage, has_data = target.locate()
    except TableNotFoundError:
        if mode is Mode.APPEND and not makes_table:
            raise
        declared = _declare(target, mode, properties)
        storage, has_data = target.locate()
    version, written = 0, schema
    if has_data:
        if mode is Mode.CREATE:
            raise target.is_there()
        if mode is Mode.EXIST_OK:
            return None
        dataset = target.open(storage)
        version = int(dataset.version)
        if mode is not Mode.OVERWRITE:
            check_fits(schema, dataset.schema, target.name)
            written = dataset.schema
            if writes_rows:
                check_schema(written, target.name)
    plan = WritePlan(
        target=target,
        location=storage.location,
        read_version=version,
        appends=has_data and mode is not Mode.OVERWRITE,
        adds=mode is Mode.APPEND,
        declared=declared,
        schema=written,
        rows_per_file=rows_per_file,
        job=uuid.uuid4().hex,
    )
    if starts:
        start(plan)
    return plan


def start(plan: WritePlan) -> None:
    """Let tasks write; to do so again changes nothing."""
    try:
        Attempts(plan.target.storage_at(plan.location), plan.job).start()
    except Exception as error:
        raise plan.target.failure(error, "starting to write") from error


def _declare(target: Target, mode: Mode, properties: Mapping[str, str] | None) -> bool:
    """Add a table to the catalog; False where someone else did so meanwhile."""
    try:
        given = {"id": list(target.table), "properties": dict(properties or {}) or None}
        target.namespace.declare_table(given)
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
    """Refuse a schema that Lance cannot store (code 20)."""
    if not schema.names:
        raise TableSchemaValidationError(f"{what}: there are no columns to write")
    try:
        check_columns(schema)
    except TableSchemaValidationError as error:
        raise TableSchemaValidationError(f"{what}: {error.message}") from error


def write_rows(plan: WritePlan, batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    """Write rows to storage; the table does not show them before `commit`.

    Where it fails, for whatever reason, the files are deleted that it has finished.

    Args:
        plan: the plan.
        batches: the rows, in the plan's schema.

    Raises:
        ConcurrentModificationError: code 14, the table went elsewhere meanwhile, or the write is
            over and does not need this attempt.
    """
    storage = plan.target.storage_at(plan.location)
    rows = RowStream(plan.schema, batches)
    with attempt_at(plan, storage, rows) as attempt:
        fragments = _write_fragments(plan, storage, rows, attempt)
        attempt.finish(file.path for fragment in fragments for file in fragment.files)
    return [fragment.to_json() for fragment in fragments]


@contextmanager
def attempt_at(plan: WritePlan, storage: TableStorage, rows: RowStream) -> Iterator[Attempt]:
    """Let a task write files; where it fails, or comes too late, the finished ones are deleted.

    Args:
        plan: the plan.
        storage: where the table is.
        rows: what is written; its own failure is the one that is raised.
    """
    attempt = Attempt(Attempts(storage, plan.job))
    try:
        yield attempt
        if not attempt.notes.is_open():
            raise ConcurrentModificationError(
                f"{plan.target.name}: the write ended before this attempt at a task did"
            )
    except BaseException as error:
        if delete_files(plan, attempt.files):
            attempt.forget()
        # pylance tells of a failure to read the rows in its own words.
        if rows.failure is not None:
            raise rows.failure from error
        if isinstance(error, Exception):
            raise plan.target.failure(error, "writing") from error
        raise


def _write_fragments(
    plan: WritePlan, storage: TableStorage, rows: RowStream, attempt: Attempt
) -> list[Any]:
    write_fragments = load("lance.fragment").write_fragments

    from ..tables.incoming import checked

    def write(mode: str) -> list[Any]:
        fragments: list[Any] = write_fragments(
            rows.reader(checked),
            storage.location,
            schema=plan.schema,
            mode=mode,
            max_rows_per_file=plan.rows_per_file,
            progress=attempt,
            storage_options=storage.lance_options(),
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
        # Files as for a new dataset, which the commit adds to the one that another has made.
        return write("overwrite")


def commit(
    plan: WritePlan,
    fragments: Fragments,
    *,
    operation: Callable[[list[Any]], Any] | None = None,
    alone: bool = False,
    properties: Mapping[str, str] | None = None,
) -> int:
    """Commit the rows that were written to the table; return its new version.

    Rows are added whatever else was added meanwhile, be it the first rows of the table. Rows are
    replaced only where nothing changed since the plan.

    Args:
        plan: the plan.
        fragments: what was written.
        operation: makes pylance's operation of the new fragments, else as the plan says.
        properties: of the transaction, for rows that are added or replaced.
        alone: whether an operation fails if anything was committed since the plan, rows that others
            added included. This is checked right before the commit; pylance commits an update on
            top of rows that are added after that.

    Raises:
        ConcurrentModificationError: code 14, the table was changed meanwhile in a way that this
            change does not fit; it is as the other left it, and what was written is deleted.
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
            version = _commit_beside(plan, storage, operation(found), plan.read_version)
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
        return commit_onto(storage, change)
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
    return _commit_beside(plan, storage, append, version, properties)


def _commit_beside(
    plan: WritePlan,
    storage: TableStorage,
    operation: Any,
    version: int,
    properties: Mapping[str, str] | None = None,
) -> int:
    """Commit a change of a version on top of later ones that it does not conflict with."""
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
    """Add files that were written for a new dataset to one that another has made meanwhile.

    Raises:
        ConcurrentModificationError: code 14, it is not as the one that was to be made.
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
        and _are_numbered_anew(dataset.lance_schema)
    )
    if not same:
        raise _overtaken(plan)
    version = int(dataset.version)
    return _add(plan, storage, fragments, version, properties) if fragments else version


def _are_numbered_anew(schema: Any) -> bool:
    """Return whether columns have the numbers that files for a new dataset have."""

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
    """Refuse to commit where the table was dropped since the write began.

    Who dropped it deleted what was written, and another table may be there by now.

    Raises:
        ConcurrentModificationError: code 14.
    """
    if not Attempts(storage, plan.job).is_open():
        raise _overtaken(plan)


def _overtaken(plan: WritePlan) -> ConcurrentModificationError:
    since = f"version {plan.read_version}" if plan.read_version else "it was found without data"
    return ConcurrentModificationError(
        f"{plan.target.name} was changed by someone else since {since}, so nothing was written; look "
        "at it and try again"
    )


def abort(plan: WritePlan, fragments: Fragments) -> None:
    """Take back what was written: the data files of all attempts at all tasks, and the table if this
    write declared it.

    Nothing is deleted that a version of the table holds, should the commit have taken effect
    after all.
    """
    storage = plan.target.storage()
    if exists(storage):
        delete_rest(plan, fragments, needed=_files_since(plan, storage))
        return
    delete_rest(plan, fragments, needed=())
    # Another write may be about to fill the table that this one declared.
    if plan.declared and not Attempts(storage, plan.job).others_are_open():
        plan.target.namespace.drop_table({"id": list(plan.target.table)})


def delete_rest(plan: WritePlan, fragments: Fragments, needed: Collection[str]) -> None:
    """End a write: delete its files that are not needed, and its notes; a failure is a warning.

    Args:
        plan: the plan.
        fragments: what is known to be written, beside what the attempts noted.
        needed: names of data files to keep.
    """
    try:
        attempts = Attempts(plan.target.storage_at(plan.location), plan.job)
        known = {file for fragment in fragments for file in _files(fragment)}
        written = known | attempts.close()
        if delete_files(plan, written.difference(needed)):
            attempts.end()
    except Exception as error:  # noqa: BLE001 what came before is what the caller must see
        failure = plan.target.failure(error, "looking for unused data files of")
        warnings.warn(f"{failure.message}; job {plan.job}", stacklevel=3)


def _files_since(plan: WritePlan, storage: TableStorage) -> set[str]:
    """Return the data files of every version after the one that the plan builds on."""
    held: set[str] = set()
    for found in plan.target.open(storage).versions():
        if found["version"] > plan.read_version:
            fragments = plan.target.open(storage, found["version"]).get_fragments()
            held.update(file.path for fragment in fragments for file in fragment.data_files())
    return held


def delete_files(plan: WritePlan, files: Collection[str]) -> bool:
    """Delete data files that no version holds; return False, after a warning, if one is left."""
    if not files:
        return True
    try:
        delete_data_files(plan.target.storage_at(plan.location), files)
    except Exception as error:  # noqa: BLE001 what failed before is what the caller must see
        failure = plan.target.failure(error, "deleting unused data files of")
        left = f"{failure.message}; they are at {plan.location}/data: {', '.join(sorted(files))}"
        warnings.warn(left, stacklevel=2)
        return False
    return True


def _files(fragment: Mapping[str, Any]) -> list[str]:
    return [file["path"] for file in fragment["files"]]
