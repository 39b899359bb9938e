"""Builds an index in parts: many workers write segments, and the driver commits all of them once.

Each task builds a segment of the index for a group of fragments. All segments of a vector index
share one model (the centroids of the partitions and the codebook), because Lance can merge and
update only segments with the same centroids. The driver trains this model on a sample.

The model and every finished segment are recorded next to the table. If the driver is killed, a
repeated call uses these records: it builds only the parts that are missing or whose fragments have
been rewritten.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import field, frozen

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    TableColumnNotFoundError,
    TableIndexAlreadyExistsError,
    TableSchemaValidationError,
    UnsupportedError,
)

from ..core.imports import load
from ..tables import indices
from ..tables.drop import delete_folder
from ..tables.errors import may_be_committed
from ..tables.files import missing_files
from ..tables.lineage import LocationState, OpenedVersion, replaced
from ..tables.write import commit_onto
from .attempts import Attempts
from .division import group_by_size, size_of
from .failures import failure_result, raise_failure
from .runners import quietly

if TYPE_CHECKING:
    from lance_namespace_client.models import CreateTableIndexRequest

    from ..core.storage import TableStorage
    from ..tables.indices import IndexPlan
    from .runners import Count, Runner
    from .target import Target

__all__ = ["IndexBuild", "IndexBuilt"]

COMMIT_ATTEMPTS = 10
# Parts per core, for types whose parts are merged. With more parts, less work is repeated after a
# build is killed.
PARTS_PER_CORE = 4
# Merging HNSW graphs builds them again on one worker. Segments of SQ have different bounds, but
# pylance 14 merges them without encoding the vectors again, so that recall@10 falls from 0.95 to
# 0.74.
_SEPARATE = frozenset({"IVF_SQ", "IVF_HNSW_FLAT", "IVF_HNSW_SQ", "IVF_HNSW_PQ"})
# The geometries must be checked first, which requires a scan of the column.
_WHOLE = frozenset({"RTREE"})
# k-means requires several vectors per cluster; for smaller tables, the index is built in one task.
LEAST_SAMPLE_RATE = 2
SAMPLE_RATE, MAX_ITERATIONS, NUM_BITS, RQ_BITS = 256, 50, 8, 5
# After these errors, a repeated call would fail as well, so the parts are deleted.
_FINAL = (
    InvalidInputError,
    TableColumnNotFoundError,
    TableIndexAlreadyExistsError,
    TableSchemaValidationError,
    UnsupportedError,
)
_MODEL = "model.arrow"
_TRAINED_ON = b"fragments"


@frozen(kw_only=True)
class IndexBuilt:
    """The result of building an index.

    Attributes:
        name: name of the index.
        index_type: its type as Lance reports it, such as ``IVF_PQ`` or ``BTree``.
        version: version of the table that contains the index.
        rows: number of rows in the index.
        segments: number of segments; a search reads all of them.
        fragments: number of fragments in the index.
        resumed: number of fragments whose parts had already been written by an interrupted build.
    """

    name: str
    index_type: str
    version: int
    rows: int
    segments: int
    fragments: int
    resumed: int = 0


@frozen(kw_only=True)
class _Part:
    """A segment that a task has written, and the fragments that the segment covers.

    Attributes:
        segment: the segment, a ``lance.dataset.Index``, as JSON.
        files: data files of the column, by the number of their fragment.
    """

    segment: Mapping[str, Any]
    files: Mapping[int, Sequence[str]]

    @property
    def uuid(self) -> str:
        """Name of the segment's folder."""
        return str(self.segment["uuid"])

    def to_json(self) -> str:
        """Return the part as JSON."""
        return json.dumps({"segment": self.segment, "files": self.files})

    @classmethod
    def from_json(cls, text: str | bytes) -> _Part:
        """Return the part that `to_json` has converted to JSON."""
        found = json.loads(text)
        files = {int(number): paths for number, paths in found["files"].items()}
        return cls(segment=found["segment"], files=files)


@frozen
class IndexBuild:
    """The build of one index.

    Args:
        target: the table.
        request: the index; its options are those of CreateTableIndex.
        runner: runs the tasks.
        tasks: maximum number of parts; defaults to a few per core.
        report: called periodically by the runner; an error that it raises stops the build.
    """

    target: Target
    request: CreateTableIndexRequest
    runner: Runner
    tasks: int | None = field(default=None)
    report: Callable[[int, int], None] = field(default=quietly)

    def run(self) -> IndexBuilt:
        """Build the index, commit it, and return the result.

        Raises:
            TableNotFoundError: code 4.
            TableIndexAlreadyExistsError: code 7.
            TableColumnNotFoundError: code 12.
            InvalidInputError: code 13, an option is invalid, or the type does not fit the column.
            ConcurrentModificationError: code 14, other writers kept rewriting the table.
            InvalidTableStateError: code 19, the table has no data.
        """
        storage = self.target.storage()
        dataset = self.target.open(storage)
        attempts = Attempts(storage, self._job())
        recorded = self._recorded(attempts)
        try:
            if found := self._committed(dataset, recorded):
                self._clean_up(storage, attempts, found)
                return self._built(dataset, resumed=len(dataset.get_fragments()))
            is_whole = self._is_whole(dataset)
        except Exception as error:
            raise self._failure(error) from error
        if is_whole:
            return self._build_whole(storage)
        attempts.start()
        try:
            committed, resumed = self._commit_parts(storage, attempts, recorded)
        except _FINAL:
            self._clean_up(storage, attempts, frozenset())
            raise
        self._clean_up(storage, attempts, frozenset(committed))
        return self._built(self.target.open(storage), resumed)

    def _failure(self, error: Exception) -> LanceNamespaceError:
        return _failure(self.target, self.request.column, error)

    def _job(self) -> str:
        """Return the same name for the same request, so that a repeated call finds its parts."""
        request = {**self.request.to_dict(), "id": None, "context": None}
        return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()[:32]

    def _is_whole(self, dataset: Any) -> bool:
        """Return whether the index must be built in one task, as Lance cannot build it in parts."""
        kind = self.request.index_type.upper()
        if kind in _WHOLE or not dataset.get_fragments():
            return True
        planned = indices.plan(dataset, self.request)
        if planned.metric is None:
            return False
        if planned.kind.endswith("_PQ") and planned.metric == "dot":
            return True  # pylance 14 encodes residuals but searches without them: recall@10 is 0.16
        clusters = max(_partitions(dataset, planned), 2 ** _bits(planned))
        return (
            planned.column not in dataset.schema.names  # a nested column cannot be sampled
            or dataset.count_rows() < LEAST_SAMPLE_RATE * clusters
        )

    def _build_whole(self, storage: TableStorage) -> IndexBuilt:
        target, request, location = self.target, self.request, storage.location

        def work(task: str, count: Count) -> str:
            try:
                worker_dataset = target.open(storage := target.storage_at(location))
                opened = OpenedVersion.of(worker_dataset, storage, None)
                indices.create(worker_dataset, request)
                opened.require_same(worker_dataset, target.name)
            except Exception as error:  # noqa: BLE001 it is the result, and the driver raises it
                return json.dumps(failure_result(_failure(target, request.column, error)))
            return "{}"

        (answer,) = self.runner.run(f"index {target.name}", ["whole"], work, self.report)
        raise_failure(json.loads(answer))
        return self._built(target.open(storage), resumed=0)

    def _commit_parts(
        self, storage: TableStorage, attempts: Attempts, recorded: Sequence[_Part]
    ) -> tuple[list[str], int]:
        """Build the missing parts and commit all parts; return the segments and how many fragments
        were resumed.
        """
        lance = load("lance")

        resumed: set[int] = set()
        for left in reversed(range(COMMIT_ATTEMPTS)):
            dataset = self.target.open(self.target.storage_at(storage.location))
            opened = OpenedVersion.of(dataset, storage, None)
            try:
                planned = indices.plan(dataset, self.request)
                files = _files_of(dataset, planned.column)
                if self._trains(dataset, planned, attempts, files):
                    recorded = []  # the parts belong to another model
            except Exception as error:
                raise self._failure(error) from error
            parts = _usable(storage, recorded, files)
            if left == COMMIT_ATTEMPTS - 1:
                resumed = {number for part in parts for number in part.files}
            parts += self._build(dataset, planned, attempts, files, parts)
            recorded = parts
            if len(parts) > 1 and planned.kind not in _SEPARATE:
                parts = [self._merge(dataset, attempts, parts)]
                recorded = [*recorded, *parts]
            change = lance.LanceOperation.CreateIndex(
                [_index(part.segment) for part in parts], _removed(dataset, planned.name)
            )
            if opened.state() is not LocationState.SAME:
                raise replaced(self.target.name)
            try:
                version = commit_onto(storage, lance.Transaction(int(dataset.version), change))
            except Exception as error:
                failure = self._failure(error)
                is_conflict = isinstance(failure, ConcurrentModificationError)
                if not left or not is_conflict or may_be_committed(error):
                    raise failure from error
                continue
            opened.require_same(self.target.open(storage, version), self.target.name)
            return [part.uuid for part in parts], len(resumed)
        raise AssertionError("the last attempt returns or raises")

    def _trains(
        self, dataset: Any, planned: IndexPlan, attempts: Attempts, files: Mapping[int, list[str]]
    ) -> bool:
        """Train the model of a vector index unless it is recorded; return whether it was trained.

        A recorded model is not used if most of its fragments were rewritten.
        """
        if planned.metric is None:
            return False
        if (recorded := attempts.read(_MODEL)) is not None:
            metadata = pa.ipc.open_stream(recorded).schema.metadata
            before = json.loads(metadata[_TRAINED_ON])
            same = sum(files.get(int(number)) == paths for number, paths in before.items())
            if 2 * same >= len(before):
                return False
        model = _trained(dataset, planned)
        metadata = {_TRAINED_ON: json.dumps(files).encode()}
        attempts.note(_MODEL, _model_bytes(model.replace_schema_metadata(metadata)))
        return True

    def _build(
        self,
        dataset: Any,
        planned: IndexPlan,
        attempts: Attempts,
        files: Mapping[int, list[str]],
        parts: Sequence[_Part],
    ) -> list[_Part]:
        """Build the segments for the fragments that no part covers."""
        covered = {number for part in parts for number in part.files}
        fragments = [f for f in dataset.get_fragments() if f.fragment_id not in covered]
        per_core = 1 if planned.kind in _SEPARATE else PARTS_PER_CORE
        most = self.tasks or per_core * self.runner.cores
        groups = group_by_size([size_of(each) for each in fragments], most)
        tasks = [json.dumps([fragments[i].fragment_id for i in group]) for group in groups]

        def segment(worker_dataset: Any, notes: Attempts, fragments: list[int]) -> Any:
            return _segment(worker_dataset, planned, notes, fragments)

        return self._run(dataset, tasks, attempts, files, segment)

    def _merge(self, dataset: Any, attempts: Attempts, parts: Sequence[_Part]) -> _Part:
        """Merge the segments of parts in one task."""
        files = {number: list(paths) for part in parts for number, paths in part.files.items()}
        segments = [part.segment for part in parts]

        def segment(worker_dataset: Any, notes: Attempts, fragments: list[int]) -> Any:
            return worker_dataset.merge_existing_index_segments([_index(each) for each in segments])

        (merged,) = self._run(dataset, [json.dumps(sorted(files))], attempts, files, segment)
        return merged

    def _run(
        self,
        dataset: Any,
        tasks: Sequence[str],
        attempts: Attempts,
        files: Mapping[int, Sequence[str]],
        segment: Callable[[Any, Attempts, list[int]], Any],
    ) -> list[_Part]:
        """Write segments on workers; return the parts after all tasks have finished.

        Args:
            dataset: the version to index.
            tasks: JSON lists of the fragments of each part.
            attempts: the records of the job.
            files: data files of the column by fragment.
            segment: function that writes the segment of a group of fragments on a worker; it
                receives the dataset, the records of the job and the fragments.
        """
        target, version, location = self.target, int(dataset.version), attempts.storage.location
        job, column = attempts.job, self.request.column

        def work(task: str, count: Count) -> str:
            try:
                storage, fragments = target.storage_at(location), json.loads(task)
                notes = Attempts(storage, job)
                written = segment(target.open(storage, version), notes, fragments)
                covered = {number: files[number] for number in fragments}
                part = _Part(segment=_to_json(written), files=covered)
                notes.note(f"{part.uuid}.json", part.to_json().encode())
                if not notes.is_open():  # the driver is no longer waiting for this attempt
                    delete_folder(storage, f"_indices/{part.uuid}")
                    notes.forget(f"{part.uuid}.json")
                return part.to_json()
            except Exception as error:  # noqa: BLE001 it is the result, and the driver raises it
                return json.dumps(failure_result(_failure(target, column, error)))

        answers = self.runner.run(f"index {target.name}", tasks, work, self.report)
        for answer in answers:
            raise_failure(json.loads(answer))
        return [_Part.from_json(answer) for answer in answers]

    def _recorded(self, attempts: Attempts) -> list[_Part]:
        """Return the parts that earlier runs of the job have recorded."""
        names = [name for name in attempts.names() if name.endswith(".json")]
        return [
            _Part.from_json(content)
            for name in names
            if (content := attempts.read(name)) is not None
        ]

    def _committed(self, dataset: Any, recorded: Sequence[_Part]) -> frozenset[str]:
        """Return the segments of the index if an earlier run of the job has committed the index."""
        name = indices.name_of(self.request)
        uuids = {
            str(segment.uuid)
            for index in dataset.describe_indices()
            if index.name == name
            for segment in index.segments
        }
        is_ours = bool(uuids) and uuids <= {part.uuid for part in recorded}
        return frozenset(uuids) if is_ours else frozenset()

    def _clean_up(
        self, storage: TableStorage, attempts: Attempts, committed: frozenset[str]
    ) -> None:
        """Delete the parts that the index does not use, and the records of the job."""
        for file in attempts.close():
            uuid, dot, kind = file.partition(".")
            if (dot, kind) == (".", "json") and uuid not in committed:
                delete_folder(storage, f"_indices/{uuid}")
        attempts.end()

    def _built(self, dataset: Any, resumed: int) -> IndexBuilt:
        found = indices.find_index(dataset, indices.name_of(self.request))
        return IndexBuilt(
            name=found.name,
            index_type=found.index_type,
            version=int(dataset.version),
            rows=int(found.num_rows_indexed),
            segments=len(found.segments),
            fragments=len({number for each in found.segments for number in each.fragment_ids}),
            resumed=resumed,
        )


def _failure(target: Target, column: str, error: Exception) -> LanceNamespaceError:
    return target.failure(error, f"indexing {column} of")


def _usable(
    storage: TableStorage, recorded: Iterable[_Part], files: Mapping[int, list[str]]
) -> list[_Part]:
    """Return parts with unchanged fragments and existing files that cover no fragment twice."""
    chosen: list[_Part] = []
    covered: set[int] = set()
    for part in sorted(recorded, key=lambda part: -len(part.files)):
        is_current = all(files.get(number) == paths for number, paths in part.files.items())
        if not is_current or covered & part.files.keys():
            continue
        names = [path for path, _ in part.segment["files"]]
        if not missing_files(storage, f"_indices/{part.uuid}", names):
            chosen.append(part)
            covered |= part.files.keys()
    return chosen


def _files_of(dataset: Any, column: str) -> dict[int, list[str]]:
    """Return the data files that contain the values of a column, by fragment."""
    field_ids = _field_ids(dataset.lance_schema.field(column))
    found = {}
    for fragment in dataset.get_fragments():
        files = fragment.data_files()
        holding = [file.path for file in files if field_ids.intersection(file.fields)]
        found[fragment.fragment_id] = holding or [file.path for file in files]
    return found


def _field_ids(found: Any) -> set[int]:
    ids = {int(found.id())}
    for child in found.children():
        ids |= _field_ids(child)
    return ids


def _removed(dataset: Any, name: str) -> list[Any]:
    """Return the segments of the index that the new one replaces."""
    Index = load("lance.dataset").Index

    return [
        Index(
            uuid=str(segment.uuid),
            name=name,
            fields=list(index.fields),
            dataset_version=segment.dataset_version_at_last_update,
            fragment_ids=segment.fragment_ids,
            index_version=segment.index_version,
        )
        for index in dataset.describe_indices()
        if index.name == name
        for segment in index.segments
    ]


def _segment(dataset: Any, planned: IndexPlan, attempts: Attempts, fragments: list[int]) -> Any:
    """Write the segment for a group of fragments; called on a worker."""
    arguments = planned.arguments()
    if planned.metric is not None:
        content = attempts.read(_MODEL)
        assert content is not None  # the driver has written it
        arguments.update(_model_arguments(content))
        arguments.pop("target_partition_size", None)
    written = dataset.create_index_uncommitted(
        planned.column, planned.kind, fragment_ids=fragments, **arguments
    )
    if any(file.path.startswith("staging/") for file in written.files or ()):
        # A full-text index is complete only after a merge, even if there is only one segment.
        written = dataset.merge_existing_index_segments([written])
    return written


def _bits(planned: IndexPlan) -> int:
    """Return the number of bits of a PQ code, or 0 for other types."""
    return int(planned.options.get("num_bits", NUM_BITS)) if planned.kind.endswith("_PQ") else 0


def _partitions(dataset: Any, planned: IndexPlan) -> int:
    """Return the number of IVF partitions."""
    options = planned.options
    if "num_partitions" in options:
        return int(options["num_partitions"])
    return max(1, int(dataset.count_rows()) // int(options["target_partition_size"]))


def _trained(dataset: Any, planned: IndexPlan) -> pa.Table:
    """Train the model of a vector index on a sample; return it as a table with one row."""
    IndicesBuilder = load("lance.indices").IndicesBuilder

    options, rows = planned.options, int(dataset.count_rows())
    partitions = _partitions(dataset, planned)
    sample_rate = int(options.get("sample_rate", SAMPLE_RATE))
    train = partial(_sample_rate, sample_rate, rows)
    rounds = int(options.get("max_iterations", MAX_ITERATIONS))
    builder = IndicesBuilder(dataset, planned.column)
    ivf = builder.train_ivf(
        partitions, distance_type=planned.metric, sample_rate=train(partitions), max_iters=rounds
    )
    model = {"ivf_centroids": _one_row(ivf.centroids)}
    if planned.kind.endswith("_PQ"):
        bits = _bits(planned)
        pq = builder.train_pq(
            ivf,
            options["num_sub_vectors"],
            sample_rate=train(2**bits),
            max_iters=rounds,
            num_bits=bits,
        )
        model["pq_codebook"] = _one_row(pq.codebook)
    elif planned.kind == "IVF_RQ":
        values = dataset.schema.field(planned.column).type
        while hasattr(values, "value_type"):
            values = values.value_type
        kinds = {pa.float16(): "float16", pa.float64(): "float64"}
        rotation = load("lance.lance").indices.build_rq_model(
            builder.dimension, options.get("num_bits", RQ_BITS), kinds.get(values, "float32")
        )
        model["rabitq_model"] = pa.array([rotation])
    return pa.table(model)


def _sample_rate(sample_rate: int, rows: int, clusters: int) -> int:
    """Return the number of samples per cluster, limited by the number of rows."""
    return max(LEAST_SAMPLE_RATE, min(sample_rate, rows // clusters))


def _one_row(vectors: pa.FixedSizeListArray) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array([0, len(vectors)], pa.int32()), vectors)


def _model_bytes(model: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, model.schema) as writer:
        writer.write_table(model)
    return bytes(sink.getvalue())


def _model_arguments(content: bytes) -> dict[str, Any]:
    """Return the arguments that pass the model to pylance."""
    model = pa.ipc.open_stream(content).read_all().combine_chunks()
    found: dict[str, Any] = {}
    for name in model.schema.names:
        value = model[name][0]
        found[name] = value.values if hasattr(value, "values") else value.as_py()
    return {**found, "num_partitions": len(found["ivf_centroids"])}


def _to_json(segment: Any) -> dict[str, Any]:
    """Return a segment, a ``lance.dataset.Index``, as JSON."""
    kind, details = segment.index_details or (None, b"")
    return {
        "uuid": segment.uuid,
        "name": segment.name,
        "fields": list(segment.fields),
        "dataset_version": segment.dataset_version,
        "fragment_ids": sorted(segment.fragment_ids),
        "index_version": segment.index_version,
        "created_at": segment.created_at.isoformat() if segment.created_at else None,
        "base_id": segment.base_id,
        "files": [[file.path, file.size_bytes] for file in segment.files or ()],
        "index_details": None if kind is None else [kind, base64.b64encode(details).decode()],
        "covering_fields": list(segment.covering_fields),
    }


def _index(segment: Mapping[str, Any]) -> Any:
    """Return the ``lance.dataset.Index`` of a segment."""
    module = load("lance.dataset")

    created, details = segment["created_at"], segment["index_details"]
    return module.Index(
        **{
            **segment,
            "created_at": created and datetime.fromisoformat(created),
            "files": [module.IndexFile(path, size) for path, size in segment["files"]],
            "index_details": details and (details[0], base64.b64decode(details[1])),
        }
    )
