"""Imports of ORC, Avro, Delta Lake and Iceberg, compared with the rows that were written."""

from __future__ import annotations

import base64
import datetime as dt
import io
import json
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    TableAlreadyExistsError,
    TableSchemaValidationError,
    UnsupportedError,
)
from lance_namespace_impls.ingest import readers
from lance_namespace_impls.ingest.file_import import import_files, preview_files
from tests.spark.conftest import Lake

UTC = dt.UTC


def bring(lake: Lake, *sources: Path | str, **more: Any) -> Any:
    """Import sources in threads of this process."""
    return import_files(
        None,
        impl="dir",
        properties=lake.properties,
        table="t",
        sources=[str(source) for source in sources],
        **more,
    )


def rows(lake: Lake, key: str = "id") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lake.dataset("t").to_table().to_pylist()
    return sorted(found, key=lambda row: row[key])


# --- ORC


def test_orc_files_are_imported_by_stripe(quiet_lake: Lake, tmp_path: Path) -> None:
    count = 6_000
    table = pa.table(
        {
            "id": range(count),
            "s": [None if n % 7 == 0 else f"text {n}" for n in range(count)],
            "d": pa.array([Decimal(n) / 100 for n in range(count)], pa.decimal128(12, 2)),
            "day": pa.array([dt.date(2020, 1, 1)] * count),
            "at": pa.array([dt.datetime(2020, 1, 1, 1, 2, 3, 456789)] * count, pa.timestamp("ns")),
            "l": [[n, None] for n in range(count)],
            "m": pa.array([[("k", n)] for n in range(count)], pa.map_(pa.string(), pa.int64())),
            "st": [{"x": n / 2, "b": b"%d" % n} for n in range(count)],
        }
    )
    orc.write_table(table, tmp_path / "a.orc", stripe_size=16 << 10)
    orc.write_table(table.slice(0, 0), tmp_path / "empty.orc")
    assert orc.ORCFile(tmp_path / "a.orc").nstripes > 1
    done = bring(quiet_lake, tmp_path, options={"task_bytes": "50000"})
    assert (done.rows, done.files) == (count, 2)
    assert done.fragments > 1
    found = quiet_lake.dataset("t").to_table().sort_by("id")
    assert found.to_pylist() == table.to_pylist()


def test_orc_timestamps_that_arrow_cannot_read_and_damaged_files_are_rejected(
    quiet_lake: Lake, tmp_path: Path
) -> None:
    far = pa.table({"id": [1], "t": pa.array([dt.datetime(1500, 1, 1)], pa.timestamp("us"))})
    orc.write_table(far, tmp_path / "far.orc")
    with pytest.raises(TableSchemaValidationError, match=r"far\.orc.*out of range"):
        bring(quiet_lake, tmp_path / "far.orc")
    whole = (tmp_path / "far.orc").read_bytes()
    (tmp_path / "cut.orc").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TableSchemaValidationError, match=r"cut\.orc"):
        bring(quiet_lake, tmp_path / "cut.orc")
    assert not Path(quiet_lake.path("t")).exists()


# --- Avro

SCHEMA = {
    "type": "record",
    "name": "Row",
    "namespace": "org.example",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "n", "type": ["null", "long"]},
        {"name": "e", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "e2", "type": ["null", "Kind"]},
        {"name": "f", "type": {"type": "fixed", "name": "Four", "size": 4}},
        {
            "name": "dec",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        },
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "tm", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "lts", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "time", "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "u", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "a", "type": {"type": "array", "items": ["null", "string"]}},
        {"name": "m", "type": {"type": "map", "values": "double"}},
        {
            "name": "r",
            "type": {
                "type": "record",
                "name": "In",
                "fields": [
                    {"name": "x", "type": "float"},
                    {"name": "u", "type": ["null", {"type": "string", "logicalType": "uuid"}]},
                ],
            },
        },
        {"name": "r2", "type": ["null", "In"]},
    ],
}


def avro_row(n: int) -> dict[str, Any]:
    return {
        "id": n,
        "n": None if n % 2 else 2**60 + n,
        "e": "AB"[n % 2],
        "e2": None if n % 3 else "A",
        "f": b"abcd",
        "dec": Decimal(n) / 100,
        "ts": dt.datetime(1500, 1, 1, 0, 0, 0, n % 1000, tzinfo=UTC),
        "tm": dt.datetime(2020, 1, 1, tzinfo=UTC),
        "lts": dt.datetime(2020, 1, 1, 1),
        "day": dt.date(1969, 12, 31),
        "time": dt.time(1, 2, 3, 4),
        "u": UUID(int=n),
        "a": ["x", None],
        "m": {"k": n / 2},
        "r": {"x": 0.5, "u": UUID(int=1)},
        "r2": None if n % 2 else {"x": 1.5, "u": None},
    }


@pytest.mark.parametrize(
    ("codec", "count"),
    [("null", 20_000), ("deflate", 2_000), ("snappy", 2_000), ("zstandard", 2_000)],
)
def test_avro_files_keep_their_types_and_values(
    quiet_lake: Lake, tmp_path: Path, codec: str, count: int
) -> None:
    fastavro = import_module("fastavro")
    written = [avro_row(n) for n in range(count)]
    with open(tmp_path / "a.avro", "wb") as file:
        fastavro.writer(file, SCHEMA, written, codec=codec)
    bring(quiet_lake, tmp_path / "a.avro")

    def plain(row: dict[str, Any]) -> dict[str, Any]:
        inner = {"x": 0.5, "u": str(UUID(int=1))}
        return {**row, "u": str(row["u"]), "m": [*row["m"].items()], "r": inner}

    assert rows(quiet_lake) == [plain(row) for row in written]
    kinds = {field.name: str(field.type) for field in quiet_lake.dataset("t").schema}
    assert kinds["dec"] == "decimal128(10, 2)"
    assert (kinds["ts"], kinds["tm"], kinds["lts"]) == (
        "timestamp[us, tz=UTC]", "timestamp[ms, tz=UTC]", "timestamp[us]",
    )  # fmt: skip
    assert (kinds["f"], kinds["day"], kinds["time"]) == (
        "fixed_size_binary[4]", "date32[day]", "time64[us]",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (["int", "string"], "column c: a union of 2 types"),
        (
            {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]},
            "is recursive",
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 0},
            "a decimal has 50 digits",
        ),
    ],
)
def test_avro_types_that_a_column_cannot_have_are_rejected(
    quiet_lake: Lake, tmp_path: Path, kind: Any, said: str
) -> None:
    fastavro = import_module("fastavro")
    schema = {"type": "record", "name": "R", "fields": [{"name": "c", "type": kind}]}
    with open(tmp_path / "a.avro", "wb") as file:
        fastavro.writer(file, schema, [])
    with pytest.raises(TableSchemaValidationError, match=said) as caught:
        bring(quiet_lake, tmp_path / "a.avro")
    assert "a.avro" in caught.value.message


def test_damaged_avro_files_are_rejected(quiet_lake: Lake, tmp_path: Path) -> None:
    fastavro = import_module("fastavro")
    buffer = io.BytesIO()
    fastavro.writer(buffer, SCHEMA, [avro_row(n) for n in range(500)])
    whole = buffer.getvalue()
    file = tmp_path / "a.avro"
    for content in (b"", b"Obj\x01", whole[:40], whole[: len(whole) // 2], whole[:-3]):
        file.write_bytes(content)
        with pytest.raises(TableSchemaValidationError, match=r"a\.avro"):
            bring(quiet_lake, file)
    assert not Path(quiet_lake.path("t")).exists()
    # Any other changed byte is reported as an error of the file or has no effect.
    for at in range(0, len(whole), len(whole) // 40):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        with suppress(TableSchemaValidationError):
            bring(quiet_lake, file, mode="overwrite")


# --- Delta Lake


def test_a_delta_table_has_only_its_current_rows_and_its_partition_columns(
    quiet_lake: Lake, tmp_path: Path
) -> None:
    deltalake = import_module("deltalake")
    source = tmp_path / "delta"
    table = pa.table(
        {
            "id": range(10),
            "day": pa.array([dt.date(2024, 1, 1 + n % 2) for n in range(10)]),
            "p": [None if n == 9 else f"a/b={n % 3}" for n in range(10)],
            "b": [b"%d" % n for n in range(10)],
            "l": [[{"s": f"{n}"}] for n in range(10)],
        }
    )
    deltalake.write_deltalake(source, table, partition_by=["day", "p"])
    deltalake.DeltaTable(source).delete("id < 3")
    deltalake.write_deltalake(source, table.slice(0, 1), mode="append")
    preview = preview_files(
        impl="dir", properties=quiet_lake.properties, table="t", sources=[str(source)]
    )
    assert (preview.format, dict(preview.read_with)) == ("delta", {"version": "2"})
    done = bring(quiet_lake, source)
    assert done.rows == 8
    assert rows(quiet_lake) == [row for row in table.to_pylist() if row["id"] not in (1, 2)]
    assert quiet_lake.dataset("t").schema.field("day").type == pa.date32()
    assert quiet_lake.dataset("t").schema.field("p").type == pa.string()
    # Files of the table would include deleted rows.
    inside = source / "day=2024-01-01"
    (file, *_) = inside.rglob("*.parquet")
    for other in (inside, file.parent, file, source / "*" / "*" / "*.parquet", inside / "*" / "*"):
        with pytest.raises(InvalidInputError, match=r"of the Delta table .*/delta;"):
            bring(quiet_lake, other, mode="overwrite")
    with pytest.raises(InvalidInputError, match="format delta, not parquet"):
        bring(quiet_lake, source, mode="overwrite", format="parquet")
    with pytest.raises(InvalidInputError, match="is not a table of the format delta"):
        bring(quiet_lake, tmp_path, mode="overwrite", format="delta")
    with pytest.raises(InvalidInputError, match="matches files of the Delta table"):
        bring(quiet_lake, tmp_path, mode="overwrite")


def test_files_of_an_unpartitioned_delta_table_are_rejected(
    quiet_lake: Lake, tmp_path: Path
) -> None:
    deltalake = import_module("deltalake")
    source = tmp_path / "delta"
    deltalake.write_deltalake(source, pa.table({"id": [1]}))
    deltalake.write_deltalake(source, pa.table({"id": [2]}), mode="overwrite")
    with pytest.raises(InvalidInputError, match="matches files of the Delta table"):
        bring(quiet_lake, f"{source}/*.parquet")
    bring(quiet_lake, source)
    assert rows(quiet_lake) == [{"id": 2}]


def z85(content: bytes) -> str:
    """Return the encoding that Delta's protocol uses for inline deletion vectors."""
    encoded = base64.b85encode(content)
    python = (
        b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
    )
    zeromq = (
        b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    )
    return encoded.translate(bytes.maketrans(python, zeromq)).decode()


def bitmap(positions: list[int]) -> bytes:
    """Return a RoaringBitmapArray with one array container, as Delta's protocol describes it."""
    container = struct.pack("<II", 12346, 1) + struct.pack("<HHI", 0, len(positions) - 1, 16)
    container += struct.pack(f"<{len(positions)}H", *positions)
    content = struct.pack("<iqi", 1681511377, 1, 0) + container
    return content + b"\0" * (-len(content) % 4)


def with_deletion_vector(source: Path, positions: list[int]) -> None:
    """Commit a deletion vector for the only file of a Delta table, as another engine does."""
    (log,) = (source / "_delta_log").glob("*.json")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    add = next(action["add"] for action in actions if "add" in action)
    content = bitmap(positions)
    vector = {
        "storageType": "i", "pathOrInlineDv": z85(content),
        "sizeInBytes": len(content), "cardinality": len(positions),
    }  # fmt: skip
    commit = [
        {"remove": {"path": add["path"], "dataChange": True, "deletionTimestamp": 1}},
        {"add": {**add, "deletionVector": vector}},
    ]
    name = source / "_delta_log" / "00000000000000000001.json"
    name.write_text("\n".join(map(json.dumps, commit)))


def test_deletion_vectors_of_a_delta_table_are_applied(quiet_lake: Lake, tmp_path: Path) -> None:
    deltalake = import_module("deltalake")
    source = tmp_path / "delta"
    deltalake.write_deltalake(
        source,
        pa.table({"id": range(100)}),
        configuration={"delta.enableDeletionVectors": "true"},
    )
    with_deletion_vector(source, [0, 7, 99])
    assert bring(quiet_lake, source).rows == 97
    assert rows(quiet_lake) == [{"id": n} for n in range(100) if n not in (0, 7, 99)]


def test_a_delta_table_with_an_unknown_feature_is_rejected(
    quiet_lake: Lake, tmp_path: Path
) -> None:
    deltalake = import_module("deltalake")
    source = tmp_path / "delta"
    deltalake.write_deltalake(source, pa.table({"id": [1]}))
    (log,) = (source / "_delta_log").glob("*.json")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "protocol" in action:
            action["protocol"] = {
                "minReaderVersion": 3, "minWriterVersion": 7,
                "readerFeatures": ["timeCrystals"], "writerFeatures": ["timeCrystals"],
            }  # fmt: skip
    log.write_text("\n".join(map(json.dumps, actions)))
    with pytest.raises(UnsupportedError, match="timeCrystals"):
        bring(quiet_lake, source)
    assert not Path(quiet_lake.path("t")).exists()


def test_a_delta_version_is_the_same_for_all_tasks(
    quiet_lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deltalake = import_module("deltalake")
    source = tmp_path / "delta"
    deltalake.write_deltalake(source, pa.table({"id": [1]}))
    real = readers.FORMATS["delta"].read

    def late(*args: Any, **more: Any) -> Any:
        deltalake.write_deltalake(source, pa.table({"id": [2]}), mode="append")
        return real(*args, **more)

    monkeypatch.setattr(readers.FORMATS["delta"], "read", late)
    bring(quiet_lake, source)
    assert rows(quiet_lake) == [{"id": 1}]


# --- Iceberg


@pytest.fixture
def iceberg(tmp_path: Path) -> Any:
    import_module("sqlalchemy")
    catalogs = import_module("pyiceberg.catalog.sql")
    catalog = catalogs.SqlCatalog(
        "test", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse"
    )
    catalog.create_namespace("db")
    return catalog


def folder_of(table: Any) -> Path:
    return Path(table.location().removeprefix("file://"))


def metadata_of(table: Any) -> Path:
    return Path(table.metadata_location.removeprefix("file://"))


def test_an_iceberg_snapshot_is_imported_with_its_schema_and_partitions(
    quiet_lake: Lake, iceberg: Any
) -> None:
    from pyiceberg.transforms import IdentityTransform

    content = pa.table(
        {
            "id": range(10),
            "at": pa.array(
                [dt.datetime(2024, 1, 1 + n % 3) for n in range(10)], pa.timestamp("us")
            ),
            "tags": [[f"{n}", None] for n in range(10)],
        }
    )
    table = iceberg.create_table("db.t", content.schema)
    with table.update_spec() as update:
        update.add_field("at", IdentityTransform(), "at_value")
    table.append(content)
    table.delete("id < 2")
    with table.update_schema() as update:
        update.rename_column("tags", "labels")
        from pyiceberg.types import DoubleType

        update.add_column("score", DoubleType())
    table.append(
        pa.table({"id": [50], "at": pa.array([dt.datetime(2024, 2, 1)], pa.timestamp("us")),
                  "labels": [["new"]], "score": [0.5]})
    )  # fmt: skip
    done = bring(quiet_lake, metadata_of(table), options={"task_bytes": "1"})
    old = [
        {"id": r["id"], "at": r["at"], "labels": r["tags"], "score": None}
        for r in content.to_pylist()[2:]
    ]
    new = {"id": 50, "at": dt.datetime(2024, 2, 1), "labels": ["new"], "score": 0.5}
    assert rows(quiet_lake) == [*old, new]
    assert done.fragments > 1
    # Without its catalog, the current metadata file of the folder is unknown.
    with pytest.raises(InvalidInputError, match="metadata files, and only its catalog knows"):
        bring(quiet_lake, folder_of(table), mode="overwrite")
    version = metadata_of(table).name.removesuffix(".metadata.json")
    (folder_of(table) / "metadata" / "version-hint.text").write_text(version)
    assert bring(quiet_lake, folder_of(table), mode="overwrite").rows == 9
    with pytest.raises(InvalidInputError, match="format iceberg, not parquet"):
        bring(quiet_lake, folder_of(table), mode="overwrite", format="parquet")


def with_delete_file(table: Any, kind: str, positions: list[int]) -> Path:
    """Write a snapshot with a delete file, as other engines do, and return its metadata file."""
    from pyiceberg.manifest import (
        DataFile,
        DataFileContent,
        FileFormat,
        ManifestContent,
        ManifestEntry,
        ManifestEntryStatus,
        ManifestWriterV2,
        write_manifest_list,
    )
    from pyiceberg.typedef import Record

    class Deletes(ManifestWriterV2):
        def content(self) -> Any:
            return ManifestContent.DELETES

    snapshot = table.current_snapshot()
    (task,) = table.scan().plan_files()
    path = folder_of(table) / "data" / "deletes.parquet"
    if kind == "positions":
        ids = [
            pa.field("file_path", pa.string(), False, {"PARQUET:field_id": "2147483546"}),
            pa.field("pos", pa.int64(), False, {"PARQUET:field_id": "2147483545"}),
        ]
        columns: list[Any] = [[task.file.file_path] * len(positions), positions]
        content, fields = DataFileContent.POSITION_DELETES, None
    else:
        ids = [pa.field("id", pa.int64(), True, {"PARQUET:field_id": "1"})]
        columns, content, fields = [positions], DataFileContent.EQUALITY_DELETES, [1]
    pq.write_table(pa.table(columns, schema=pa.schema(ids)), path)
    deletes = DataFile.from_args(
        content=content, file_path=f"file://{path}", file_format=FileFormat.PARQUET,
        partition=Record(), record_count=len(positions), file_size_in_bytes=path.stat().st_size,
        column_sizes={}, value_counts={}, null_value_counts={}, nan_value_counts={},
        lower_bounds={}, upper_bounds={}, key_metadata=None, split_offsets=None,
        equality_ids=fields, sort_order_id=None, spec_id=0,
    )  # fmt: skip
    number = snapshot.snapshot_id + 1
    output = table.io.new_output(f"file://{folder_of(table)}/metadata/deletes-m0.avro")
    writer = Deletes(table.spec(), table.schema(), output, number, "null")
    with writer:
        writer.add_entry(
            ManifestEntry.from_args(
                status=ManifestEntryStatus.ADDED,
                snapshot_id=number,
                sequence_number=2,
                file_sequence_number=2,
                data_file=deletes,
            )
        )
    manifest = writer.to_manifest_file()
    manifest.sequence_number = 2
    manifest.min_sequence_number = 2
    lists = table.io.new_output(f"file://{folder_of(table)}/metadata/snap-deletes.avro")
    with write_manifest_list(2, lists, number, snapshot.snapshot_id, 2, "null") as listing:
        listing.add_manifests([*snapshot.manifests(table.io), manifest])
    written = json.loads(metadata_of(table).read_text())
    last = written["snapshots"][-1]
    written["snapshots"].append(
        {
            **last,
            "snapshot-id": number,
            "parent-snapshot-id": snapshot.snapshot_id,
            "sequence-number": 2,
            "manifest-list": f"file://{folder_of(table)}/metadata/snap-deletes.avro",
        }
    )
    written["last-sequence-number"] = 2
    written["current-snapshot-id"] = number
    written["refs"]["main"]["snapshot-id"] = number
    path = folder_of(table) / "metadata" / "00009-deletes.metadata.json"
    path.write_text(json.dumps(written))
    return path


def test_positional_deletes_are_applied_and_equality_deletes_rejected(
    quiet_lake: Lake, iceberg: Any
) -> None:
    for name, kind in (("p", "positions"), ("e", "equality")):
        table = iceberg.create_table(f"db.{name}", pa.schema([("id", pa.int64())]))
        table.append(pa.table({"id": range(10, 20)}))
        metadata = with_delete_file(table, kind, [0, 7] if kind == "positions" else [10, 17])
        if kind == "positions":
            bring(quiet_lake, metadata)
            assert rows(quiet_lake) == [{"id": n} for n in range(10, 20) if n not in (10, 17)]
        else:
            with pytest.raises(UnsupportedError, match="equality deletes"):
                bring(quiet_lake, metadata, mode="overwrite")
    assert quiet_lake.dataset("t").version == 1


# --- all


def test_formats_append_to_a_table_and_cast_to_its_types(quiet_lake: Lake, tmp_path: Path) -> None:
    quiet_lake.put("t", pa.table({"id": pa.array([1], pa.int32()), "x": pa.array([1.0])}))
    orc.write_table(pa.table({"id": [2], "x": [0.5]}), tmp_path / "a.orc")
    bring(quiet_lake, tmp_path / "a.orc", mode="append")
    assert rows(quiet_lake) == [{"id": 1, "x": 1.0}, {"id": 2, "x": 0.5}]
    orc.write_table(pa.table({"id": [2**40], "x": [0.5]}), tmp_path / "b.orc")
    with pytest.raises(TableSchemaValidationError, match=r"b\.orc.*column id.*in row 1"):
        bring(quiet_lake, tmp_path / "b.orc", mode="append")
    with pytest.raises(TableAlreadyExistsError):
        bring(quiet_lake, tmp_path / "a.orc")
    pq.write_table(pa.table({"id": [1]}), tmp_path / "c.parquet")
    with pytest.raises(InvalidInputError, match="several formats"):
        bring(quiet_lake, tmp_path, mode="append")


@pytest.mark.parametrize(
    ("package", "extra", "make"),
    [
        ("fastavro", "avro", lambda folder: (folder / "a.avro").write_bytes(b"Obj\x01")),
        ("deltalake", "delta", lambda folder: (folder / "a" / "_delta_log").mkdir(parents=True)),
        (
            "pyiceberg",
            "iceberg-tables",
            lambda folder: (
                (folder / "a" / "metadata").mkdir(parents=True)
                or (folder / "a" / "metadata" / "v1.metadata.json").write_text("{}")
            ),
        ),
    ],
)
def test_a_missing_library_is_named_with_its_extra(
    quiet_lake: Lake,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    extra: str,
    make: Callable[[Path], object],
) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    make(folder)
    (source,) = folder.iterdir()
    for name in [each for each in sys.modules if each.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=rf"needs {package}: .*\[{extra}\]"):
        bring(quiet_lake, source)
