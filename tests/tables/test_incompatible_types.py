"""A value of one type is appended to a column of another, or rejected as the caller's mistake."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.ingest.file_import import import_files

VALUES: dict[pa.DataType, Any] = {
    pa.list_(pa.float32(), 2): [1.0, 2.0],
    pa.list_(pa.int8(), 3): [1, 2, 3],
    pa.binary(3): b"abc",
    pa.list_(pa.int64()): [1],
    pa.list_(pa.list_(pa.int8(), 3)): [[1, 2, 3]],
    pa.struct([("a", pa.list_(pa.float32(), 2))]): {"a": [1.0, 2.0]},
    pa.struct([("a", pa.list_(pa.int8(), 3))]): {"a": [1, 2, 3]},
    pa.map_(pa.string(), pa.int8()): [("a", 1)],
    pa.timestamp("us"): 1,
    pa.string(): "x",
    pa.dictionary(pa.int8(), pa.string()): "q",
}


def rows(kind: pa.DataType) -> pa.Table:
    return pa.table({"x": pa.array([VALUES[kind]], kind)})


def append(path: str, name: str, file: Path) -> None:
    arguments: dict[str, Any] = {"impl": "dir", "properties": {"path": path}, "table": [name]}
    import_files(None, **arguments, sources=[str(file)], mode="append", cores=1)


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_a_value_of_another_type_is_never_an_internal_error(
    tmp_path: Path, kind: pa.DataType
) -> None:
    path = str(tmp_path / "lake")
    with connect("dir", {"path": path}) as lake:
        for number, other in enumerate(each for each in VALUES if each != kind):
            name, more, file = f"t{number}", rows(other), tmp_path / f"{number}.parquet"
            table = lake.table(name).create(rows(kind))
            parquet.write_table(more, file)
            ways = {
                "add": partial(table.add, more),
                "import": partial(append, path, name, file),
            }
            for way, write in ways.items():
                before = table.count_rows()
                try:
                    write()
                except LanceNamespaceError as error:
                    assert error.code in (13, 20), (way, other, error)
                    assert table.count_rows() == before
