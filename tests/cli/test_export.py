"""`import` and `create --data` read the files that `export` writes."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from lance_namespace_impls.cli.failures import Status

from .lakes import Lake

COLUMNS: dict[str, pa.Array] = {
    "empty or null": pa.array(["", None, "x", None, ""]),
    "texts": pa.array(['q"q', "a,b", "\r\n", " x ", None]),
    "large": pa.array(["a", None, "", "b", "\n"], pa.large_string()),
    "labels": pa.array(["a", None, "b", "a", ""]).dictionary_encode(),
    "half": pa.array([0.5, None, -0.0, float("nan"), 1.25], pa.float16()),
    "short": pa.array([0.1, None, float("inf"), float("nan"), 3e38], pa.float32()),
    "double": pa.array([0.1, None, -0.0, 1e-300, 5e-324]),
    "exact": pa.array([Decimal("1.10"), None, Decimal("-0.01"), None, Decimal("0.00")]),
    "wide": pa.array([2**63, None, 0, 1, 2**64 - 1], pa.uint64()),
    "long": pa.array([2**53 + 1, None, -(2**63), 0, 2**63 - 1]),
    "flags": pa.array([True, None, False, None, True]),
    "days": pa.array([dt.date(2020, 2, 29), None, dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
    "times": pa.array([dt.time(1, 2, 3, 4), None, dt.time(), None, None], pa.time64("ns")),
    "seconds": pa.array([dt.datetime(1969, 1, 1), None, None, None, None], pa.timestamp("s")),
    "zoned": pa.array([1, None, -1, 10**15, None], pa.timestamp("us", "Europe/Berlin")),
    "fine": pa.array([1, None, -1, 10**18, None], pa.timestamp("ns", "+05:30")),
    "old": pa.array(
        [-(10**16), None, -3898268414138830, 0, None], pa.timestamp("us", "Europe/Berlin")
    ),
    "lasts": pa.array([1, None, -1, 10**15, None], pa.duration("us")),
    "bytes": pa.array([b"", None, b"a", b'"\n', b"b"]),
    "four": pa.array([b"abcd", None, b'"\r\n,', b"abcd", None], pa.binary(4)),
}


@pytest.mark.parametrize(
    ("name", "ending"), [("*", "parquet"), *((name, "csv") for name in [*COLUMNS, "*"])]
)
def test_exported_rows_are_imported_unchanged(
    lake: Lake, tmp_path: Path, name: str, ending: str
) -> None:
    rows = pa.table(COLUMNS if name == "*" else {name: COLUMNS[name]})
    with lake.connect() as namespace:
        namespace.table("one").create(rows)
        namespace.table("two").create(rows.schema.empty_table())
        file = tmp_path / f"out.{ending}"
        lake.run("export", "one", str(file))
        lake.run("import", "two", str(file), "--mode", "append", "--no-spark")
        one, two = (namespace.table(each).search().to_arrow() for each in ("one", "two"))
    assert two.schema == one.schema
    assert repr(two.to_pylist()) == repr(one.to_pylist())


def test_changing_dictionaries_are_unified_in_an_arrow_file(lake: Lake, tmp_path: Path) -> None:
    parts = [["a", "b", None], ["c", "a"], [None, None], ["d"]]
    with lake.connect() as namespace:
        table = namespace.table("t")
        for index, part in enumerate(parts):
            rows = pa.table({"d": pa.array(part, pa.string()).dictionary_encode()})
            table.add(rows) if index else table.create(rows)
    file = tmp_path / "out.arrow"
    lake.run("export", "t", str(file))
    with pa.ipc.open_file(file) as reader:
        found = reader.read_all()["d"]
    assert found.type == pa.dictionary(pa.int32(), pa.string())
    assert found.to_pylist() == [value for part in parts for value in part]
    lake.run("create", "copy", "--data", str(file))
    with lake.connect() as namespace:
        assert namespace.table("copy").search().to_arrow()["d"].to_pylist() == found.to_pylist()


def test_bytes_that_are_not_text_cannot_be_written_as_csv(lake: Lake, tmp_path: Path) -> None:
    for kind in (pa.binary(), pa.large_binary(), pa.binary(1)):
        with lake.connect() as namespace:
            rows = pa.table({"b": pa.array([b"\xff"], kind), "n": [1]})
            namespace.table("t").create(rows, mode="overwrite")
        file = tmp_path / "out.csv"
        assert "exclude b with --select" in lake.error(
            "export", "t", str(file), status=Status.INVALID
        )
        assert not file.exists()
