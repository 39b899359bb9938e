"""Details in responses about indices, fragments, versions, branches and tags."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance.namespace import DirectoryNamespace
from lance_namespace_urllib3_client.models import GetTableStatsRequest

from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.tables import stats
from lance_namespace_impls.tables.indices import list_indices, statistics
from lance_namespace_impls.tables.stats import table_stats

T = {"id": ["t"]}
VECTORS = pa.FixedSizeListArray.from_arrays(
    pa.array([float(i) for i in range(80)], pa.float32()), 4
)
ROWS = pa.table({"x": range(20), "v": VECTORS})


@pytest.fixture(scope="module")
def made() -> Iterator[Namespace]:
    """A table with two indices, unindexed rows, two branches, and tags on main and on a branch."""
    with connect("memory", {}) as namespace:
        namespace.create_table(T, ROWS)
        near = {"index_type": "IVF_FLAT", "num_partitions": 1, "distance_type": "Cosine"}
        namespace.create_table_index({**T, "column": "x", "index_type": "BTREE"})
        namespace.create_table_index({**T, "column": "v", **near})
        namespace.insert_into_table(T, ROWS.slice(0, 5))
        namespace.create_table_branch({**T, "name": "side", "from_version": 3})
        namespace.insert_into_table({**T, "branch": "side"}, ROWS.slice(0, 1))
        namespace.create_table_branch({**T, "name": "deeper", "from_branch": "side"})
        namespace.create_table_tag({**T, "tag": "kept", "version": 4, "branch": "side"})
        namespace.create_table_tag({**T, "tag": "first", "version": 1})
        yield namespace


def is_recent(moment: datetime) -> bool:
    return abs(datetime.now(UTC) - moment) < timedelta(days=1)


def manifest(namespace: Namespace, version: int, branch: str | None = None) -> Any:
    """Return the file status of a version's manifest, found through the list of versions."""
    found = namespace.list_table_versions({**T, "branch": branch}).versions
    (path,) = (each.manifest_path for each in found if each.version == version)
    return Path(str(path)).stat()


def test_an_index_description_is_complete(made: Namespace) -> None:
    near, plain = made.list_table_indices(T).indexes
    segments = {each.name: each.segments for each in made.open_table(["t"]).describe_indices()}
    for index, kind in ((near, "IVF_FLAT"), (plain, "BTree")):
        (segment,) = segments[index.index_name]
        assert index.index_uuid == str(segment.uuid)
        assert index.created_at == segment.created_at and is_recent(index.created_at)
        assert index.index_version == segment.index_version
        assert (index.status, index.index_type, index.num_segments) == ("ready", kind, 1)
        assert (index.num_indexed_rows, index.num_unindexed_rows) == (20, 5)
        folder = Path(made.open_table(["t"]).uri, "_indices", index.index_uuid)
        assert index.size_bytes == sum(file.stat().st_size for file in folder.iterdir())
    assert (near.columns, plain.columns) == (["v"], ["x"])
    assert near.type_url == "/lance.index.pb.VectorIndexDetails"
    assert json.loads(str(near.index_details))["metric_type"] == "COSINE"
    assert plain.index_details is None


@pytest.mark.parametrize(
    ("name", "kind", "distance"), [("v_idx", "IVF_FLAT", "cosine"), ("x_idx", "BTree", None)]
)
def test_statistics_of_an_index(
    made: Namespace, name: str, kind: str, distance: str | None
) -> None:
    found = made.describe_table_index_stats({**T, "index_name": name})
    assert (found.index_type, found.distance_type, found.num_indices) == (kind, distance, 1)
    assert (found.num_indexed_rows, found.num_unindexed_rows) == (20, 5)


def index(**more: Any) -> Any:
    made = [datetime(2026, 1, day, tzinfo=UTC) for day in (2, 3, 1)]
    parts = [
        SimpleNamespace(uuid=f"u{n}", created_at=at, index_version=n) for n, at in enumerate(made)
    ]
    parts.append(SimpleNamespace(uuid="old", created_at=None, index_version=9))
    known = {"name": "i", "field_names": ["x"], "index_type": "BTree", "type_url": "/t"}
    return SimpleNamespace(**known, segments=parts, total_size_bytes=1, details={}, **more)


@pytest.mark.parametrize(("indexed", "left"), [(7, 3), (10, 0), (12, 0)])
def test_the_newest_of_several_segments_is_reported(indexed: int, left: int) -> None:
    """The index can cover more rows than the table has if rows were deleted after indexing."""
    dataset = SimpleNamespace(
        count_rows=lambda: 10, describe_indices=lambda: [index(num_rows_indexed=indexed)]
    )
    (found,) = list_indices(dataset, None)
    assert (found.index_uuid, found.index_version, found.num_segments) == ("u1", 1, 4)
    assert (found.num_indexed_rows, found.num_unindexed_rows) == (indexed, left)
    told = statistics(dataset, "i")
    assert (told.num_indices, told.num_indexed_rows, told.num_unindexed_rows) == (4, indexed, left)


def test_statistics_of_a_table(made: Namespace) -> None:
    found = made.get_table_stats(T)
    fields = made.open_table(["t"]).stats.data_stats().fields
    assert found.total_bytes == sum(field.bytes_on_disk for field in fields) > 0
    assert (found.num_rows, found.num_indices, found.fragment_stats.num_fragments) == (25, 2, 2)
    assert made.get_table_stats({**T, "branch": "side"}).num_rows == 21


QUARTERS = {"min": 1, "max": 100, "mean": 50, "p25": 26, "p50": 51, "p75": 76, "p99": 100}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], dict.fromkeys(QUARTERS, 0)),
        ([7], dict.fromkeys(QUARTERS, 7)),
        ([9, 2, 4], {"min": 2, "max": 9, "mean": 5, "p25": 2, "p50": 4, "p75": 9, "p99": 9}),
        (range(100, 0, -1), QUARTERS),
    ],
    ids=["none", "one", "three", "hundred"],
)
def test_statistics_of_fragment_lengths(
    rows: Any, expected: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats, "SMALL_FRAGMENT_ROWS", 4)
    dataset = SimpleNamespace(
        get_fragments=lambda: [SimpleNamespace(count_rows=lambda n=n: n) for n in rows],
        stats=SimpleNamespace(data_stats=lambda: SimpleNamespace(fields=[])),
        describe_indices=list,
    )
    found = table_stats(dataset)
    told = found.fragment_stats
    assert (found.num_rows, told.num_fragments) == (sum(rows), len(rows))
    assert told.num_small_fragments == sum(n < 4 for n in rows)
    assert told.lengths.to_dict() == expected


def test_small_fragments_are_counted_as_in_pylance(tmp_path: Path) -> None:
    limit, path = stats.SMALL_FRAGMENT_ROWS, str(tmp_path / "t.lance")
    for rows in (1, limit - 1, limit, limit + 1):
        table = pa.table({"x": pa.nulls(rows, pa.int8())})
        dataset = lance.write_dataset(table, path, mode="append", max_rows_per_file=2 * limit)
    theirs = DirectoryNamespace(root=str(tmp_path)).get_table_stats(GetTableStatsRequest(**T))
    ours = table_stats(dataset).fragment_stats
    assert (ours.num_fragments, ours.num_small_fragments) == (4, 2)
    assert theirs.fragment_stats.num_small_fragments == 2


def test_a_branch_description_is_complete(made: Namespace) -> None:
    branches = made.list_table_branches(T).branches
    assert list(branches) == ["deeper", "side"]
    side, deeper = branches["side"], branches["deeper"]
    assert (side.parent_branch, side.parent_version) == (None, 3)
    assert (deeper.parent_branch, deeper.parent_version) == ("side", 4)
    known = made.open_table(["t"]).branches.list()
    for name, branch in branches.items():
        assert branch.create_at == known[name]["create_at"]
        assert branch.manifest_size == known[name]["manifest_size"] > 0
        assert branch.metadata is None
    assert is_recent(datetime.fromtimestamp(side.create_at, UTC))


def test_a_tag_description_is_complete(made: Namespace) -> None:
    tags = made.list_table_tags(T).tags
    assert list(tags) == ["first", "kept"]
    for name, version, branch in (("first", 1, None), ("kept", 4, "side")):
        tag, alone = tags[name], made.get_table_tag_version({**T, "tag": name})
        assert (tag.version, tag.branch) == (alone.version, alone.branch) == (version, branch)
        assert tag.manifest_size == manifest(made, version, branch).st_size


@pytest.mark.parametrize(
    ("version", "branch", "rows"), [(1, None, 20), (4, None, 25), (4, "side", 21)]
)
def test_a_version_description_is_complete(
    made: Namespace, version: int, branch: str | None, rows: int
) -> None:
    found = made.describe_table_version({**T, "version": version, "branch": branch}).version
    path = Path(str(found.manifest_path))
    folder = Path(made.open_table(["t"]).uri, *(("tree", branch) if branch else ()), "_versions")
    assert path.parent.samefile(folder)
    assert (found.version, found.manifest_size) == (version, path.stat().st_size)
    known = made.open_table(["t"]).checkout_version((branch, version)).get_version()
    assert found.timestamp_millis == round(path.stat().st_mtime * 1000)
    assert found.metadata == {key: str(value) for key, value in known["metadata"].items()}
    assert found.metadata["total_rows"] == str(rows)


def test_a_description_counts_fragments_and_deleted_rows() -> None:
    with connect("memory", {}) as namespace:
        namespace.create_table(T, ROWS)
        for _ in range(2):
            namespace.insert_into_table(T, ROWS)
        assert namespace.delete_from_table({**T, "predicate": "x IN (3, 4)"}).version == 4
        told = namespace.describe_table({**T, "load_detailed_metadata": True})
        assert (told.version, told.is_only_declared) == (4, False)
        assert told.stats is not None
        assert (told.stats.num_fragments, told.stats.num_deleted_rows) == (3, 6)
        alone = namespace.describe_table({**T, "version": 2})
        assert (alone.version, alone.stats, alone.schema) == (2, None, None)


def test_row_changes_return_row_counts() -> None:
    with connect("memory", {}) as namespace:
        namespace.create_table(T, ROWS)
        some = {**T, "predicate": "x < 3"}
        changed = namespace.update_table({**some, "updates": [["x", "x + 100"]]})
        assert (changed.updated_rows, changed.version) == (3, 2)
        assert namespace.update_table({**some, "updates": [["x", "0"]]}).updated_rows == 0
        every = ("matched_update_all", "not_matched_insert_all", "not_matched_by_source_delete")
        flags = {f"when_{name}": True for name in every}
        before = namespace.open_table(["t"]).version
        merged = namespace.merge_insert_into_table({**T, "on": ["x"], **flags}, ROWS.slice(1, 6))
        assert (merged.num_updated_rows, merged.num_inserted_rows) == (4, 2)
        assert (merged.num_deleted_rows, merged.version) == (16, before + 1)
        assert namespace.count_table_rows(T).count == 6
