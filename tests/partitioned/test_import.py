"""Import of partitioned directories that Hive, Spark and pyarrow write."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pq
import pytest

from lance_namespace_client.errors import InvalidInputError, TableSchemaValidationError
from lance_namespace_impls import connect
from lance_namespace_impls.ingest.file_import import import_files, import_partitioned
from lance_namespace_impls.ingest.folder_names import folder_schema, folder_values
from tests.cli.lakes import Lake

ROWS = pa.table(
    {
        "id": [1, 2, 3, 4],
        "year": pa.array([2020, 2021, 2021, None], pa.int32()),
        "name": ["a/b c", "ä=%", "x", None],
    }
)
NULL = "__HIVE_DEFAULT_PARTITION__"


def write(folder: Path, format: str) -> None:
    """Write the rows to directories whose names are escaped as by pyarrow and Spark."""
    if format == "parquet":
        by = pa_dataset.partitioning(ROWS.select(["year", "name"]).schema, flavor="hive")
        pa_dataset.write_dataset(ROWS, folder, format="parquet", partitioning=by)
        return
    for row in ROWS.to_pylist():
        name = NULL if row["name"] is None else quote(row["name"], safe=" ä")
        inner = folder / f"year={NULL if row['year'] is None else row['year']}" / f"name={name}"
        inner.mkdir(parents=True)
        text = f'{{"id": {row["id"]}}}\n' if format == "json" else f"id\n{row['id']}\n"
        (inner / f"part-0.{format}").write_text(text)


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_a_directory_becomes_a_table_or_a_partitioned_namespace(
    tmp_path: Path, format: str
) -> None:
    source = tmp_path / "source"
    write(source, format)
    properties = {"path": str(tmp_path / "lake"), "manifest": "true"}
    import_files(None, impl="dir", properties=properties, table="t", sources=[str(source)])
    lake = connect("dir", properties)
    assert lake.table("t").to_arrow().sort_by("id") == ROWS
    done = import_partitioned(
        lake, "p", sources=[str(source)], partition_by=["year", "bucket(4, id)"]
    )
    assert done.rows == 4
    there = lake.partitioned("p")
    assert there.scan().read_all().sort_by("id") == ROWS
    assert len(there.partitions("year = 2020")) == 1
    import_partitioned(
        lake, "p", sources=[str(source)], partition_by=["year", "bucket(4, id)"], mode="append"
    )
    assert there.count_rows() == 8
    with pytest.raises(InvalidInputError, match="pass the existing partition fields"):
        import_partitioned(lake, "p", sources=[str(source)], partition_by=["id"], mode="append")


@pytest.mark.parametrize(
    ("sources", "columns"),
    [
        (["{0}"], ["id", "year", "name"]),
        (["{0}/year=2021"], ["id", "name"]),
        (["{0}/year=*/*/*.parquet"], ["id", "year", "name"]),
        (["{0}/year=2021/*/*.parquet"], ["id", "name"]),
        (["{0}/year=2021/name=x/part-0.parquet"], ["id"]),
        (["{0}/year=2021/name=x/part-0.parquet", "{0}/year=2020"], ["id", "year", "name"]),
        (["{0}/year=2020", "{0}/year=2021"], ["id", "year", "name"]),
    ],
)  # fmt: skip
def test_the_source_determines_the_partition_columns(
    tmp_path: Path, sources: list[str], columns: list[str]
) -> None:
    write(tmp_path / "source", "parquet")
    properties = {"path": str(tmp_path / "lake")}
    found = [source.format(tmp_path / "source") for source in sources]
    import_files(None, impl="dir", properties=properties, table="t", sources=found)
    assert connect("dir", properties).table("t").schema.names == columns


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "01", "-7", None], pa.int32()),
        (["2147483648"], pa.int64()),
        (["9223372036854775808"], pa.decimal128(38, 0)),
        (["1", "1.5", "-1e3"], pa.float64()),
        (["2020-01-31", None], pa.date32()),
        (["2020-02-31"], pa.string()),
        (["2020-01-31 10:00:00", "2020-01-31", "2020-01-31 10:00:00.123456"], pa.timestamp("us")),
        (["1", "a"], pa.string()),
        (["true"], pa.string()),
        ([None], pa.string()),
        ([""], pa.string()),
    ],
)
def test_a_column_type_fits_the_values_of_all_directories(
    texts: list[str | None], kind: pa.DataType
) -> None:
    class File:
        name = "x"

        def __init__(self, text: str | None) -> None:
            self.folder_values = folder_values([f"k={NULL if text is None else text}"])

    assert folder_schema([File(text) for text in texts]).field("k").type == kind


def test_explicit_types_and_the_types_of_a_table_take_precedence(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for value in ("01", "2"):
        (source / f"k={value}").mkdir(parents=True)
        pq.write_table(pa.table({"id": [int(value)]}), source / f"k={value}" / "a.parquet")
    properties = {"path": str(tmp_path / "lake")}
    common: dict[str, Any] = {"impl": "dir", "properties": properties, "sources": [str(source)]}
    import_files(None, table="t", options={"types": "k: string"}, **common)
    lake = connect("dir", properties)
    assert lake.table("t").to_arrow().sort_by("id")["k"].to_pylist() == ["01", "2"]
    import_files(None, table="t", mode="append", **common)
    assert lake.table("t").schema.field("k").type == pa.string()
    kinds = {
        "d": ("date32", date(2020, 1, 31)),
        "m": ("decimal128(6, 2)", Decimal("1.50")),
        "t": ("timestamp[us]", datetime(2020, 1, 31, 1)),
    }
    folder = tmp_path / "typed" / "d=2020-01-31" / "m=1.5" / "t=2020-01-31 01%3A00%3A00"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1]}), folder / "a.parquet")
    types = ", ".join(f"{name}: {kind}" for name, (kind, _) in kinds.items())
    common["sources"] = [str(tmp_path / "typed")]
    import_files(None, table="typed", options={"types": types}, **common)
    (row,) = lake.table("typed").to_list()
    assert row == {"id": 1, **{name: value for name, (_, value) in kinds.items()}}
    with pytest.raises(TableSchemaValidationError, match="column m"):
        import_files(None, table="bad", options={"types": "m: int32"}, **common)


@pytest.mark.parametrize("format", ["csv", "json"])
def test_text_formats_have_partition_columns_of_every_type(tmp_path: Path, format: str) -> None:
    texts = {"d": "1969-12-31", "t": "2020-01-31 10%3A00%3A00", "n": "9223372036854775808"}
    folder = tmp_path / "source" / "/".join(f"{key}={text}" for key, text in texts.items())
    folder.mkdir(parents=True)
    (folder / f"a.{format}").write_text('{"id": 1}\n' if format == "json" else "id\n1\n")
    properties = {"path": str(tmp_path / "lake")}
    sources = [str(tmp_path / "source")]
    import_files(None, impl="dir", properties=properties, table="t", sources=sources)
    assert connect("dir", properties).table("t").to_list() == [
        {
            "id": 1,
            "d": date(1969, 12, 31),
            "t": datetime(2020, 1, 31, 10),
            "n": Decimal("9223372036854775808"),
        }
    ]


def test_directories_with_different_columns_are_rejected(tmp_path: Path) -> None:
    for folder in ("a=1", "b=1"):
        (tmp_path / "source" / folder).mkdir(parents=True)
        pq.write_table(pa.table({"id": [1]}), tmp_path / "source" / folder / "x.parquet")
    properties = {"path": str(tmp_path / "lake")}
    common: dict[str, Any] = {"impl": "dir", "properties": properties, "table": "t"}
    with pytest.raises(InvalidInputError, match="have the columns a, and those of"):
        import_files(None, sources=[str(tmp_path / "source")], **common)
    both = tmp_path / "both" / "id=5"
    both.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1]}), both / "x.parquet")
    with pytest.raises(TableSchemaValidationError, match="in the file and in the name"):
        import_files(None, sources=[str(tmp_path / "both")], **common)


def test_the_commands_import_show_and_describe(tmp_path: Path) -> None:
    write(tmp_path / "source", "parquet")
    lake = Lake("dir", path=str(tmp_path / "lake"), manifest="true")
    done = lake.run("import", "p", str(tmp_path / "source"), "--partition-by", "year")
    assert "4 rows imported into 3 partitions" in done.stdout
    shown = lake.run("partitions", "p").stdout
    assert "spec 1" in shown and "year=NULL" in shown and "3 partitions, 4 rows" in shown
    found = lake.json("partitions", "p", "--where", "year = 2021")
    assert [each["values"] for each in found["partitions"]] == [{"year": "2021"}]
    assert found["partitions"][0]["rows"] == 2
    described = lake.json("describe", "p")
    assert (described["kind"], described["partitions"], described["num_rows"]) == (
        "partitioned",
        3,
        4,
    )
    assert described["specs"] == {"1": ["year"]}
