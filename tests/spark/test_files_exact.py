"""An import stores exactly the values of a file, in new tables, appends and previews."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from lance_namespace_client.errors import (
    InvalidInputError,
    TableSchemaValidationError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.distributed.type_names import parse_type
from lance_namespace_impls.ingest.file_import import import_files, preview_files
from lance_namespace_impls.ingest.readers import lines
from tests.spark.test_formats import file_of, format_of, read_text, read_whole


def load(folder: Path, name: str, *files: Path, mode: str = "create", **options: str) -> pa.Table:
    """Import files into a table, in this process, and return all of its rows."""
    lake = {"path": str(folder / "lake")}
    import_files(
        None,
        impl="dir",
        properties=lake,
        table=[name],
        sources=[str(file) for file in files],
        mode=mode,
        options=options,
    )
    return connect("dir", lake).query_table({"id": [name], "k": 0}).read_all()


def preview(folder: Path, name: str, file: Path, mode: str, **options: str) -> Any:
    return preview_files(
        impl="dir",
        properties={"path": str(folder / "lake")},
        table=[name],
        sources=[str(file)],
        mode=mode,
        options=options,
    )


# --- blocks of CSV


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "latin1", "utf-8-sig"])
def test_line_breaks_in_quotes_are_kept_at_every_block_boundary(
    tmp_path: Path, encoding: str
) -> None:
    content = 'a,b\r\n1,"x\r\n"\r\n2,"\r"\r\n3,"\n\r\r\n"\r\n4,"q""\r\n"""\r\n5,5" \r\n'
    for block in range(1, 40):
        table = read_text(tmp_path / "a.csv", content.encode(encoding), block, encoding=encoding)
        values = ["x\r\n", "\r", "\n\r\r\n", 'q"\r\n"', '5" ']
        assert table.to_pydict() == {"a": [1, 2, 3, 4, 5], "b": values}, block


@pytest.mark.parametrize("block", [1, 5, 9, 8 << 20])
def test_escaped_line_breaks_and_quotes(tmp_path: Path, block: int) -> None:
    table = read_text(tmp_path / "a.csv", 'a,b\n"x\\"\ny",\\,"\n2,3\n', block, escape="\\")
    assert table.to_pylist() == [{"a": 'x"\ny', "b": ',"'}, {"a": "2", "b": "3"}]


@pytest.mark.parametrize("name", ["long.csv", "long.json", "long.csv.gz"])
def test_a_row_of_any_length_up_to_the_limit(tmp_path: Path, name: str) -> None:
    text = "x" * 5000
    rows = [{"a": "1", "b": "y"}, {"a": "2", "b": text}, {"a": "3", "b": "z"}]
    if ".csv" in name:
        content = "a,b\n" + "".join(f'{row["a"]},"{row["b"]}"\n' for row in rows)
    else:
        content = "".join(json.dumps(row) + "\n" for row in rows)
    packed = gzip.compress(content.encode()) if name.endswith("gz") else content.encode()
    assert read_text(tmp_path / name, packed, 100, types="a:string").to_pylist() == rows
    row = 2 if name.endswith("json") else 3
    with pytest.raises(
        TableSchemaValidationError, match=rf"{name}: row {row} has at least .* option max_row_bytes"
    ):
        read_text(tmp_path / name, packed, 100, types="a:string", max_row_bytes="1000")


FINE = "2020-01-01 10:00:00.123456789"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["7754-01-18", FINE], pa.string()),
        (["7754-01-18 10:00:00", FINE], pa.string()),
        (["2020-01-18", FINE], pa.timestamp("ns")),
        (["7754-01-18", "2020-01-01 10:00:00.123456"], pa.timestamp("us")),
        (["7754-01-18", "2020-01-01"], pa.date32()),
        (["1500-01-18 10:00:00", "2020-01-01 10:00:00.1"], pa.timestamp("us")),
        (["7754-01-18T00:00:00Z", "2020-01-01T10:00:00.123456789Z"], pa.string()),
        (["2020-01-18", "2020-01-01T10:00:00Z"], pa.string()),
    ],
    ids=str,
)
@pytest.mark.parametrize("order", [1, -1])
def test_timestamps_outside_the_range_of_nanoseconds(
    tmp_path: Path, values: list[str], kind: Any, order: int
) -> None:
    content = "".join(f"{each}\n" for each in ["t", *values[::order]])
    table = read_text(tmp_path / "a.csv", content, block=1)  # one row per block
    assert table["t"].type == kind
    assert table["t"].null_count == 0


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("block", [1, 2, 3, 8 << 20])
def test_an_empty_line_is_a_null_in_a_single_column(
    tmp_path: Path, line_end: str, block: int
) -> None:
    content = line_end.join(["a", "", "1", "", "2", "", ""])
    assert read_text(tmp_path / "a.csv", content, block)["a"].to_pylist() == [
        None,
        1,
        None,
        2,
        None,
    ]
    both = line_end.join(["", "a,b", "", "1,2", "", ""])
    assert read_text(tmp_path / "b.csv", both, block).to_pylist() == [{"a": 1, "b": 2}]


# --- appended values


LOST = [
    ("csv", "90210", "01234"),
    ("csv", "1", "-0"),
    ("csv", "1", "0x1F"),
    ("csv", "0.5", "9007199254740993"),
    ("csv", "0.5", "0.12345678901234567890"),
    ("csv", "0.5", "+1.5"),
    ("csv", "0.5", "007.5"),
    ("csv", "0.5", "1e400"),
    ("csv", "9223372036854775808", "0012"),
    ("csv", "9223372036854775808", "-0"),
    ("json", "0.5", "9007199254740993"),
    ("json", "0.5", "0.12345678901234567890"),
    ("json", "0.5", "100000000000000000001"),
]


@pytest.mark.parametrize(
    ("kind", "first", "second", "block"),
    [*((*each, 20) for each in LOST), *((*each, 8 << 20) for each in (LOST[0], LOST[-1]))],
)
def test_appended_text_values_keep_their_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, first: str, second: str, block: int
) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", max(block, 2 * len(second)))

    def content(*values: str) -> str:
        if kind == "json":
            return "".join(f'{{"n":{value}}}\n' for value in values)
        return "".join(f"{value}\n" for value in ("n", *values))

    one = tmp_path / f"one.{kind}"
    two = tmp_path / f"two.{kind}"
    file_of(one, content(first))
    file_of(two, content(first, first, second))
    before = load(tmp_path, "t", one)
    row = 3 if kind == "json" else 4
    for call in (
        lambda: load(tmp_path, "t", two, mode="append"),
        lambda: preview(tmp_path, "t", two, "append"),
    ):
        with pytest.raises(TableSchemaValidationError) as caught:
            call()
        for part in (f"two.{kind}", "column n", f"row {row}", f"{second}, which"):
            assert part in caught.value.message
    assert load(tmp_path, "t", one, mode="append").num_rows == 2
    if second == "1e400":
        return
    asked = f"n:{before.schema.field('n').type}"
    table = load(tmp_path, "t", two, mode="append", types=asked)
    number = int(second, 16) if "x" in second else float(second)
    assert float(table["n"].to_pylist()[-1]) == number


def test_a_vector_keeps_its_digits_unless_its_type_is_named(tmp_path: Path) -> None:
    exact = file_of(tmp_path / "a.json", '{"v":[0.1,2]}\n')
    long = file_of(tmp_path / "b.json", '{"v":[0.1,2]}\n{"v":[1,0.123456789]}\n')
    kind = "v:float32[2]"
    load(tmp_path, "t", Path(exact.path), types=kind)
    assert load(tmp_path, "t", Path(exact.path), mode="append").num_rows == 2
    with pytest.raises(TableSchemaValidationError, match=r"column v\[\]: row 2 has 0.123456789,"):
        load(tmp_path, "t", Path(long.path), mode="append")
    assert load(tmp_path, "t", Path(long.path), mode="append", types=kind).num_rows == 4


WIDE = [
    (pa.array([0.5, 0.1]), pa.float32()),
    (pa.array([0.5, 1e300]), pa.float32()),
    (pa.array([2, 32769], pa.int32()), pa.float16()),
    (pa.array([1, 2**53 + 1]), pa.float64()),
    (pa.array([Decimal("1.5"), Decimal("0.12345678901234567890")]), pa.float64()),
    (pa.array([0.5, 0.12345]), pa.decimal128(5, 2)),
    (pa.array([1000, 1001], pa.timestamp("ns")), pa.timestamp("us")),
    (pa.array([[0.5], None, [0.5, 0.1]]), pa.list_(pa.float32())),
    (pa.array([{"x": 0.5}, None, {"x": 0.1}]), pa.struct([("x", pa.float32())])),
    (pa.array([0.5, 0.1]).dictionary_encode(), pa.float32()),
]


@pytest.mark.parametrize(("values", "kind"), WIDE, ids=lambda v: str(getattr(v, "type", v))[:30])
def test_appended_parquet_values_keep_their_digits(
    tmp_path: Path, values: pa.Array, kind: pa.DataType
) -> None:
    fits = values.slice(0, len(values) - 1)
    one, two = tmp_path / "one.parquet", tmp_path / "two.parquet"
    parquet.write_table(pa.table({"n": fits}), one)
    parquet.write_table(pa.table({"n": pa.chunked_array([fits, values])}), two, row_group_size=2)
    lake = connect("dir", {"path": str(tmp_path / "lake")})
    lake.create_table({"id": ["t"]}, pa.schema([("n", kind)]).empty_table())
    assert load(tmp_path, "t", one, mode="append").num_rows == len(fits)
    row = len(fits) + len(values)
    for call in (
        lambda: load(tmp_path, "t", two, mode="append"),
        lambda: preview(tmp_path, "t", two, "append"),
    ):
        with pytest.raises(TableSchemaValidationError, match=rf"column n: .*row {row}\b"):
            call()
    assert lake.table("t").count_rows() == len(fits)


def test_files_of_one_import_keep_their_digits(tmp_path: Path) -> None:
    one, two = tmp_path / "one.parquet", tmp_path / "two.parquet"
    parquet.write_table(pa.table({"n": [Decimal("0.12345678901234567890")]}), one)
    parquet.write_table(pa.table({"n": [0.5]}), two)
    with pytest.raises(
        TableSchemaValidationError, match=r"one\.parquet: column n: row 1 has 0.1234"
    ):
        load(tmp_path, "t", one, two)
    with pytest.raises(TableSchemaValidationError, match=r"one\.parquet: column n"):
        preview(tmp_path, "t", one, "create", types="n:decimal(5, 2)")


@pytest.mark.parametrize("text", ["2020-01-01T10:00:00+02:00", "2020-01-01T10:00:00Z"])
def test_json_timestamps_keep_their_time_zone(tmp_path: Path, text: str) -> None:
    file = Path(file_of(tmp_path / "a.json", json.dumps({"t": text})).path)
    with pytest.raises(TableSchemaValidationError, match=r"column t.*zone"):
        load(tmp_path, "t", file, types="t:timestamp[us]")
    plain = Path(file_of(tmp_path / "b.json", '{"t":"2020-01-01T10:00:00"}').path)
    with pytest.raises(TableSchemaValidationError, match=r"column t.*zone"):
        load(tmp_path, "t", plain, types="t:timestamp[us, UTC]")
    assert (
        str(load(tmp_path, "t", file, types="t:timestamp[us, UTC]")["t"][0].as_py().tzinfo) == "UTC"
    )


def test_json_numbers_do_not_become_infinite(tmp_path: Path) -> None:
    file = Path(file_of(tmp_path / "a.json", '{"n":1e300}').path)
    with pytest.raises(TableSchemaValidationError, match=r"column n.*too large for float"):
        load(tmp_path, "t", file, types="n:float32")
    text = Path(file_of(tmp_path / "a.csv", "n\n1\n1e40\n").path)
    with pytest.raises(TableSchemaValidationError, match="column n: row 3 has 1e40"):
        load(tmp_path, "t", text, types="n:float32")


@pytest.mark.parametrize(
    "value", [[None, 2**53 + 1], [[None, True]], [{"x": [None, None, 1]}], [None, None]]
)
@pytest.mark.parametrize("shape", ["plain", "struct"])
def test_json_lists_whose_first_values_are_null(tmp_path: Path, value: Any, shape: str) -> None:
    rows = [{"a": {"s": each} if shape == "struct" else each} for each in (value, [], value)]
    content = "".join(json.dumps(row) + "\n" for row in rows)
    found = read_text(tmp_path / "a.json", content)
    assert found.to_pylist() == rows


@pytest.mark.parametrize("depth", [200, 100_000])
@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"x":', "}")])
def test_json_that_is_nested_too_deep(tmp_path: Path, depth: int, start: str, end: str) -> None:
    content = '{"a":1}\n{"a":' + start * depth + "1" + end * depth + "}\n"
    with pytest.raises(
        TableSchemaValidationError, match=r"a\.json: row 2 has more than 100 nested levels"
    ):
        read_text(tmp_path / "a.json", content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"null\n", "row 1 is not an object"),
        (b"\xef\xbb\xbfnull}", "row 1 is not an object"),
        (b"\xefnull}", "row 1 is not UTF-8"),
        (b'{"a":1}\n null \n', "row 2 is not an object"),
        (b'{"a":1}\n\n{"a":"\xff"}\n', "row 2 is not UTF-8"),
        (b'{"a":1}\n{"\xff":1}\n', "row 2 is not UTF-8"),
    ],
)
@pytest.mark.parametrize("block", [8, 8 << 20])
def test_malformed_json_rows_are_rejected(
    tmp_path: Path, content: bytes, message: str, block: int
) -> None:
    with pytest.raises(TableSchemaValidationError, match=rf"a\.json: {message}"):
        read_text(tmp_path / "a.json", content, block)


def test_brackets_in_json_text_do_not_count_as_nesting(tmp_path: Path) -> None:
    row = {"a": "[{" * 500 + '"\\', "b": [[1]] * 300}
    file = file_of(tmp_path / "a.json", json.dumps(row) + "\n")
    assert read_whole(format_of("json"), file).to_pylist() == [row]


# --- names in lists


NESTED = [
    pa.list_(pa.field("element", pa.int64())),
    pa.list_(pa.field("array_element", pa.int64(), nullable=False)),
    pa.large_list(pa.field("element", pa.int64())),
    pa.list_(pa.field("element", pa.float32()), 1),
    pa.list_(pa.field("element", pa.list_(pa.field("array", pa.int64())))),
    pa.struct([("l", pa.list_(pa.field("element", pa.int64())))]),
    pa.list_(pa.field("element", pa.struct([("l", pa.list_(pa.field("element", pa.int64())))]))),
    pa.map_(pa.field("k", pa.string(), False), pa.field("v", pa.list_(pa.field("e", pa.int64())))),
]


@pytest.mark.parametrize("kind", NESTED, ids=str)
def test_parquet_lists_can_be_appended_to_by_other_tools(tmp_path: Path, kind: pa.DataType) -> None:
    import lance

    from lance_namespace_impls.distributed.casts import uniform

    file = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"c": pa.nulls(1, kind)}), file, use_compliant_nested_type=False)
    load(tmp_path, "t", file)
    found = lance.dataset(str(tmp_path / "lake" / "t.lance"))
    assert found.schema.field("c").type == uniform(kind)
    assert "element" not in str(found.schema)
    rows = pa.table({"c": pa.nulls(1, uniform(kind))})
    assert lance.write_dataset(rows, found.uri, mode="append").count_rows() == 2


# --- options


@pytest.mark.parametrize(
    "text",
    [
        "timestamp[us, Mars/Base]",
        "timestamp[us, tz=Mars/Base]",
        "timestamp[us, tz=tz=UTC]",
        "timestamp[us, utc]",
        "timestamp[us, +0530]",
        "timestamp[us, +25:00]",
        "timestamp[us, ../../etc/passwd]",
        "timestamp[us, localtime\0]",
        "list<timestamp[us, Mars/Base]>",
        "float32[0]",
        "float32[99999999999999999999]",
        "decimal(0, 0)",
        "decimal(39, 0)",
        "decimal(5, 99999999999999999999)",
        "list<" * 3000 + "int8" + ">" * 3000,
        "int8" + "[1]" * 3000,
        "list<>",
        "",
        "int٣٢",
        "float32[٣]",
    ],
    ids=lambda text: text[:30],
)
def test_types_that_do_not_exist_are_rejected(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_type(text)
    assert caught.value.code == 13
    assert len(caught.value.message) < 500
    file = Path(file_of(tmp_path / "a.json", '{"a":"1"}').path)
    with pytest.raises(InvalidInputError) as caught:
        load(tmp_path, "t", file, types=f"a:{text}")
    assert connect("dir", {"path": str(tmp_path / "lake")}).list_tables({"id": []}).tables == []


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": '"'},
        {"delimiter": "é"},
        {"delimiter": "\n"},
        {"delimiter": "\0"},
        {"quote": ","},
        {"quote": "'", "delimiter": "'"},
        {"quote": "\r"},
        {"quote": "“"},
        {"escape": '"'},
        {"escape": ","},
        {"encoding": "base64"},
        {"encoding": "rot13"},
        {"encoding": "no-such"},
        {"encoding": "a\0b"},
        {"names": "a,a"},
        {"rows_per_file": str(10**30)},
        {"rows_per_file": "0"},
        {"max_row_bytes": str(10**12)},
        {"max_row_bytes": "-1"},
        {"task_bytes": "many"},
        {"header": "perhaps"},
        {"missing": "maybe"},
    ],
    ids=str,
)
def test_invalid_format_options_are_rejected(tmp_path: Path, options: dict[str, str]) -> None:
    file = Path(file_of(tmp_path / "a.csv", "a,b\n1,2\n").path)
    with pytest.raises(InvalidInputError) as caught:
        load(tmp_path, "t", file, **options)
    assert caught.value.code == 13
