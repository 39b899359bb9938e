"""Readers of each file format for an import, without Spark."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from lance_namespace_client.errors import (
    InvalidInputError,
    TableColumnNotFoundError,
    TableSchemaValidationError,
)
from lance_namespace_impls.distributed.options import read_options
from lance_namespace_impls.ingest.readers import (
    FORMATS,
    FileInfo,
    Format,
    Piece,
    SourceFile,
    find_files,
    lines,
)
from lance_namespace_impls.ingest.schema import agree


def format_of(name: str, **options: str) -> Format:
    kind = FORMATS[name]
    return kind(read_options(kind.options_type, options, f"{name} import"))


def file_of(path: Path, content: str | bytes) -> SourceFile:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return SourceFile(path=str(path), size=path.stat().st_size)


def read_whole(reader: Format, file: SourceFile, parts: int = 1) -> pa.Table:
    info = reader.inspect(file)
    schema = agree([info], reader, None, "table t")
    pieces = info.pieces(max(1, -(-file.size // parts)))
    batches = [batch for piece in pieces for batch in reader.read(piece, schema)]
    return pa.Table.from_batches(batches, schema)


def read_text(
    path: Path, content: str | bytes, block: int = 8 << 20, parts: int = 1, **options: str
) -> pa.Table:
    """Write a CSV or JSON file and return its rows, read in blocks of `block` bytes."""
    reader = format_of("json" if ".json" in path.name else "csv", **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", block)
        return read_whole(reader, file_of(path, content), parts)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2", ""], pa.int64()),
        (["1", "2.5"], pa.float64()),
        (["1", "99999999999999999999"], pa.decimal128(20, 0)),
        (["true", "False"], pa.bool_()),
        (["true", "1"], pa.string()),
        (["2020-01-01", ""], pa.date32()),
        (["2020-01-01", "2020-01-01 10:00:00"], pa.timestamp("us")),
        (["2020-01-01 10:00:00.123456"], pa.timestamp("us")),
        (["2020-01-01 10:00:00.123456789"], pa.timestamp("ns")),
        (["2020-01-01T10:00:00Z", "2020-01-01T10:00:00+02:00"], pa.timestamp("us", "UTC")),
        (["2020-01-01T10:00:00Z", "2020-01-01T10:00:00"], pa.string()),
        (["1", "x"], pa.string()),
        (["", ""], pa.string()),
        (["NA", "1"], pa.string()),
    ],
    ids=str,
)
def test_the_type_of_a_csv_column_fits_all_its_values(
    tmp_path: Path, values: list[str], kind: pa.DataType
) -> None:
    content = "n,c\n" + "".join(f"{n},{value}\n" for n, value in enumerate(values * 5))
    table = read_text(tmp_path / "a.csv", content, block=40)  # types differ between blocks
    assert table.schema.field("c").type == kind
    assert table.num_rows == len(values) * 5
    assert table["c"].null_count == 5 * values.count("")


@pytest.mark.parametrize(
    ("name", "content", "options", "rows"),
    [
        ("a.csv", '\ufeffa,b,c\r\n1,"x, ""y""\nz",2020-02-03\r\n2,,\r\n', {},
         [{"a": 1, "b": 'x, "y"\nz', "c": dt.date(2020, 2, 3)}, {"a": 2, "b": None, "c": None}]),
        ("a.csv", 'a,b\n"",""\n,\nx,1\n', {},
         [{"a": "", "b": None}, {"a": None, "b": None}, {"a": "x", "b": 1}]),
        ("a.csv", 'a,b\n"NA","NA"\nNA,NA\n"",1\nx,2\n', {"nulls": "NA"},
         [*[{"a": None, "b": None}] * 2, {"a": "", "b": 1}, {"a": "x", "b": 2}]),
        ("a.csv", "z\n01\nNA\n02\n", {"nulls": "NA"}, [{"z": "01"}, {"z": None}, {"z": "02"}]),
        ("a.csv", "z\n1\nNA\n2.5\n", {"nulls": "NA"}, [{"z": 1.0}, {"z": None}, {"z": 2.5}]),
        ("a.csv", "z,n\n01234,3.14159265358979323846\n", {"types": "z:int64,n:double"},
         [{"z": 1234, "n": 3.141592653589793}]),
        ("a.csv", "a,b\n1,NA\n-,x", {"nulls": "NA,-"}, [{"a": 1, "b": None}, {"a": None, "b": "x"}]),
        ("a.csv", "1;2\n3;4\n", {"delimiter": ";", "header": "false"},
         [{"f0": 1, "f1": 2}, {"f0": 3, "f1": 4}]),
        ("a.csv", "1,2\n", {"names": "x,y", "header": "false"}, [{"x": 1, "y": 2}]),
        ("a.csv", ",b\n1,2\n", {"names": "index,b"}, [{"index": 1, "b": 2}]),
        ("a.tsv", "a\tb,c\n1\tx\n", {}, [{"a": 1, "b,c": "x"}]),
        ("a.csv", "a,b\n'x,y',2\n", {"quote": "'"}, [{"a": "x,y", "b": 2}]),
        ("a.csv", 'a,b\n"x\\"y",2\n', {"escape": "\\"}, [{"a": 'x"y', "b": 2}]),
        ("a.csv", "a\nü\n".encode("latin1"), {"encoding": "latin1"}, [{"a": "ü"}]),
        ("a.csv.gz", gzip.compress(b"a\n1\n", mtime=0), {}, [{"a": 1}]),
        ("a.csv", "zip\n00501\n", {"types": "zip:string"}, [{"zip": "00501"}]),
        ("a.csv", "a\n1.25\n", {"types": "a:decimal(5, 2)"}, None),
        ("a.csv", "a\n1.5\n", {"types": "a:float16"}, [{"a": 1.5}]),
        ("a.csv", "a,b\n", {}, []),
        ("a.csv", "a,b", {}, []),
        ("a.csv", "a,b\n1,true\n2,0\n", {"types": "b:bool"},
         [{"a": 1, "b": True}, {"a": 2, "b": False}]),
    ],
)  # fmt: skip
def test_csv_options(
    tmp_path: Path, name: str, content: str | bytes, options: dict[str, str], rows: Any
) -> None:
    table = read_text(tmp_path / name, content, **options)
    if rows is None:
        assert str(table["a"][0]) == "1.25"
    else:
        assert table.to_pylist() == rows


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a,a\n1,2\n", {}, "2 columns named 'a'"),
        ("a,b\n1,2\n3\n", {}, "Row #3: Expected 2 columns, got 1"),
        (b"a,b\n1,\xe4\n", {}, "column b.*invalid UTF8"),
        ("a,b\n1,2\n", {"names": "x"}, "2 columns, but the option 'names' contains 1"),
        ("a,b\n1,x\n", {"types": "b:int64"}, "column b: Row #2.*'x'"),
        ("a,b\n1,300\n", {"types": "b:int8"}, "column b: Row #2.*'300'"),
        ("a,b\n1,2\n", {"types": "b:list<int8>"}, "column b.*cannot be read as list"),
        ("a,b\n1,2\n", {"types": "b:float32[2]"}, "column b.*cannot be read as fixed_size_list"),
    ],
)
def test_csv_errors_name_the_file_and_column(
    tmp_path: Path, content: str | bytes, options: dict[str, str], message: str
) -> None:
    with pytest.raises(TableSchemaValidationError, match=rf"bad\.csv: .*{message}"):
        read_text(tmp_path / "bad.csv", content, **options)


@pytest.mark.parametrize("block", [3, 8 << 20])
@pytest.mark.parametrize("start", [0, 4, 7])
def test_row_numbers_in_errors_are_those_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, start: int
) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", block)
    file = file_of(tmp_path / "a.csv", "a\n1\n2\n3\n300\n")
    piece = Piece(file=file, size=4, start=start, columns=["a"])
    with pytest.raises(TableSchemaValidationError, match="column a: Row #5: CSV conversion error"):
        list(format_of("csv").read(piece, pa.schema([("a", pa.int8())])))


VALUES = st.one_of(
    st.integers(-99, 99).map(str), st.sampled_from(["", "a,b", 'q"q', "l\nm", " é", "x" * 50])
)


@given(
    rows=st.lists(st.tuples(st.integers(0, 9).map(str), VALUES), max_size=25),
    line_end=st.sampled_from(["\n", "\r\n"]),
    ends=st.booleans(),
    parts=st.integers(1, 12),
    block=st.integers(70, 300),
)
def test_csv_is_the_same_in_any_number_of_pieces(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str]],
    line_end: str,
    ends: bool,
    parts: int,
    block: int,
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=line_end)
    writer.writerows([("a", "b"), *rows])
    content = text.getvalue() if ends else text.getvalue().removesuffix(line_end)
    path = tmp_path_factory.getbasetemp() / "pieces.csv"
    table = read_text(path, content, block, parts, types="a:string,b:string")
    assert table.to_pylist() == [{"a": a, "b": b or None} for a, b in rows]


@given(
    rows=st.lists(st.tuples(st.integers(), st.text(max_size=40)), max_size=25),
    ends=st.booleans(),
    parts=st.integers(1, 12),
    block=st.integers(10, 300),
)
def test_json_is_the_same_in_any_number_of_pieces(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, str]],
    ends: bool,
    parts: int,
    block: int,
) -> None:
    content = "\n".join(json.dumps({"a": str(a), "b": b}) for a, b in rows)
    file = file_of(tmp_path_factory.getbasetemp() / "pieces.json", content + ("\n" if ends else ""))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", block)
        reader = format_of("json")
        info = reader.inspect(file)
        schema = pa.schema([("a", pa.string()), ("b", pa.string())])
        pieces = info.pieces(max(1, -(-file.size // parts)))
        batches = [batch for piece in pieces for batch in reader.read(piece, schema)]
    found = pa.Table.from_batches(batches, schema).to_pylist()
    assert found == [{"a": str(a), "b": b} for a, b in rows]


def test_csv_is_divided_only_if_every_line_is_a_row(tmp_path: Path) -> None:
    reader = format_of("csv")
    plain = reader.inspect(file_of(tmp_path / "plain.csv", "a\n" + "1\n" * 50))
    assert len(plain.pieces(20)) == 6
    broken = reader.inspect(file_of(tmp_path / "broken.csv", 'a\n"x\ny"\n' + "1\n" * 50))
    assert len(broken.pieces(20)) == 1
    packed = reader.inspect(
        file_of(tmp_path / "a.csv.gz", gzip.compress(b"a\n" + b"1\n" * 50, mtime=0))
    )
    assert len(packed.pieces(1)) == 1


def test_json_types_are_unified_over_the_whole_file(tmp_path: Path) -> None:
    content = [
        '{"n":1,"t":"2020-01-01","o":{"x":1},"l":[],"z":null}',
        '{"n":2.5,"t":"x","o":{"y":"a"},"l":[1]}',
        '{"extra":true}',
    ]
    table = read_text(tmp_path / "a.json", "\n".join(content), block=30)
    assert table.schema == pa.schema(
        [
            ("n", pa.float64()),
            ("t", pa.string()),
            ("o", pa.struct([("x", pa.int64()), ("y", pa.string())])),
            ("l", pa.list_(pa.int64())),
            ("z", pa.string()),
            ("extra", pa.bool_()),
        ]
    )
    assert table["o"].to_pylist() == [{"x": 1, "y": None}, {"x": None, "y": "a"}, None]


def test_json_with_specified_types(tmp_path: Path) -> None:
    line = '{"v":[1,2],"d":"2020-01-01","t":"2020-01-01T10:00:00+02:00","p":1.10,"k":"a","j":"{}"}'
    types = "v:float16[2],d:date32,t:timestamp[us, UTC],p:decimal(5, 2),k:large_string"
    table = read_text(tmp_path / "a.jsonl", line, types=types)
    row = table.to_pylist()[0]
    assert row["v"] == [1.0, 2.0]
    assert row["d"] == dt.date(2020, 1, 1)
    assert row["t"] == dt.datetime(2020, 1, 1, 8, tzinfo=dt.UTC)
    assert str(row["p"]) == "1.10"
    assert table.schema.field("k").type == pa.large_string()


CARRIERS: list[tuple[pa.DataType, pa.DataType | None]] = [
    (pa.json_(), pa.string()), (pa.uuid(), None), (pa.dictionary(pa.int8(), pa.date32()), pa.string()),
    (pa.large_list(pa.duration("s")), pa.list_(pa.int64())), (pa.list_(pa.uuid()), None),
    (pa.struct([("a", pa.time32("s"))]), pa.struct([("a", pa.string())])),
    (pa.struct([("a", pa.int8()), ("b", pa.map_(pa.string(), pa.int8()))]), None),
    (pa.map_(pa.string(), pa.int8()), None),
    (pa.timestamp("us", "UTC"), pa.string()), (pa.large_binary(), pa.string()), (pa.binary(4), pa.string()),
    (pa.float16(), pa.float64()), (pa.int16(), pa.int16()),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "carrier"), CARRIERS, ids=str)
def test_types_that_json_does_not_support_are_read_as_another_type(
    kind: pa.DataType, carrier: pa.DataType | None
) -> None:
    assert format_of("json").carrier(kind) == carrier


@pytest.mark.parametrize(
    ("content", "block", "message"),
    [
        ('{"a":1}\n{"a":"x"}\n', 8 << 20, ".*column a"),
        ('{"a":1}\n{"a":"x"}\n', 8, "column a: some values"),
        ('[{"a":1}]\n', 8 << 20, ".*row 1 is not an object"),
        ('{"a":1}\n{"a":', 8 << 20, ".*JSON parse error"),
        ('{"a":1,"a":2}\n', 8 << 20, ".*column a"),
    ],
)
def test_json_errors_name_the_file(tmp_path: Path, content: str, block: int, message: str) -> None:
    with pytest.raises(TableSchemaValidationError, match=rf"bad\.json: {message}"):
        read_text(tmp_path / "bad.json", content, block)


def test_parquet_is_divided_between_row_groups(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": range(100)}), tmp_path / "a.parquet", row_group_size=10)
    reader = format_of("parquet", types="a:int16")
    file = find_files([str(tmp_path / "a.parquet")], None)[1][0]
    info = reader.inspect(file)
    pieces = info.pieces(2 * info.row_groups[0])
    assert [list(piece.row_groups) for piece in pieces] == [[i, i + 1] for i in range(0, 10, 2)]
    assert read_whole(reader, file, 4) == pa.table({"a": pa.array(range(100), pa.int16())})


@pytest.mark.parametrize(("bytes_a_row", "is_whole"), [(8, True), (16 << 10, False)])
def test_wide_parquet_rows_are_read_in_small_batches(
    tmp_path: Path, bytes_a_row: int, is_whole: bool
) -> None:
    # The reader measures the file's uncompressed size, which equal values would make small.
    table = pa.table({"v": pa.array(os.urandom(bytes_a_row) for _ in range(2000))})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=1000)
    reader = format_of("parquet")
    info = reader.inspect(find_files([str(tmp_path / "a.parquet")], None)[1][0])
    found = [batch for each in info.pieces(1 << 30) for batch in reader.read(each, table.schema)]
    assert (len(found) == 1) is is_whole
    assert max(batch.nbytes for batch in found) < 9 << 20
    assert pa.Table.from_batches(found) == table


def test_a_file_that_is_not_parquet(tmp_path: Path) -> None:
    with pytest.raises(TableSchemaValidationError, match=r"a\.parquet: "):
        format_of("parquet").inspect(file_of(tmp_path / "a.parquet", "hello, this is text"))


def info_of(path: str, **types: pa.DataType) -> FileInfo:
    return FileInfo(file=SourceFile(path=path, size=10), schema=pa.schema(list(types.items())))


def test_one_schema_for_all_files() -> None:
    infos = [info_of("1", a=pa.int32(), b=pa.null()), info_of("2", b=pa.string(), a=pa.float64())]
    schema = agree([*infos, info_of("empty")], format_of("parquet"), None, "table t")
    assert schema == pa.schema([("a", pa.float64()), ("b", pa.string())])


def test_files_with_incompatible_schemas() -> None:
    infos = [info_of("one", a=pa.int32()), info_of("two", a=pa.string())]
    with pytest.raises(TableSchemaValidationError, match="two: column a is string, but int32"):
        agree(infos, format_of("parquet"), None, "table t")
    assert agree(infos, format_of("csv"), None, "table t").field("a").type == pa.string()


def test_a_missing_column() -> None:
    infos = [info_of("one", a=pa.int64(), b=pa.int64()), info_of("two", a=pa.int64())]
    with pytest.raises(
        TableSchemaValidationError, match=r"two: column b is missing; .*missing=null"
    ):
        agree(infos, format_of("csv"), None, "table t")
    assert agree(infos, format_of("csv", missing="null"), None, "table t").names == ["a", "b"]
    assert agree(infos, format_of("json"), None, "table t").names == ["a", "b"]
    with pytest.raises(TableSchemaValidationError, match="two: column b is missing"):
        agree(infos, format_of("json", missing="error"), None, "table t")


def test_appended_files_use_the_schema_of_the_table() -> None:
    table = pa.schema([("a", pa.int8()), ("v", pa.list_(pa.float32(), 2))])
    good = [info_of("one", a=pa.int64(), v=pa.list_(pa.float64()))]
    assert agree(good, format_of("json"), table, "table t") == table
    with pytest.raises(
        TableSchemaValidationError, match="one: table t has no column b; it has a, v"
    ):
        agree([info_of("one", b=pa.int64())], format_of("json"), table, "table t")
    with pytest.raises(TableSchemaValidationError, match="one: column a is string"):
        agree([info_of("one", a=pa.string())], format_of("json"), table, "table t")
    assert agree(good, format_of("json", types="a:int8,v:float32[2]"), table, "table t") == table
    with pytest.raises(InvalidInputError, match=r"column a is int8, not int16: remove it"):
        agree(good, format_of("json", types="a:int16"), table, "table t")
    with pytest.raises(TableColumnNotFoundError, match="has no column z; it has a, v"):
        agree(good, format_of("json", types="z:int16"), table, "table t")
    strict = pa.schema([("a", pa.int8()), pa.field("b", pa.int8(), nullable=False)])
    with pytest.raises(TableSchemaValidationError, match=r"column b is missing$"):
        agree([info_of("one", a=pa.int64())], format_of("json"), strict, "table t")


def test_types_of_missing_columns_are_rejected() -> None:
    with pytest.raises(TableColumnNotFoundError, match="there is no column x"):
        agree([info_of("1", a=pa.int8())], format_of("csv", types="x:int8"), None, "table t")


def test_sources(tmp_path: Path) -> None:
    for name in (
        "b.csv",
        "a.csv",
        "sub/c.tsv",
        "notes.txt",
        "_SUCCESS",
        ".hidden.csv",
        "_tmp/d.csv",
    ):
        file_of(tmp_path / "in" / name, "x\n")
    folder = str(tmp_path / "in")

    def names(*sources: str, format: str | None = None) -> list[str]:
        return [Path(file.path).name for file in find_files(sources, format)[1]]

    assert names(folder) == ["a.csv", "b.csv", "c.tsv"]
    assert names(f"{folder}/*.csv") == ["a.csv", "b.csv"]
    assert names(f"{folder}/**/*.tsv") == ["c.tsv"]
    assert names(f"file://{folder}/b.csv") == ["b.csv"]
    assert names(f"{folder}/b.csv", folder) == ["b.csv", "a.csv", "c.tsv"]
    assert names(f"{folder}/notes.txt", format="csv") == ["notes.txt"]
    assert find_files([f"{folder}/a.csv"], None)[0] == "csv"


@pytest.mark.parametrize(
    ("source", "format", "message"),
    [
        ("nowhere.csv", None, "file or folder not found"),
        ("*.parquet", None, "no files to read"),
        ("empty", None, "no files to read; for other extensions specify the format"),
        ("notes.txt", None, "the file name has no known extension"),
        ("a.csv", "xlsx", "format 'xlsx' is not known"),
        (".", None, "files of several formats"),
        ("parts", None, "have the columns (none|year), and those of"),
    ],
)
def test_sources_that_cannot_be_read(
    tmp_path: Path, source: str, format: str | None, message: str
) -> None:
    (tmp_path / "in" / "empty").mkdir(parents=True)
    for name in ("a.csv", "b.json", "notes.txt"):
        file_of(tmp_path / "in" / name, "x\n")
    file_of(tmp_path / "in" / "parts" / "year=2020" / "c.csv", "x\n")
    file_of(tmp_path / "in" / "parts" / "d.csv", "x\n")
    folder = tmp_path / "in"
    if source == ".":
        (folder / "parts" / "year=2020" / "c.csv").unlink()
    with pytest.raises(InvalidInputError, match=message) as caught:
        find_files([str(folder / source)], format)
    assert caught.value.code == 13


def test_sources_must_be_a_list() -> None:
    for nothing in ([], "a.csv"):
        with pytest.raises(InvalidInputError, match="sources must be a non-empty list"):
            find_files(nothing, None)
    with pytest.raises(InvalidInputError, match="does not support nosuch"):
        find_files(["nosuch://bucket/a.csv"], None)


@pytest.mark.parametrize("source", ["https://host.invalid/a.csv", "hf://datasets/owner/name/a.csv"])
def test_web_sources_are_rejected_without_a_download(source: str) -> None:
    with pytest.raises(InvalidInputError, match="download the file first"):
        find_files([source], None)
