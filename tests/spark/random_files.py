"""Random rows and files, and the values that other readers find in them.

Values are generated before the file, so they are known without a reader. Other readers then confirm
the file: a case counts only if they find the same values. Known exceptions, in which a reader is
wrong or does not support the content, are listed in the function that calls the reader.
"""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import io
import json
import math
import random
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
from attrs import frozen
from pyarrow import parquet
from pyarrow import types as is_

ALPHABET = "abcAB019 .,;|\t\"'\\\r\n+-eE_é€ß中😀\u00a0\u2028"
WORDS = (
    "NA", "null", "true", "False", "1", "0", "01234", "-0", "0.10", "1e5", "nan", "inf", "2020-01-01",
    "2020-02-30", "10:00:00", "2020-01-01 10:00:00", "2020-01-01T10:00:00Z", "9007199254740993",
    "9223372036854775808", "0x1F", "+5", ".5", "5.", " 7", "8 ", "1_0", "\r\n", '"', '""', " ",
)  # fmt: skip
ZONES = (None, "UTC", "Europe/Berlin", "+05:30")


def text(rng: random.Random, longest: int = 12, alphabet: str = ALPHABET) -> str:
    if rng.random() < 0.25:
        return rng.choice(WORDS)
    return "".join(rng.choices(alphabet, k=rng.randrange(longest)))


# --- values of Arrow types


def _moment(rng: random.Random, unit: str) -> int:
    reach = {"s": 10**10, "ms": 10**13, "us": 10**16, "ns": 9 * 10**18}[unit]
    return rng.choice((0, 1, -1, rng.randrange(-reach, reach), rng.randrange(-1000, 1000)))


def _decimal(rng: random.Random, precision: int, scale: int) -> Decimal:
    digits = rng.randrange(-(10**precision) + 1, 10**precision)
    return Decimal(digits).scaleb(-scale, None) if precision <= 28 else _scaled(digits, scale)


def _scaled(digits: int, scale: int) -> Decimal:
    sign, text = digits < 0, str(abs(digits))
    return Decimal((int(sign), tuple(map(int, text)), -scale))


def _float(rng: random.Random, bits: int) -> float:
    value = rng.choice(
        (0.0, -0.0, 0.1, 1.5, math.nan, math.inf, -math.inf, rng.gauss(0, 1), rng.gauss(0, 1e6))
    )
    with np.errstate(over="ignore"):
        return float({16: np.float16, 32: np.float32, 64: np.float64}[bits](value))


FLAT: tuple[pa.DataType, ...] = (
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
    pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal128(5, 2), pa.decimal128(38, 10),
    pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.binary(4), pa.date32(),
    pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"),
    *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in ZONES),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
)  # fmt: skip


def kind(rng: random.Random, depth: int = 2) -> pa.DataType:
    if depth and rng.random() < 0.25:
        inner = kind(rng, depth - 1)
        return rng.choice((
            lambda: pa.list_(pa.field(rng.choice(("item", "element")), inner)),
            lambda: pa.large_list(inner),
            lambda: pa.struct([("x", inner), ("y", kind(rng, depth - 1))]),
        ))()  # fmt: skip
    if depth == 2 and rng.random() < 0.1:
        return pa.dictionary(pa.int32(), pa.string())
    if depth and rng.random() < 0.05:
        return pa.list_(rng.choice((pa.float32(), pa.float64(), pa.int8())), 3)
    return rng.choice(FLAT)


def value(rng: random.Random, kind: pa.DataType, nulls: float = 0.2) -> Any:
    """Return a value that `pa.array` accepts; temporal values are integers."""
    if rng.random() < nulls:
        return None
    if is_.is_dictionary(kind):
        return value(rng, kind.value_type, 0)
    if is_.is_fixed_size_list(kind):
        return [value(rng, kind.value_type, 0) for _ in range(kind.list_size)]
    if is_.is_list(kind) or is_.is_large_list(kind):
        return [value(rng, kind.value_type) for _ in range(rng.randrange(4))]
    if is_.is_struct(kind):
        return {child.name: value(rng, child.type) for child in kind}
    if is_.is_boolean(kind):
        return rng.random() < 0.5
    if is_.is_integer(kind):
        low, high = (0, 2**kind.bit_width) if is_.is_unsigned_integer(kind) else (
            -(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1))  # fmt: skip
        return rng.choice((low, high - 1, 0, rng.randrange(low, high), rng.randrange(0, 100)))
    if is_.is_floating(kind):
        number = _float(rng, kind.bit_width)
        return np.float16(number) if is_.is_float16(kind) else number
    if is_.is_decimal(kind):
        return _decimal(rng, kind.precision, kind.scale)
    if is_.is_fixed_size_binary(kind):
        return rng.randbytes(kind.byte_width)
    if is_.is_binary(kind) or is_.is_large_binary(kind):
        return rng.randbytes(rng.randrange(6))
    if is_.is_string(kind) or is_.is_large_string(kind):
        return text(rng)
    if is_.is_date32(kind):
        return rng.randrange(-719162, 2932896)
    if is_.is_date64(kind):
        return rng.randrange(-719162, 2932896) * 86_400_000
    if is_.is_time(kind):
        return rng.randrange(86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit])
    return _moment(rng, kind.unit)


def column(rng: random.Random, kind: pa.DataType, rows: int) -> pa.ChunkedArray:
    """Return values in chunks, some of them empty."""
    nulls = rng.choice((0, 0.2, 0.2, 1))
    values = [value(rng, kind, nulls) for _ in range(rows)]
    cuts = sorted(rng.choices(range(rows + 1), k=rng.randrange(4)))
    bounds = zip([0, *cuts], [*cuts, rows], strict=True)
    plain = kind.value_type if is_.is_dictionary(kind) else kind
    chunks = [pa.array(values[start:end], plain) for start, end in bounds]
    if is_.is_dictionary(kind):
        chunks = [chunk.dictionary_encode().cast(kind) for chunk in chunks]
    return pa.chunked_array(chunks, kind)


def table(rng: random.Random, *, flat: bool = False) -> pa.Table:
    rows = rng.choice((0, 1, 2, rng.randrange(30)))
    names = [f"c{index}" for index in range(rng.randrange(1, 6))]
    return pa.table({name: column(rng, kind(rng, 0 if flat else 2), rows) for name in names})


# --- comparisons


def normal(found: Any) -> Any:
    """Return a form of a value that compares exactly, including nan and -0.0."""
    if isinstance(found, float):
        return ("float", "nan" if found != found else repr(found))
    if isinstance(found, np.floating):
        return normal(float(found))
    if isinstance(found, dict):
        return {name: normal(each) for name, each in found.items()}
    if isinstance(found, list | tuple):
        return [normal(each) for each in found]
    return found


def integers(array: Any) -> Any:
    """Convert temporal values to integers, since Python cannot represent all of them."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    kind = array.type
    if is_.is_dictionary(kind):
        return integers(array.dictionary_decode())
    if is_.is_temporal(kind):
        return array.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    return array


def values_of(array: Any) -> list[Any]:
    """Return the values of an array, including nested ones, with temporal values as integers."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    kind = array.type
    if is_.is_struct(kind):
        parts = [values_of(part) for part in array.flatten()]
        valid = array.is_valid().to_pylist()
        return [
            {field.name: part[row] for field, part in zip(kind, parts, strict=True)} if ok else None
            for row, ok in enumerate(valid)
        ]
    if is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind):
        items = iter(values_of(array.flatten()))
        return [
            None if not each.is_valid else [next(items) for _ in range(len(each))] for each in array
        ]
    return [normal(each) for each in integers(array).to_pylist()]


def differences(expected: pa.Table, found: pa.Table) -> list[str]:
    """Return the differences between the values of two tables."""
    if expected.column_names != found.column_names:
        return [f"columns {expected.column_names} and {found.column_names}"]
    if expected.num_rows != found.num_rows:
        return [f"{expected.num_rows} and {found.num_rows} rows"]
    return [
        f"{name} ({expected[name].type} / {found[name].type}): {one!r:.300} / {two!r:.300}"
        for name in expected.column_names
        for one, two in zip(values_of(expected[name]), values_of(found[name]), strict=True)
        if one != two
    ]


# --- CSV


@frozen(kw_only=True)
class CsvFile:
    """A CSV file and the texts in it."""

    path: Path
    content: bytes
    columns: list[str]
    rows: list[list[str | None]]
    options: dict[str, str]
    line_end: str

    @property
    def text(self) -> str:
        return self.content.decode(self.options["encoding"])


NUMBERISH: tuple[Callable[[random.Random], str], ...] = (
    lambda rng: str(rng.randrange(-1000, 1000)),
    lambda rng: str(rng.randrange(-(2**64), 2**64)),
    lambda rng: repr(rng.gauss(0, 1000)),
    lambda rng: f"{rng.gauss(0, 1):.{rng.randrange(25)}f}",
    lambda rng: rng.choice(("01234", "+5", "-0", "0x1F", "1e400", "1e5", ".5", "NaN", "9007199254740993")),
    lambda rng: str(dt.date(rng.randrange(1, 9999), 1, rng.randrange(1, 28))),
    lambda rng: str(dt.datetime(2020, 1, 1) + dt.timedelta(microseconds=rng.randrange(10**15))),
    lambda rng: f"2020-01-01T00:00:00.{rng.randrange(10**9):09}",
    lambda rng: f"2020-01-01T00:00:0{rng.randrange(9)}{rng.choice(('Z', '+0100', '-05:30'))}",
    lambda rng: rng.choice(("true", "false", "True", "FALSE")),
    lambda rng: f"{rng.randrange(24):02}:{rng.randrange(60):02}:00",
    text,
)  # fmt: skip


def cells(rng: random.Random, rows: int, alphabet: str) -> list[str | None]:
    make = rng.choices(NUMBERISH, k=rng.choice((1, 1, 1, 2)))
    found: list[str | None] = []
    for _ in range(rows):
        cell = rng.choice(make)(rng)
        cell = "".join(each for each in cell if each in alphabet or each not in ALPHABET)
        found.append(None if rng.random() < 0.15 else cell)
    return found


def csv_file(rng: random.Random, folder: Path, columns: list[str] | None = None) -> CsvFile:
    """Write a CSV file in a random dialect."""
    encoding = rng.choice(
        ("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1")
    )
    alphabet = "".join(
        each for each in ALPHABET if encoding != "latin-1" or each.encode("latin-1", "ignore")
    )
    delimiter = rng.choice((",", ",", ";", "\t", "|"))
    quote = rng.choice(('"', '"', "'"))
    line_end = rng.choice(("\n", "\n", "\r\n", "\r"))
    header = rng.random() < 0.85 or columns is not None
    names = columns or [f"c{index}" for index in range(rng.randrange(1, 5))]
    count = rng.choice((0, 1, 2, rng.randrange(25)))
    if not header:
        count = max(1, count)
    grid = [cells(rng, count, alphabet) for _ in names]
    rows = [list(row) for row in zip(*grid, strict=True)]
    always = rng.random() < 0.3

    def cell(value: str | None) -> str:
        if value is None:
            return ""
        special = not value or value != value.strip(" ") or any(
            sign in value for sign in (delimiter, quote, "\r", "\n"))  # fmt: skip
        if always or special or rng.random() < 0.1:
            return quote + value.replace(quote, quote * 2) + quote
        return value

    lines = [delimiter.join(names)] if header else []
    lines += [delimiter.join(map(cell, row)) for row in rows]
    if not header and lines and not lines[0]:
        rows[0] = ["x"] * len(names)  # the first line determines the number of columns
        lines[0] = delimiter.join(rows[0])
    content = line_end.join(lines)
    # With one column, a null in the last line is visible only if the line is terminated.
    if rng.random() < 0.8 or (lines and not lines[-1]):
        content += line_end
    data = content.encode(encoding)
    ending, packed = rng.choice(
        ((".csv", None), (".csv", None), (".csv.gz", gzip.compress), (".csv.bz2", bz2.compress))
    )
    path = folder / f"{rng.randrange(10**9)}{ending}"
    path.write_bytes(packed(data) if packed else data)
    options = {"delimiter": delimiter, "quote": quote, "encoding": encoding}
    if not header:
        options |= {"header": "false", "names": ",".join(names)}
    return CsvFile(
        path=path, content=data, columns=names, rows=rows, options=options, line_end=line_end
    )


def readers_of_csv(file: CsvFile) -> Iterable[tuple[str, list[list[str]]]]:
    """Yield the texts that pandas, pyarrow and DuckDB find, with nulls as empty texts.

    - pandas and pyarrow may skip empty lines. They are not called for a single column with nulls.
    - DuckDB accepts one kind of line ending per file, and only UTF-8. It is called only if lines
      end in a line feed and no text has a carriage return.
    """
    header = file.options.get("header") != "false"
    blank = len(file.columns) == 1 and any(row[0] is None for row in file.rows)
    if not file.rows:
        return
    utf8 = file.text.removeprefix("\ufeff")
    delimiter, quote = file.options["delimiter"], file.options["quote"]
    if not blank:
        frame = pd.read_csv(
            io.StringIO(utf8, newline=""),
            sep=delimiter,
            quotechar=quote,
            header=0 if header else None,
            dtype=str,
            keep_default_na=False,
            lineterminator="\r" if file.line_end == "\r" else None,
        )
        if file.line_end != "\r":
            yield "pandas", frame.values.tolist()
        found = pyarrow.csv.read_csv(
            io.BytesIO(utf8.encode()),
            read_options=pyarrow.csv.ReadOptions(
                column_names=file.columns, skip_rows=0, skip_rows_after_names=int(header)
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=delimiter, quote_char=quote, newlines_in_values=True
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(file.columns, pa.string())
            ),
        )
        yield "pyarrow", [list(row.values()) for row in found.to_pylist()]
    if file.line_end == "\n" and "\r" not in utf8 and "\0" not in utf8 and not blank:
        path = file.path.with_suffix(".duckdb.csv")
        path.write_bytes(utf8.encode() + (b"" if utf8.endswith("\n") else b"\n"))
        names = ", ".join(f"'{name}': 'VARCHAR'" for name in file.columns)
        relation = duckdb.sql(
            f"SELECT * FROM read_csv('{path}', delim={delimiter!r}, quote=$${quote}$$, "
            f"escape=$${quote}$$, header={header}, columns={{{names}}}, auto_detect=false, "
            "new_line='\\n')"
        )
        yield (
            "DuckDB",
            [["" if each is None else each for each in row] for row in relation.fetchall()],
        )


def means(cell: str | None, value: Any, kind: pa.DataType) -> bool:
    """Return whether a table's value equals the text in the file, parsed with Python alone."""
    if value is None:
        return cell is None or (cell == "" and not is_.is_string(kind))
    if cell is None:
        return False
    if is_.is_string(kind):
        return bool(value == cell)
    plain = cell.strip(" \t")
    if is_.is_boolean(kind):
        return plain.lower() in (("true",) if value else ("false",))
    if is_.is_integer(kind):
        return str(value) == plain
    if is_.is_decimal(kind):
        # Neither leading zeros nor the sign of a zero may be lost.
        return Decimal(plain) == value and not re.match(r"-?0\d|-0*\.?0*$", plain)
    if is_.is_floating(kind):
        return _is_float(plain, value)
    if is_.is_date(kind):
        return value.isoformat() == plain
    if is_.is_time(kind):
        return dt.time.fromisoformat(plain) == value
    return bool(_moment_of(plain) == value)


def _is_float(text: str, value: float) -> bool:
    number = float(text)
    if value != value or math.isinf(value):
        return repr(number) == repr(value) and not text.strip("+-")[:1].isdigit()
    digits = "".join(each for each in text.lower().split("e")[0] if each.isdigit()).lstrip("0")
    written = Decimal(f"{value:.{max(len(digits) - 1, 0)}e}")
    return number == value and written == Decimal(text) and not text.startswith(("+", "00", "01"))


def _moment_of(text: str) -> Any:
    return pd.Timestamp(text.replace("Z", "+00:00"))


# --- JSON


def json_value(rng: random.Random, shape: Any) -> Any:
    if rng.random() < 0.15:
        return None
    if isinstance(shape, dict):
        return {name: json_value(rng, inner) for name, inner in shape.items() if rng.random() < 0.9}
    if isinstance(shape, list):
        return [json_value(rng, shape[0]) for _ in range(rng.randrange(4))]
    if shape == "int":
        return rng.choice((0, rng.randrange(-1000, 1000), rng.randrange(-(2**63), 2**63)))
    if shape == "float":
        return rng.choice((0.5, rng.gauss(0, 1), 1e300, 5e-324, rng.randrange(100)))
    if shape == "bool":
        return rng.random() < 0.5
    return text(rng)


def json_shape(rng: random.Random, depth: int = 2) -> Any:
    if depth and rng.random() < 0.3:
        inner = json_shape(rng, depth - 1)
        return rng.choice(([inner], {"x": inner, "y é": json_shape(rng, 0)}))
    return rng.choice(("int", "float", "bool", "text"))


def json_file(rng: random.Random, folder: Path, shapes: dict[str, Any]) -> tuple[Path, list[Any]]:
    """Write a file with one JSON object per line."""
    rows = [
        {name: json_value(rng, shape) for name, shape in shapes.items() if rng.random() < 0.95}
        for _ in range(rng.choice((1, 2, rng.randrange(1, 25))))
    ]
    line_end = rng.choice(("\n", "\n", "\r\n", "\n\n"))
    ascii = rng.random() < 0.5
    gap = rng.choice((None, (",", ":"), (" , ", " : ")))
    lines = [json.dumps(row, ensure_ascii=ascii, separators=gap) for row in rows]
    content = line_end.join(lines) + rng.choice(("", line_end))
    data = (
        rng.choice((b"", b"\xef\xbb\xbf")) + content.encode()
        if rng.random() < 0.3
        else content.encode()
    )
    ending, packed = rng.choice(((".jsonl", None), (".json", None), (".jsonl.gz", gzip.compress)))
    path = folder / f"{rng.randrange(10**9)}{ending}"
    path.write_bytes(packed(data) if packed else data)
    return path, rows


def fill(value: Any, kind: pa.DataType) -> Any:
    """Return an object with its missing fields set to null, the way a column stores it."""
    if value is None:
        return None
    if is_.is_struct(kind):
        return {child.name: fill(value.get(child.name), child.type) for child in kind}
    if is_.is_list(kind):
        return [fill(each, kind.value_type) for each in value]
    if is_.is_floating(kind):
        return float(value)
    return Decimal(value) if is_.is_decimal(kind) else value


# --- Parquet


def parquet_file(rng: random.Random, folder: Path, rows: pa.Table) -> Path:
    """Write a table with random settings and possibly empty row groups."""
    path = folder / f"{rng.randrange(10**9)}.parquet"
    with parquet.ParquetWriter(
        path,
        rows.schema,
        compression=rng.choice(("none", "snappy", "zstd", "gzip", "lz4")),
        use_dictionary=rng.random() < 0.5,
        data_page_version=rng.choice(("1.0", "2.0")),
        use_compliant_nested_type=rng.random() < 0.5,
        store_schema=rng.random() < 0.8,
        version="2.6",
        write_page_index=rng.random() < 0.3,
    ) as writer:
        size = rng.choice((1, 7, 1000))
        for start in range(0, max(1, rows.num_rows), size):
            writer.write_table(rows.slice(start, size))
            if rng.random() < 0.2:
                writer.write_table(rows.slice(0, 0))
    return path


def readers_of_parquet(path: Path, expected: pa.Table) -> Iterable[tuple[str, pa.Table]]:
    """Yield the columns that polars and DuckDB read, limited to types that they share with Arrow.

    - polars panics on a file with a time zone such as ``+05:30``.
    - polars reads seconds as milliseconds and times as nanoseconds. It reads no fixed-size binary,
      no float16 and no decimals beyond its own precision.
    - DuckDB handles time zones separately, reads no float16, and reads durations as intervals or
      integers.
    """
    if any("+05:30" in str(kind) for kind in expected.schema.types):
        return
    shared = [
        field.name
        for field in expected.schema
        if is_.is_integer(field.type)
        or is_.is_float32(field.type)
        or is_.is_float64(field.type)
        or is_.is_boolean(field.type)
        or is_.is_date32(field.type)
        or is_.is_string(field.type)
        or is_.is_binary(field.type)
    ]
    if not shared or not expected.num_rows:
        return
    schema = pa.schema([expected.schema.field(name) for name in shared])
    yield "polars", pl.read_parquet(path, columns=shared, use_pyarrow=False).to_arrow().cast(schema)
    names = ", ".join(shared)
    found = duckdb.sql(f"SELECT {names} FROM read_parquet('{path}')").to_arrow_table()
    yield "DuckDB", found.cast(schema)


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Return content with some bytes changed, removed, inserted or duplicated."""
    data = bytearray(content)
    for _ in range(rng.randrange(1, 6)):
        if not data:
            break
        at = rng.randrange(len(data))
        match rng.randrange(4):
            case 0:
                data[at] = rng.randrange(256)
            case 1:
                del data[at : at + rng.randrange(1, 20)]
            case 2:
                data[at:at] = rng.choice(
                    (b'"', b"\0", b"\r", b"\n", b",", b"{", b"[", b"9" * 30, b"\xff")
                )
            case _:
                data[at:at] = bytes(data[at : at + rng.randrange(1, 20)])
    return bytes(data)


def pick(rng: random.Random, of: Sequence[Any]) -> Any:
    return of[rng.randrange(len(of))]
