"""Partitioned namespaces in a directory, whose partitions are rows of the manifest.

The manifest has one column for each partition field, and specifies the version of each table that
readers use. A write first commits to each table. The new versions remain invisible until a single
commit to the manifest makes them the versions to read. The histories of the tables can therefore
contain versions of writers that were killed or overtaken. Before a commit to a table, its latest
version is therefore reset to the version that readers use.

Source: the format of partitioned namespaces.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from itertools import repeat
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from lance_namespace_client.arrow import RowStream
from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidTableStateError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    UnsupportedError,
)

from ..catalog.entry import TableEntry
from ..core.identifiers import Identifier
from ..core.imports import load
from ..core.storage import TableStorage
from ..partitioned.spec import (
    SCHEMA_KEY,
    SPEC_KEY,
    PartitionSpec,
    read_schema,
    read_specs,
    schema_json,
    without_ids,
)
from ..partitioned.store import (
    Key,
    Partition,
    PartitionFiles,
    PartitionStore,
    PartitionWrite,
    State,
    WriteMode,
    keys_of,
)
from ..tables.dataset import open_dataset
from ..tables.incoming import writable
from ..tables.orphans import delete_orphans, find_orphans
from ..tables.write import delete_data_files
from .manifest import NAMESPACE, TABLE, Change, Manifest, Row, Snapshot
from .names import DELIMITER, object_id
from .nested import NestedTables

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

    from lance_namespace_client.namespace import LanceNamespace

    from ..catalog.catalog import CatalogNamespace

__all__ = ["ManifestPartitions"]

DATASET = "dataset"
"""Name of every partition's table."""
NAME_LENGTH = 16
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
COMMIT_ATTEMPTS = 100
TRANSACTIONS = "_transactions"
COMMIT_CONCURRENCY = 4
"""Number of tables that a write commits to concurrently."""
PIN = "lance-namespace-read"
"""Tag that protects the version that readers use while old versions are deleted."""
_FOLDER = re.compile(r"[0-9a-f]{8}_v\d+\$(?:[^$]+\$)*dataset")
# Operations that change how rows are stored, but not the rows themselves. pylance has no class for
# the reservation of fragment ids that precedes a compaction.
_SAME_ROWS = frozenset({"Rewrite", "CreateIndex", "BaseOperation"})


def _read_columns() -> list[pa.Field]:
    pa = load("pyarrow")
    return [
        pa.field("read_version", pa.uint64()),
        pa.field("read_branch", pa.string()),
        pa.field("read_tag", pa.string()),
    ]


@frozen(kw_only=True)
class _Index:
    """The partitions of one spec, keyed by their values."""

    snapshot: Snapshot
    spec: int
    namespaces: Mapping[Key, str]
    """Object ids of the namespaces, by the values of their level and of the levels above."""
    tables: Mapping[Key, str]
    """Object ids of the tables."""


class ManifestPartitions(PartitionStore):
    """The partitioned namespace in the root of a directory.

    Args:
        namespace: the directory.
        nested: its namespaces and tables.
        name: the namespace, for messages.
        check_new: raises if the namespace cannot be created.
    """

    def __init__(
        self,
        namespace: CatalogNamespace,
        nested: NestedTables,
        name: str,
        check_new: Callable[[], None],
    ) -> None:
        self.name = name
        self._namespace = namespace
        self.nested = nested
        self.manifest: Manifest = nested.manifest
        self._check_new = check_new
        self._state: tuple[Snapshot, State] | None = None
        self._indexed: _Index | None = None

    @property
    def namespace(self) -> LanceNamespace:
        return self._namespace

    def failure(self, error: Exception, doing: str) -> LanceNamespaceError:
        if isinstance(error, LanceNamespaceError):
            return error
        return self._namespace.translate(error, f"{doing} {self.name}")

    # --- state

    def snapshot(self) -> Snapshot:
        """Return the newest version of the manifest.

        Raises:
            NamespaceNotFoundError: code 1, there is no partitioned namespace.
        """
        found = self.manifest.snapshot()
        if found is None or read_schema(found.metadata) is None:
            raise NamespaceNotFoundError(
                f"{self.name}: there is no partitioned namespace; create it, or list the "
                "namespaces to find others"
            )
        return found

    def load(self, version: int | None = None) -> State:
        snapshot = self.manifest.snapshot()
        if version is not None and (snapshot is None or snapshot.version != version):
            return self._state_of(self.manifest.snapshot_at(version))
        known = self._state
        if known is not None and known[0] is snapshot:
            return known[1]
        snapshot = self.snapshot()
        state = self._state_of(snapshot)
        self._state = snapshot, state
        return state

    def _state_of(self, snapshot: Snapshot) -> State:
        schema = read_schema(snapshot.metadata)
        if schema is None:
            raise NamespaceNotFoundError(f"{self.name} was not partitioned in that version")
        specs = read_specs(snapshot.metadata)
        tables = {number: _tables_of(snapshot, spec) for number, spec in specs.items()}
        return State(version=snapshot.version, schema=schema, specs=specs, tables=tables)

    def index(self, snapshot: Snapshot, spec: PartitionSpec) -> _Index:
        """Return the partitions of a spec, by their values."""
        known = self._indexed
        if known is None or known.snapshot is not snapshot or known.spec != spec.id:
            known = self._indexed = _index_of(snapshot, spec)
        return known

    def create(self, schema: pa.Schema, spec: PartitionSpec) -> None:
        self._check_new()
        found = self.manifest.snapshot()
        # The namespace of the spec remains if a process was killed before it set the metadata.
        if found is not None and (
            read_schema(found.metadata) is not None or found.ids not in ([], [spec.namespace])
        ):
            what = "it is partitioned" if read_specs(found.metadata) else "it is not empty"
            raise NamespaceAlreadyExistsError(f"{self.name} already exists, and {what}")
        self._add_spec(spec)
        try:
            self.manifest.set_metadata(
                {SCHEMA_KEY: schema_json(schema), f"{SPEC_KEY}{spec.id}": spec.to_json()}
            )
        except ConcurrentModificationError as error:
            raise NamespaceAlreadyExistsError(
                f"{self.name} was created concurrently by another client"
            ) from error

    def evolve(self, spec: PartitionSpec) -> None:
        self._add_spec(spec)
        self.manifest.set_metadata({f"{SPEC_KEY}{spec.id}": spec.to_json()})

    def _add_spec(self, spec: PartitionSpec) -> None:
        """Add the columns and the namespace of a spec; they are unused until its metadata is
        set.
        """
        pa = load("pyarrow")
        columns = [*_read_columns(), *(pa.field(each.column, each.type) for each in spec.fields)]

        def decide(snapshot: Snapshot) -> Change:
            for column in columns:
                index = snapshot.table.schema.get_field_index(column.name)
                known = column.type if index < 0 else snapshot.table.schema.field(index).type
                if known != column.type:
                    raise InvalidTableStateError(
                        f"{self.name}: the manifest's column {column.name} has the type {known}, "
                        f"not {column.type}; choose another name for the partition field"
                    )
            row = Row(id=spec.namespace, type=NAMESPACE)
            exists = snapshot.type_of(row.id) is not None
            return Change(put=[] if exists else [row], columns=columns)

        self.manifest.change(decide)

    # --- partitions

    def partitions(self, state: State, spec: int, rows: pa.Table) -> list[Partition]:
        fields = state.specs[spec].fields
        names = [each.id for each in fields]
        columns = [rows.column(each.column).to_pylist() for each in fields]
        values = zip(*columns, strict=True) if columns else repeat((), rows.num_rows)
        own = ("object_id", "location", "read_version", "read_branch", "read_tag")
        root = self.nested.directory
        return [
            Partition(
                table=tuple(id.split(DELIMITER)),
                spec=spec,
                values=dict(zip(names, each, strict=True)),
                location=root.location(folder),
                version=version,
                branch=branch,
                tag=tag,
            )
            for each, id, folder, version, branch, tag in zip(
                values, *(rows.column(name).to_pylist() for name in own), strict=True
            )
        ]

    def open(self, partition: Partition) -> lance.LanceDataset:
        found: lance.LanceDataset
        try:
            if partition.branch is None and partition.tag is None and partition.version is not None:
                found = self.dataset(partition.location, partition.version)
            else:
                storage = self.storage(partition.location)
                version = partition.version if partition.tag is None else partition.tag
                found = open_dataset(storage, version=version, branch=partition.branch)
        except Exception as error:
            raise self.failure(error, "reading a partition of") from error
        return found

    def storage(self, location: str) -> TableStorage:
        """Return the storage of a partition."""
        return TableStorage(
            location=location,
            options=self._namespace.config.storage,
            session=self._namespace.lance_session,
        )

    def dataset(self, location: str, version: int | None = None) -> Any:
        """Open the dataset at a location."""
        storage = self.storage(location)
        return load("lance").LanceDataset(
            location,
            version=version,
            storage_options=storage.lance_options(),
            session=storage.session(),
        )

    def begin(self, state: State, spec: PartitionSpec, *, job: str | None = None) -> PartitionWrite:
        return _Write(self, without_ids(state.schema), spec, job)

    def delete_files(self, files: Mapping[str, Collection[str]], *, new: Collection[str]) -> None:
        directory = self.nested.directory
        for folder, names in files.items():
            if folder not in new:
                delete_data_files(self.storage(directory.location(folder)), names)
            elif directory.kinds(folder)[0] == "directory":
                directory.delete(directory.move_to_trash(folder))

    @property
    def journal(self) -> TableStorage:
        return self.storage(self.manifest.location)

    # --- maintenance

    def settle(self, table: Identifier) -> None:
        """Make the version that readers use the latest version of a table again."""

        def decide(snapshot: Snapshot) -> Change | None:
            found = _pinned_row(snapshot, table)
            if found is None:
                return None
            row, base = found
            dataset = self.dataset(self.nested.directory.location(str(row.location)))
            if int(dataset.version) == base:
                return None
            restored = self.commit(
                dataset, load("lance").LanceOperation.Restore(version=base), int(dataset.version)
            )
            return Change(put=[_with_version(row, int(restored.version))])

        self.manifest.change(decide)

    def advance(self, table: Identifier) -> None:
        """Let readers use the latest version of a table if it contains the same rows."""

        def decide(snapshot: Snapshot) -> Change | None:
            found = _pinned_row(snapshot, table)
            if found is None:
                return None
            row, base = found
            dataset = self.dataset(self.nested.directory.location(str(row.location)))
            latest = int(dataset.version)
            for version in range(base + 1, latest + 1):
                done = dataset.read_transaction(version)
                if done is None or type(done.operation).__name__ not in _SAME_ROWS:
                    return None  # another writer has committed and will reset the table
            return Change(put=[_with_version(row, latest)]) if latest != base else None

        self.manifest.change(decide)

    @contextmanager
    def pinned(self, table: Identifier) -> Iterator[None]:
        """Protect the version that readers use while old versions are deleted.

        Versions that a writer publishes during the deletion are too new to be deleted.
        """
        found = _pinned_row(self.snapshot(), table)
        if found is None:
            yield
            return
        row, base = found
        dataset = self.dataset(self.nested.directory.location(str(row.location)), base)
        if PIN in dataset.tags.list():
            dataset.tags.update(PIN, base)
        else:
            dataset.tags.create(PIN, base)
        try:
            yield
        finally:
            dataset.tags.delete(PIN)

    def clean(self, older_than: timedelta, *, dry_run: bool) -> tuple[int, int]:
        directory = self.nested.directory
        limit = time.time() - older_than.total_seconds()
        folders = [
            name
            for name in directory.starting_with("", lambda error: None)
            if _FOLDER.fullmatch(name)
        ]
        # Read the rows after listing the folders, so that folders committed in between are known.
        known = set(self.snapshot().table["location"].to_pylist())
        count = size = 0
        for folder in folders:
            if folder in known:
                continue
            found = directory.contents(folder)
            if not found or max(written for _, written in found) > limit:
                continue
            count += 1
            size += sum(length for length, _ in found)
            if not dry_run:
                directory.delete(directory.move_to_trash(folder))
        # Writes by several processes record their files in the folder of the manifest, whose other
        # files the manifest deletes itself.
        orphans = find_orphans(self.dataset(self.manifest.location), older_than)
        records = [each for each in orphans if each.path.startswith(f"{TRANSACTIONS}/")]
        if not dry_run:
            delete_orphans(self.journal, records)
        return count + len(records), size + sum(each.bytes for each in records)

    def commit(self, dataset: Any, operation: Any, read_version: int) -> Any:
        """Commit an operation to a partition's dataset; return the new version."""
        lance = load("lance")
        return lance.LanceDataset.commit(
            dataset,
            lance.Transaction(read_version, operation),
            storage_options=self.nested.directory.lance_options,
            max_retries=0,
        )


def _pinned_row(snapshot: Snapshot, table: Identifier) -> tuple[Row, int] | None:
    """Return a table's row and the version that readers use; None if they use the latest one."""
    row = snapshot.row(object_id(table))
    version = None if row is None else _read_version(row)
    return None if row is None or version is None else (row, version)


def _read_version(row: Row) -> int | None:
    found = row.more.get("read_version")
    return None if found is None else int(found.as_py())


def _with_version(row: Row, version: int) -> Row:
    scalar = load("pyarrow").scalar(version, load("pyarrow").uint64())
    return evolve(row, more={**row.more, "read_version": scalar})


def _below(snapshot: Snapshot, spec: PartitionSpec) -> pa.Table:
    """Return the rows below the namespace of a spec, with all columns for its fields."""
    pa, pc = load("pyarrow"), load("pyarrow.compute")
    rows = snapshot.rows_below(spec.namespace)
    for each in spec.fields:
        # Without the values in this column, partitions with matching rows would be omitted.
        if rows.num_rows and each.column not in rows.column_names:
            raise InvalidTableStateError(
                f"the manifest no longer has its column {each.column}, which happens if pylance's "
                "own namespace changes the manifest; restore an earlier version of the table "
                "__manifest"
            )
    columns = [*_read_columns(), *(pa.field(each.column, each.type) for each in spec.fields)]
    for column in columns:
        if column.name not in rows.column_names:
            rows = rows.append_column(column, pa.nulls(rows.num_rows, column.type))
    names = ["object_id", "object_type", "location", *(column.name for column in columns)]
    depth = pc.count_substring(rows["object_id"], DELIMITER)
    return rows.select(names).append_column("depth", depth)


def _tables_of(snapshot: Snapshot, spec: PartitionSpec) -> pa.Table:
    """Return the partitions of a spec."""
    pc = load("pyarrow.compute")
    rows = _below(snapshot, spec)
    is_table = pc.and_(
        pc.equal(rows["object_type"], TABLE), pc.equal(rows["depth"], len(spec.fields) + 1)
    )
    found = rows.filter(pc.and_(is_table, pc.ends_with(rows["object_id"], DELIMITER + DATASET)))
    return found.drop_columns(["object_type", "depth"]).combine_chunks()


def _index_of(snapshot: Snapshot, spec: PartitionSpec) -> _Index:
    rows = _below(snapshot, spec)
    keys = keys_of([rows[each.column] for each in spec.fields], rows.num_rows)
    namespaces: dict[Key, str] = {}
    tables: dict[Key, str] = {}
    columns = (
        rows["object_id"].to_pylist(),
        rows["object_type"].to_pylist(),
        rows["depth"].to_pylist(),
    )
    for key, id, type, depth in zip(keys, *columns, strict=True):
        if type == NAMESPACE and 1 <= depth <= len(spec.fields):
            namespaces.setdefault(key[:depth], id)
        elif type == TABLE and depth == len(spec.fields) + 1 and id.endswith(DELIMITER + DATASET):
            tables.setdefault(key, id)
    return _Index(snapshot=snapshot, spec=spec.id, namespaces=namespaces, tables=tables)


@define
class _Staged:
    """The files of one partition that are not visible yet."""

    key: Key
    values: Sequence[pa.Scalar]
    id: str
    """Object id of the table."""
    folder: str
    is_new: bool
    """Whether this write created the folder."""
    fragments: list[Any] = field(factory=list)
    committed: tuple[int | None, int] | None = None
    """The version that was committed to the table, and the version on which it is based."""


class _Write(PartitionWrite):
    """One write to the partitions of a spec.

    Args:
        store: the namespace.
        schema: schema of the tables.
        spec: the spec.
        job: name of a write by several processes, or None.
    """

    def __init__(
        self, store: ManifestPartitions, schema: pa.Schema, spec: PartitionSpec, job: str | None
    ) -> None:
        self._store = store
        self._schema = schema
        self._spec = spec
        self._job = job
        self._staged: dict[Key, _Staged] = {}
        self._names: dict[Key, str] = {(): spec.namespace}
        self._visible = False
        self._adopted = False
        self._placing = threading.Lock()
        self._mode = WriteMode.APPEND

    def add(self, key: Key, values: Sequence[pa.Scalar], rows: Iterable[pa.RecordBatch]) -> int:
        with self._placing:
            staged = self._staged.get(key)
            if staged is None:
                staged = self._staged[key] = self._place(key, values)
        added = self._write(staged, rows)
        return sum(int(fragment.physical_rows) for fragment in added)

    def _place(self, key: Key, values: Sequence[pa.Scalar]) -> _Staged:
        """Return where to write the rows of a partition: its existing table, or a new folder."""
        snapshot = self._store.snapshot()
        index = self._store.index(snapshot, self._spec)
        if (id := index.tables.get(key)) is not None:
            row = snapshot.row(id)
            assert row is not None
            self._require_writable(row)
            return _Staged(key, values, id, str(row.location), is_new=False)
        return self._new_place(key, values, index)

    def _new_place(self, key: Key, values: Sequence[pa.Scalar], index: _Index) -> _Staged:
        for depth in range(1, len(key) + 1):
            known = index.namespaces.get(key[:depth])
            if known is None and (known := self._names.get(key[:depth])) is None:
                known = f"{self._names[key[: depth - 1]]}{DELIMITER}{self._new_name(key[:depth])}"
            self._names[key[:depth]] = known
        id = f"{self._names[key]}{DELIMITER}{DATASET}"
        prefix = None if self._job is None else _digest(self._job, id).hex()[:8]
        location = self._store.nested.default_location(tuple(id.split(DELIMITER)), prefix)
        folder = self._store.nested.directory.folder(location)
        return _Staged(key, values, id, folder, is_new=True)

    def _new_name(self, key: Key) -> str:
        """Return a random name, or the name that all processes of the job choose."""
        if self._job is None:
            return "".join(secrets.choice(_ALPHABET) for _ in range(NAME_LENGTH))
        digest = _digest(self._job, repr(key))
        return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:NAME_LENGTH])

    def _require_writable(self, row: Row) -> None:
        for name in ("read_branch", "read_tag"):
            if row.more.get(name) is not None:
                raise UnsupportedError(
                    f"{self._store.name}: readers use a branch or tag of partition {row.id} "
                    f"({name}={row.more[name].as_py()}), but only the main branch can be written"
                )
        entry: TableEntry = self._store.nested.entry(tuple(row.id.split(DELIMITER)), row)
        if entry.managed:
            raise UnsupportedError(
                f"{self._store.name}: the manifest manages the versions of partition {row.id}, so "
                "it cannot be written together with others"
            )

    def _write(self, staged: _Staged, rows: Iterable[pa.RecordBatch]) -> list[Any]:
        """Write rows to files of a partition without committing them."""
        location = self._store.nested.directory.location(staged.folder)
        storage = self._store.storage(location)
        stream = RowStream(self._schema, rows)
        try:
            with stream.guarded():
                added: list[Any] = load("lance.fragment").write_fragments(
                    writable(stream),
                    location,
                    schema=self._schema,
                    mode="create" if staged.is_new else "append",
                    storage_options=storage.lance_options(),
                )
        except Exception as error:
            raise self._store.failure(error, "writing to") from error
        staged.fragments += added
        return added

    def files(self) -> list[PartitionFiles]:
        pa = load("pyarrow")
        names = [each.column for each in self._spec.fields]
        return [
            PartitionFiles(
                table=staged.id,
                folder=staged.folder,
                is_new=staged.is_new,
                values=pa.record_batch([pa.array([v], v.type) for v in staged.values], names=names),
                fragments=[fragment.to_json() for fragment in staged.fragments],
            )
            for staged in self._staged.values()
        ]

    def adopt(self, files: Iterable[PartitionFiles]) -> None:
        from_json = load("lance").FragmentMetadata.from_json
        self._adopted = True
        places: dict[Key, dict[str, _Staged]] = {}
        for each in files:
            [key] = keys_of(each.values.columns, 1)
            values = [column[0] for column in each.values.columns]
            new = _Staged(key, values, each.table, each.folder, each.is_new)
            place = places.setdefault(key, {}).setdefault(each.folder, new)
            place.fragments += [from_json(json.dumps(fragment)) for fragment in each.fragments]
        for key, found in places.items():
            # There are several folders if another writer created the partition, or a namespace above
            # it, while the processes looked it up. Each folder is complete before it is moved.
            known, *others = sorted(found.values(), key=lambda staged: staged.is_new)
            self._staged[key] = known
            for other in others:
                self._move_to(other, known.folder, known.id, is_new=known.is_new)
                known.fragments += other.fragments

    def publish(self, mode: WriteMode) -> int:
        self._mode = mode
        try:
            published = self._store.manifest.change(self._decide)
        except Exception as error:
            raise self._store.failure(error, "committing to") from error
        self._visible = True
        return published.version

    def _decide(self, snapshot: Snapshot) -> Change:
        """Commit to the tables, and return the change that makes these versions visible."""
        if snapshot.type_of(self._spec.namespace) != NAMESPACE:
            raise ConcurrentModificationError(f"{self._store.name} was dropped during the write")
        index = self._store.index(snapshot, self._spec)
        put: dict[str, Row] = {}
        found: list[tuple[_Staged, Row | None]] = []
        for staged in self._staged.values():
            id = index.tables.get(staged.key)
            row = None if id is None else snapshot.row(id)
            if row is None:
                self._check_new(staged, index)
                put |= {each.id: each for each in self._namespace_rows(staged, index)}
            elif row.location != staged.folder:
                self._move(staged, row)
            found.append((staged, row))
        with ThreadPoolExecutor(COMMIT_CONCURRENCY, "lance-partitions") as pool:
            versions = pool.map(lambda each: self._commit(each[0], self._base(each[1])), found)
            for (staged, row), version in zip(found, versions, strict=True):
                new = _with_version(row or self._table_row(staged), version)
                put[new.id] = new
        return Change(put=list(put.values()), columns=_read_columns())

    def _base(self, row: Row | None) -> int | None:
        """Return the version that readers use, or None for a new table."""
        if row is None:
            return None
        base = _read_version(row)
        if base is not None:
            return base
        location = self._store.nested.directory.location(str(row.location))
        return int(self._store.dataset(location).version)

    def _check_new(self, staged: _Staged, index: _Index) -> None:
        """Check that a new partition can be added under its name."""
        if not staged.is_new:
            raise ConcurrentModificationError(
                f"{self._store.name}: partition {staged.id} was dropped during the write"
            )
        parent = staged.id.removesuffix(DELIMITER + DATASET)
        for depth in range(len(staged.key), 0, -1):
            known = index.namespaces.get(staged.key[:depth])
            if known is not None and known != parent:
                # Another writer created the same namespace first.
                fresh = self._new_place(staged.key, staged.values, index)
                self._move_to(staged, fresh.folder, fresh.id, is_new=True)
                return
            parent = parent.rpartition(DELIMITER)[0]

    def _namespace_rows(self, staged: _Staged, index: _Index) -> Iterator[Row]:
        names = staged.id.split(DELIMITER)
        for depth in range(1, len(staged.key) + 1):
            if staged.key[:depth] not in index.namespaces:
                yield Row(
                    id=DELIMITER.join(names[: depth + 1]),
                    type=NAMESPACE,
                    more=self._values(staged, depth),
                )

    def _values(self, staged: _Staged, depth: int) -> dict[str, Any]:
        fields = self._spec.fields[:depth]
        return {each.column: value for each, value in zip(fields, staged.values, strict=False)}

    def _table_row(self, staged: _Staged) -> Row:
        return Row(
            id=staged.id,
            type=TABLE,
            location=staged.folder,
            more=self._values(staged, len(self._spec.fields)),
        )

    def _move(self, staged: _Staged, row: Row) -> None:
        """Write the rows again for a partition that another writer created first."""
        self._require_writable(row)
        self._move_to(staged, str(row.location), row.id, is_new=False)

    def _move_to(self, staged: _Staged, folder: str, id: str, *, is_new: bool) -> None:
        if not staged.is_new:
            raise ConcurrentModificationError(
                f"{self._store.name}: partition {staged.id} was replaced during the write"
            )
        version = self._commit(staged, None)
        old = staged.folder
        dataset = self._store.dataset(self._store.nested.directory.location(old), version)
        staged.folder, staged.id, staged.is_new = folder, id, is_new
        staged.fragments, staged.committed = [], None
        self._write(staged, dataset.scanner(scan_in_order=True).to_reader())
        self._store.nested.directory.delete(self._store.nested.directory.move_to_trash(old))

    def _commit(self, staged: _Staged, base: int | None) -> int:
        """Commit the files of a partition on top of a version, and return the new version.

        Args:
            staged: the partition.
            base: the version that readers use; None for a new table.
        """
        if staged.committed is not None and staged.committed[0] == base:
            return staged.committed[1]
        lance = load("lance")
        location = self._store.nested.directory.location(staged.folder)
        if base is None:
            operation = lance.LanceOperation.Overwrite(self._schema, staged.fragments)
            version = int(self._store.commit(location, operation, 0).version)
        else:
            version = self._commit_onto(location, staged, base)
        staged.committed = base, version
        return version

    def _commit_onto(self, location: str, staged: _Staged, base: int) -> int:
        lance = load("lance")
        conflict = load("lance.commit").CommitConflictError
        wait = 0.005
        for _ in range(COMMIT_ATTEMPTS):
            dataset = self._store.dataset(location)
            latest = int(dataset.version)
            try:
                if self._mode is WriteMode.OVERWRITE_PARTITIONS:
                    operation = lance.LanceOperation.Overwrite(self._schema, staged.fragments)
                    return int(self._store.commit(dataset, operation, latest).version)
                if latest != base:
                    # Later versions belong to writes that are not visible.
                    restore = lance.LanceOperation.Restore(version=base)
                    dataset = self._store.commit(dataset, restore, latest)
                top = int(dataset.version)
                append = lance.LanceOperation.Append(staged.fragments)
                version = int(self._store.commit(dataset, append, top).version)
                if version == top + 1:
                    return version  # nothing was committed in between
            except conflict:
                pass
            time.sleep(random.uniform(0, wait))
            wait = min(wait * 2, 0.5)
        raise ConcurrentModificationError(
            f"{self._store.name}: other writers keep changing partition {staged.id}; try again"
        )

    def discard(self) -> None:
        if self._visible:
            return
        left = [each for each in self._staged.values() if each.is_new or each.committed is None]
        files = {
            staged.folder: [file.path for each in staged.fragments for file in each.files]
            for staged in left
        }
        # The other processes of a job write to the same new folders.
        whole = self._job is None or self._adopted
        new = {each.folder for each in left if each.is_new} if whole else set()
        if new and (snapshot := self._store.manifest.snapshot()) is not None:
            # The commit may have taken effect although it failed.
            visible = new.intersection(snapshot.table["location"].to_pylist())
            new -= visible
            files = {folder: names for folder, names in files.items() if folder not in visible}
        self._store.delete_files(files, new=new)


def _digest(job: str, text: str) -> bytes:
    return hashlib.blake2b(text.encode(), key=job.encode()).digest()
