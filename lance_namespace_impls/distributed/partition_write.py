"""Writes a partitioned namespace from several processes as one change.

The driver plans the write (`plan_partitions`), and each worker writes its rows to the partitions to
which they belong (`write_partitions`). The driver then makes all rows visible in one commit of the
manifest (`commit_partitions`), or deletes their files (`abort_partitions`).

All workers choose the same tables for new partitions. Each attempt at a task records its files, as
in `attempts`, so that the driver deletes the files of attempts that Spark repeated.
"""

from __future__ import annotations

import json
import uuid
import warnings
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from attrs import frozen

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    UnsupportedError,
)

from ..core.modes import parse_mode
from ..partitioned.namespace import PartitionedNamespace, PartitionWriteResult
from ..partitioned.spec import PartitionSpec, column_paths, without_ids
from ..partitioned.store import PartitionFiles, PartitionStore, State, WriteMode
from ..partitioned.writer import Router
from .attempts import Attempts
from .columns import check_compatible
from .target import PartitionedTarget, partitioned_target
from .write_plan import check_schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "PartitionedMode",
    "PartitionsPlan",
    "abort_partitions",
    "commit_partitions",
    "plan_partitions",
    "write_partitions",
]


class PartitionedMode(Enum):
    """How a write handles an existing or missing partitioned namespace."""

    CREATE = "Create"
    """Create the namespace; code 2 if it exists."""
    EXIST_OK = "ExistOk"
    """Create the namespace; leave an existing one unchanged."""
    APPEND = "Append"
    """Add rows; code 1 if the namespace does not exist."""
    OVERWRITE = "Overwrite"
    """Replace all rows of all partitions; not supported."""
    OVERWRITE_PARTITIONS = "OverwritePartitions"
    """Replace the rows of the partitions that receive rows."""


@frozen(kw_only=True)
class PartitionsPlan:
    """The plan of a write to a partitioned namespace."""

    target: PartitionedTarget
    spec: int
    """Number of the spec by which the rows are partitioned."""
    schema: pa.Schema
    """The schema with which the rows are written."""
    mode: WriteMode
    job: str
    """Unique name of this write."""


def plan_partitions(
    target: PartitionedTarget,
    schema: pa.Schema,
    mode: str,
    partition_by: Sequence[str] | None = None,
    *,
    creates_missing: bool = False,
) -> PartitionsPlan | None:
    """Look up the partitioned namespace, create it if necessary, and return the plan of the write.

    Args:
        target: the partitioned namespace.
        schema: schema of the rows.
        mode: ``create``, ``append``, ``exist_ok`` or ``overwrite_partitions``.
        partition_by: the partition fields; required to create the namespace, and otherwise they
            must be those of the current spec.
        creates_missing: whether all modes create a missing namespace.

    Returns:
        the plan, or None if the mode is exist_ok and the namespace exists.

    Raises:
        UnsupportedError: code 0, the catalog cannot hold partitioned namespaces, or the mode is not
            supported.
        NamespaceNotFoundError: code 1, the namespace does not exist and is not created.
        NamespaceAlreadyExistsError: code 2, the mode is create.
        InvalidInputError: code 13, a field is invalid, or is not a field of the current spec.
        TableSchemaValidationError: code 20, the rows do not fit the namespace.
    """
    check_schema(schema, target.name)
    store = target.store()
    there = PartitionedNamespace(store)
    chosen = parse_mode(mode, PartitionedMode.CREATE)
    if chosen is PartitionedMode.OVERWRITE:
        raise UnsupportedError(
            f"{target.name}: overwrite is not supported for partitioned namespaces; use "
            "overwrite_partitions, which replaces the rows of the partitions that receive rows"
        )
    if chosen in (PartitionedMode.CREATE, PartitionedMode.EXIST_OK) or creates_missing:
        if partition_by is None:
            if chosen is PartitionedMode.CREATE and partitioned_target(target) is not None:
                raise NamespaceAlreadyExistsError(
                    f"{target.name} already exists: append to it or use another name"
                )
            raise InvalidInputError(f"{target.name}: specify the partition fields (partitioned_by)")
        try:
            there.create(schema, partition_by)
        except NamespaceAlreadyExistsError:
            if chosen is PartitionedMode.CREATE:
                raise
            if chosen is PartitionedMode.EXIST_OK:
                return None
    state = store.load()
    if partition_by is not None and not there.is_partitioned_by(partition_by):
        raise InvalidInputError(
            f"{target.name} is partitioned by {', '.join(there.partition_by)}, not by "
            f"{', '.join(partition_by)}; pass its fields, or omit them"
        )
    written = without_ids(state.schema)
    check_compatible(schema, written, target.name)
    plan = PartitionsPlan(
        target=target,
        spec=state.spec.id,
        schema=written,
        mode=(
            WriteMode.OVERWRITE_PARTITIONS
            if chosen is PartitionedMode.OVERWRITE_PARTITIONS
            else WriteMode.APPEND
        ),
        job=uuid.uuid4().hex,
    )
    _attempts(plan, store).start()
    return plan


def write_partitions(
    plan: PartitionsPlan, batches: Iterable[pa.RecordBatch]
) -> list[PartitionFiles]:
    """Write rows to the files of their partitions; they are invisible until the driver commits.

    If the write fails for any reason, the files that it has finished are deleted.

    Args:
        plan: the plan.
        batches: the rows, in the plan's schema.

    Raises:
        ConcurrentModificationError: code 14, the write has ended and no longer needs this attempt.
    """
    store = plan.target.store()
    state, spec = _current(plan, store)
    write = store.begin(state, spec, job=plan.job)
    attempts, marker = _attempts(plan, store), f"{uuid.uuid4().hex}.json"
    try:
        Router(write, spec, column_paths(state.schema)).run(batches)
        files = write.files()
        attempts.note(marker, _record(files))
        if not attempts.is_open():
            raise ConcurrentModificationError(
                f"{plan.target.name}: the write ended before this task attempt did"
            )
    except BaseException:
        write.discard()
        attempts.forget(marker)
        raise
    return files


def commit_partitions(
    plan: PartitionsPlan, files: Iterable[PartitionFiles]
) -> tuple[PartitionWriteResult, int]:
    """Make the written rows visible; return the result and the new version of the manifest.

    Raises:
        ConcurrentModificationError: code 14, other writers committed first in every attempt, or
            replaced a partition; nothing is visible, and the written files are deleted.
    """
    store = plan.target.store()
    found = list(files)
    try:
        state, spec = _current(plan, store)
    except BaseException:
        _delete_rest(plan, store, needed=())
        raise
    write = store.begin(state, spec, job=plan.job)
    try:
        if not _attempts(plan, store).is_open():
            raise ConcurrentModificationError(
                f"{plan.target.name} was dropped during the write, so nothing was written"
            )
        write.adopt(found)
        version = write.publish(plan.mode) if found else state.version
    except BaseException:
        write.discard()
        raise
    finally:
        # The commit may have moved rows to other folders, even to those of lost attempts.
        _delete_rest(plan, store, needed=write.files())
    rows = sum(int(each["physical_rows"]) for one in found for each in one.fragments)
    partitions = len({each.table for each in found})
    return PartitionWriteResult(rows=rows, partitions=partitions), version


def abort_partitions(plan: PartitionsPlan) -> None:
    """Roll back a write that was not committed: delete the files of all attempts."""
    _delete_rest(plan, plan.target.store(), needed=())


def _current(plan: PartitionsPlan, store: PartitionStore) -> tuple[State, PartitionSpec]:
    """Return the current state and the spec of the write.

    Raises:
        ConcurrentModificationError: code 14, the namespace was dropped.
    """
    try:
        state = store.load()
        return state, state.specs[plan.spec]
    except (NamespaceNotFoundError, KeyError) as error:
        raise ConcurrentModificationError(
            f"{plan.target.name} was dropped during the write, so nothing was written"
        ) from error


def _delete_rest(
    plan: PartitionsPlan, store: PartitionStore, *, needed: Iterable[PartitionFiles]
) -> None:
    """End a write: delete its markers and unneeded files; a failure causes only a warning."""
    attempts = _attempts(plan, store)
    try:
        attempts.close()
        unused: dict[str, set[str]] = {}
        new: set[str] = set()
        for record in attempts.records():
            for folder, known in json.loads(record).items():
                unused.setdefault(folder, set()).update(known["files"])
                if known["new"]:
                    new.add(folder)
        for each in needed:
            new.discard(each.folder)
            unused.get(each.folder, set()).difference_update(each.paths)
        store.delete_files(unused, new=new)
        attempts.end()
    except Exception as error:  # noqa: BLE001 a failed cleanup must not hide the outcome
        failure = plan.target.failure(error, "deleting unused data files of")
        warnings.warn(f"{failure.message}; job {plan.job}", stacklevel=3)


def _record(files: Iterable[PartitionFiles]) -> bytes:
    """Return the record of an attempt: its files by folder, and whether the folder is new."""
    record: Mapping[str, object] = {
        each.folder: {"files": each.paths, "new": each.is_new} for each in files
    }
    return json.dumps(record).encode()


def _attempts(plan: PartitionsPlan, store: PartitionStore) -> Attempts:
    return Attempts(store.journal, plan.job)
