"""A directory follows the format, according to a reader that shares no code with the writer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from lance_namespace_client.errors import InvalidTableStateError, NamespaceNotFoundError
from lance_namespace_impls import connect
from tests.directory.lakes import Peer

from .cases import SCHEMA, specs, tables
from .facts_reader import read


def field(id: str, sources: list[int], result: str, **how: Any) -> dict[str, Any]:
    """Return a partition field as the format documents it."""
    return {"field_id": id, "source_ids": sources, **how, "result_type": {"type": result}}


def lake(root: Path) -> Any:
    return connect("dir", {"path": str(root), "manifest": "true"})


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(table=tables(12), fields=specs, evolved=specs)
def test_a_directory_follows_the_format(
    tmp_path_factory: Any, table: pa.Table, fields: list[str], evolved: list[str]
) -> None:
    import shutil

    root = tmp_path_factory.getbasetemp() / "format"
    shutil.rmtree(root, ignore_errors=True)
    made = lake(root).create_partitioned("e", SCHEMA, fields)
    made.write(table)
    if evolved != fields:
        made.evolve(evolved)
    made.write(table.slice(0, 5))
    _, rows = read(str(root / "e"))
    expected = [*range(table.num_rows), *range(min(5, table.num_rows))]
    assert sorted(row["id"] for row in rows) == sorted(expected)


def test_the_metadata_has_the_documented_form(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            ("at", pa.date32()),
            ("place", pa.struct([("country", pa.string())])),
            ("tags", pa.list_(pa.string())),
            ("last", pa.int32()),
        ]
    )
    made = lake(tmp_path).create_partitioned("e", schema, ["at", "place.country", "last"])
    made.evolve(["year(at)", "bucket(8, id)", "expression('col0 + col1', last, id)"])
    made.write([{"id": 1, "at": None, "place": {"country": "US"}, "last": 3}])
    metadata, _ = read(str(tmp_path / "e"))
    identity = {"type": "identity"}
    assert json.loads(metadata["partition_spec_v1"]) == {
        "id": 1,
        "fields": [
            field("at", [1], "date32", transform=identity),
            field("place_country", [3], "utf8", transform=identity),
            field("last", [6], "int32", transform=identity),
        ],
    }
    assert json.loads(metadata["partition_spec_v2"])["fields"] == [
        field("at_year", [1], "int32", transform={"type": "year"}),
        field("id_bucket", [0], "int32", transform={"type": "bucket", "num_buckets": 8}),
        field("last_id_expression", [6, 0], "int64", expression="col0 + col1"),
    ]


def test_pylance_sees_the_same_namespaces_and_tables(tmp_path: Path) -> None:
    made = lake(tmp_path).create_partitioned("e", SCHEMA.remove(7), ["b", "bucket(2, n)"])
    made.write([{"id": number, "b": number % 2 == 0, "n": number} for number in range(8)])
    peer = Peer.at(tmp_path / "e")
    assert peer.namespaces([]) == ["v1"]
    found = []
    for outer in peer.namespaces(["v1"]):
        for inner in peer.namespaces(["v1", outer]):
            assert peer.tables(["v1", outer, inner]) == ["dataset"]
            found += peer.rows(["v1", outer, inner, "dataset"])["id"].to_pylist()
    assert sorted(found) == list(range(8))


def test_lost_partition_columns_are_reported_and_can_be_restored(tmp_path: Path) -> None:
    made = lake(tmp_path).create_partitioned("e", SCHEMA, ["b"])
    made.write([{"id": 1, "b": True}])
    manifest = lance.dataset(str(tmp_path / "e" / "__manifest"))
    # pylance 14.0.2 writes the manifest with the columns that it knows.
    Peer.at(tmp_path / "e").create_namespace(["other"])
    with pytest.raises(InvalidTableStateError, match="no longer has its column partition_field_b"):
        made.scan("b = true")
    with pytest.raises(InvalidTableStateError, match="no longer has its column partition_field_b"):
        made.write([{"id": 2, "b": True}])
    manifest.restore()
    assert made.scan("b = true").read_all()["id"].to_pylist() == [1]


def test_a_killed_create_or_evolve_does_not_block_later_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    there = lake(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr("lance_namespace_impls.directory.manifest.Manifest.set_metadata", killed)
        with pytest.raises(KeyboardInterrupt):
            there.create_partitioned("e", SCHEMA, ["n"])
    with pytest.raises(NamespaceNotFoundError):
        there.partitioned("e").scan()
    made = there.create_partitioned("e", SCHEMA, ["n", "b"])
    made.write([{"id": 1, "n": 1}])
    with monkeypatch.context() as patched:
        patched.setattr("lance_namespace_impls.directory.manifest.Manifest.set_metadata", killed)
        with pytest.raises(KeyboardInterrupt):
            made.evolve(["s"])
    assert list(made.specs) == [1]
    made.evolve(["bucket(4, s)"])
    made.write([{"id": 2, "s": "x"}])
    assert len(read(str(tmp_path / "e"))[1]) == 2


def test_a_directory_of_another_writer_is_read(tmp_path: Path) -> None:
    """Write two tables only with pylance, as in the example of the format, and read them."""
    rows = {
        "US": pa.table({"id": [1, 2], "country": ["US", "US"]}),
        None: pa.table({"id": [3], "country": pa.array([None], pa.string())}),
    }
    objects: list[dict[str, Any]] = [{"object_id": "v1", "object_type": "namespace"}]
    for number, (country, table) in enumerate(rows.items()):
        name = f"k7m2n9p4q8r5s3t{number}"
        location = f"b4a3c2d{number}_v1${name}$dataset"
        lance.write_dataset(table, f"{tmp_path}/{location}")
        value = {"partition_field_where": country}
        objects += [
            {"object_id": f"v1${name}", "object_type": "namespace", **value},
            {
                "object_id": f"v1${name}$dataset",
                "object_type": "table",
                "location": location,
                **value,
            },
        ]
    columns = ["object_id", "object_type", "location", "metadata", "partition_field_where"]
    schema = pa.schema([(name, pa.string()) for name in columns])
    manifest = lance.write_dataset(pa.Table.from_pylist(objects, schema), f"{tmp_path}/__manifest")
    spec = {"id": 1, "fields": [field("where", [1], "utf8", transform={"type": "identity"})]}
    fields = [
        {
            "name": name,
            "nullable": True,
            "type": {"type": kind},
            "metadata": {"lance:field_id": str(id)},
        }
        for id, (name, kind) in enumerate({"id": "int64", "country": "utf8"}.items())
    ]
    manifest.update_metadata(
        {"schema": json.dumps({"fields": fields}), "partition_spec_v1": json.dumps(spec)}
    )
    there = connect("dir", {"path": str(tmp_path)}).partitioned()
    assert there.scan().read_all().sort_by("id").to_pylist() == [
        row for table in rows.values() for row in table.to_pylist()
    ]
    assert len(there.partitions("country = 'US'")) == 1
    assert there.scan("country IS NULL").read_all()["id"].to_pylist() == [3]
    # The columns of read versions are added by the first write.
    there.write([{"id": 4, "country": "US"}, {"id": 5, "country": "DE"}])
    assert sorted(there.scan().read_all()["id"].to_pylist()) == [1, 2, 3, 4, 5]
    assert there.count_rows("country = 'US'") == 3
    _, found = [], lance.dataset(f"{tmp_path}/__manifest").to_table()
    assert sorted(v for v in found["read_version"].to_pylist() if v) == [1, 2]


def test_a_renamed_column_keeps_its_id_and_a_dropped_one_reads_as_null(tmp_path: Path) -> None:
    made = lake(tmp_path).create_partitioned(
        "e", pa.schema([("id", pa.int64()), ("a", pa.string())]), ["a", "bucket(2, id)"]
    )
    made.write([{"id": 1, "a": "x"}, {"id": 2, "a": "y"}])
    manifest = lance.dataset(str(tmp_path / "e" / "__manifest"))
    schema = json.loads(manifest.metadata["schema"])
    schema["fields"][1]["name"] = "b"
    manifest.update_metadata({"schema": json.dumps(schema)})
    for each in made.partitions():
        dataset = lance.dataset(each.location)
        dataset.alter_columns({"path": "a", "name": "b"})
        table = lance.dataset(str(tmp_path / "e" / "__manifest"))
        table.update(
            {"read_version": str(dataset.version)}, f"object_id = '{'$'.join(each.table)}'"
        )
    there = lake(tmp_path).partitioned("e")
    assert there.partition_by == ["b", "bucket(2, id)"]
    assert there.scan("b = 'x'").read_all().to_pylist() == [{"id": 1, "b": "x"}]
    assert len(there.partitions("b = 'x'")) == 1
