"""Broken files, and files that would lose columns, are rejected by name before a row is written."""

from __future__ import annotations

import bz2
import csv
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from lance_namespace_client.errors import (
    LanceNamespaceError,
    TableSchemaValidationError,
)
from lance_namespace_impls.ingest.readers import SourceFile, find_files
from tests.spark.test_formats import file_of, format_of, read_text, read_whole

MANY = "".join(f"{n},x\n" for n in range(100))


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (f'a,b\n1,"x\n{MANY}', 2),
        (f'a,b\n1,"x\n{MANY}'.removesuffix("\n"), 2),
        (f'a,b\n"1,x\n{MANY}', 2),
        (f'"a,b\n1,x\n{MANY}', 1),
        (f'\ufeff"a,b\n1,x\n{MANY}', 1),
        (f'a,b\n1,"two\nlines"\n2,"x\n{MANY}', 4),
        (f'a,b\n1,"x\n2,"y"\n{MANY}', 2),
        ('a\n"x\n""\n', 2),
        ('a\n1\n"', 3),
    ],
)
@pytest.mark.parametrize("block", [200, 8 << 20])
def test_an_unclosed_quote_is_reported(tmp_path: Path, content: str, line: int, block: int) -> None:
    limit = csv.field_size_limit()
    with pytest.raises(
        TableSchemaValidationError,
        match=rf"^[^:]+a\.csv: a quote that opens in the row at line {line} ",
    ):
        read_text(tmp_path / "a.csv", content, block)
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    ("content", "options", "rows"),
    [
        ('a,b\n"1\n2",5" pipe\n', {}, [{"a": "1\n2", "b": '5" pipe'}]),
        ('a\n"x\n"\n', {}, [{"a": "x\n"}]),
        ('a\r\n"x""\r\n"\r\n', {}, [{"a": 'x"\r\n'}]),
        ('a\n"x\n"', {}, [{"a": "x\n"}]),
        ('a,b\n"x\ny",z\n1,"z" \n', {}, [{"a": "x\ny", "b": "z"}, {"a": "1", "b": "z "}]),
        ('a\n"x\\"\ny"\n', {"escape": "\\"}, [{"a": 'x"\ny'}]),
        ("a;b\n'x\n;';\"\n", {"quote": "'", "delimiter": ";"}, [{"a": "x\n;", "b": '"'}]),
        ("a\n\"x\nü\"\n".encode("latin1"), {"encoding": "latin1"}, [{"a": "x\nü"}]),
        (f'a\n"{"x" * 200_000}\n"\n', {}, [{"a": "x" * 200_000 + "\n"}]),
    ],
)  # fmt: skip
def test_closed_quotes_are_read(
    tmp_path: Path, content: str | bytes, options: dict[str, str], rows: list[Any]
) -> None:
    assert read_text(tmp_path / "a.csv", content, **options).to_pylist() == rows


def compressed(codec: str) -> Callable[[bytes], bytes]:
    def compress(content: bytes) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, codec) as stream:
            stream.write(content)
        return bytes(sink.getvalue())

    return compress


@pytest.mark.parametrize(
    ("ending", "compress"),
    [
        ("gz", gzip.compress),
        ("bz2", bz2.compress),
        ("zst", compressed("zstd")),
        ("lz4", compressed("lz4")),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "json"])
@pytest.mark.parametrize("keep", [0.5, -1])
def test_truncated_compressed_text_is_rejected(
    tmp_path: Path, ending: str, compress: Callable[[bytes], bytes], kind: str, keep: float
) -> None:
    line = b'{"a":%d}\n' if kind == "json" else b"%d\n"
    header = b"" if kind == "json" else b"a\n"
    content = compress(header + b"".join(line % n for n in range(5000)))
    cut = content[: int(len(content) * keep)] if keep > 0 else content[:-1]
    with pytest.raises(
        TableSchemaValidationError,
        match=rf"cut\.{kind}\.{ending}: the file is damaged or truncated",
    ) as caught:
        read_whole(format_of(kind), file_of(tmp_path / f"cut.{kind}.{ending}", cut))
    assert caught.value.code == 20


def test_uncompressed_text_with_a_compressed_name_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(TableSchemaValidationError, match=r"a\.csv\.gz: the file is damaged"):
        read_text(tmp_path / "a.csv.gz", "a\n1\n")


def test_damaged_parquet_pages_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"a": [f"text {n * 7919}" for n in range(10_000)]}), path)
    content = bytearray(path.read_bytes())
    content[4:2000] = b"\xff" * 1996
    with pytest.raises(TableSchemaValidationError, match=r"a\.parquet: the file is damaged"):
        read_whole(format_of("parquet"), file_of(path, bytes(content)))


def test_an_unreadable_file_has_a_different_error_code(tmp_path: Path) -> None:
    file = SourceFile(path=str(tmp_path / "gone.csv"), size=5)
    with pytest.raises(LanceNamespaceError, match=r"reading .*gone\.csv") as caught:
        format_of("csv").inspect(file)
    assert caught.value.code != 20


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    for year in (2020, 2021):
        for name in ("a", "b"):
            file_of(tmp_path / f"year={year}" / f"{name}.csv", "x\n")
    return tmp_path


@pytest.mark.parametrize(
    "pattern", ["*/a.csv", "year=*/a.csv", "**/*.csv", "year=202[0]/*.csv", "*/*", ""]
)
def test_partition_columns_of_folders_matched_by_a_pattern(parts: Path, pattern: str) -> None:
    found = find_files([str(parts / pattern)], None)[1]
    assert found
    for file in found:
        assert file.folder_values == (("year", Path(file.path).parent.name.removeprefix("year=")),)


def test_partition_columns_of_files_named_individually(parts: Path) -> None:
    one = [str(parts / "year=2020" / f"{name}.csv") for name in ("a", "b")]
    other = str(parts / "year=2021" / "a.csv")
    for same in (
        one,
        [str(parts / "year=2020" / "*.csv")],
        [str(parts / "**" / "year=2020" / "*.csv")],
        [str(parts / "year=2020")],
    ):
        found = find_files(same, None)[1]
        assert len(found) == 2 and not any(file.folder_values for file in found)
    for several in ([*one, other], [str(parts / "year=2020"), str(parts / "year=2021")]):
        found = find_files(several, None)[1]
        assert {file.folder_values for file in found} == {(("year", "2020"),), (("year", "2021"),)}


def test_a_file_name_with_an_equals_sign_is_not_a_partition(tmp_path: Path) -> None:
    for name in ("x=1.csv", "x=2.csv"):
        file_of(tmp_path / name, "x\n")
    assert len(find_files([str(tmp_path / "*.csv")], None)[1]) == 2
    assert len(find_files([str(tmp_path)], None)[1]) == 2


def test_patterns_skip_hidden_folders_unless_they_name_them(tmp_path: Path) -> None:
    for folder in ("_tmp", ".cache", "seen"):
        file_of(tmp_path / folder / "a.csv", "x\n")
    found = find_files([str(tmp_path / "*" / "a.csv")], None)[1]
    assert [Path(file.path).parent.name for file in found] == ["seen"]
    assert len(find_files([str(tmp_path / "_tmp" / "*.csv")], None)[1]) == 1
