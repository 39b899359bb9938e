"""Folders that Spark's own ``partitionBy`` writes are imported as Spark reads them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.ingest.file_import import import_files

VALUES = {
    "tinyint": ["1", "-128"],
    "smallint": ["1", "-32768"],
    "int": ["1", "2147483647"],
    "bigint": ["1", "-9223372036854775808"],
    "decimal(38, 0)": ["1", "99999999999999999999999999999999999999"],
    "decimal(10, 2)": ["1.50", "-0.01"],
    "float": ["1.5", "-2"],
    "double": ["1e300", "Infinity", "-0.25"],
    "boolean": ["true", "false"],
    "string": ["a/b=c", "x y%", "ä"],
    "date": ["2020-01-31", "1969-12-31"],
    "timestamp": ["2020-01-31 10:00:00", "1969-12-31 23:59:59.5"],
    "timestamp_ntz": ["2020-01-31 10:00:00", "1969-12-31 23:59:59.5"],
}


def plain(value: Any) -> Any:
    """Return a timestamp without its time zone, which is UTC."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def values(table: pa.Table, column: str) -> dict[int, Any]:
    """Return the values of a column by id, and timestamps as in `plain`."""
    return {int(row["id"]): plain(row[column]) for row in table.to_pylist()}


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_folders_that_spark_wrote(spark: Any, tmp_path: Path, format: str) -> None:
    kinds = VALUES if format == "parquet" else {k: VALUES[k] for k in ("int", "string", "date")}
    columns = [f"k{number}" for number in range(len(kinds))]
    rows = [
        f"({place}, {', '.join(repr(texts[place % len(texts)]) for texts in kinds.values())})"
        for place in range(6)
    ]
    casts = [f"CAST({name} AS {kind}) AS {name}" for name, kind in zip(columns, kinds, strict=True)]
    frame = spark.sql(
        f"SELECT id, {', '.join(casts)} FROM VALUES {', '.join(rows)}, "
        f"(99{', NULL' * len(kinds)}) AS t(id, {', '.join(columns)})"
    )
    folder = tmp_path / format
    options = {"header": "true"} if format == "csv" else {}
    frame.write.partitionBy(*columns).format(format).options(**options).save(str(folder))
    expected = spark.read.format(format).options(**options).load(str(folder)).toArrow()
    properties = {"path": str(tmp_path / "lake")}
    import_files(None, impl="dir", properties=properties, table="t", sources=[str(folder)])
    found = connect("dir", properties).table("t").to_arrow()
    for name, kind in zip(columns, kinds, strict=True):
        assert values(found, name) == values(expected, name), kind
