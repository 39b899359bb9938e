"""Folders that Spark's own ``partitionBy`` writes are imported as Spark reads them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_folders_that_spark_wrote(spark: Any, tmp_path: Path, format: str) -> None:
    kinds = VALUES if format == "parquet" else {k: VALUES[k] for k in ("int", "string", "date")}
    for number, (kind, texts) in enumerate(kinds.items()):
        values = ", ".join(f"({place}, '{text}')" for place, text in enumerate([*texts, *texts]))
        rows = spark.sql(
            f"SELECT id, CAST(v AS {kind}) AS k FROM VALUES {values}, (99, NULL) AS t(id, v)"
        )
        folder = tmp_path / f"{format}-{number}"
        options = {"header": "true"} if format == "csv" else {}
        rows.write.partitionBy("k").format(format).options(**options).save(str(folder))
        expected = spark.read.format(format).options(**options).load(str(folder)).toArrow()
        properties = {"path": str(tmp_path / "lake")}
        name = f"{format}{number}"
        import_files(None, impl="dir", properties=properties, table=name, sources=[str(folder)])
        found = connect("dir", properties).table(name).to_arrow()
        assert {int(row["id"]): plain(row["k"]) for row in found.to_pylist()} == {
            int(row["id"]): plain(row["k"]) for row in expected.to_pylist()
        }, kind
