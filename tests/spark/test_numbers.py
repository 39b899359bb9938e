"""No digit of a number in a text file is lost silently."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_namespace_client.errors import TableSchemaValidationError
from lance_namespace_impls.ingest.schema import agree
from tests.spark.test_formats import file_of, format_of, read_text

BEYOND_53_BITS = "9007199254740993"
BEYOND_64_BITS = "9223372036854775808"
PI = "3.14159265358979323846"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["01234", "5"], pa.string()),
        (["-01", "5"], pa.string()),
        (["007.5"], pa.string()),
        (["0x1F", "1"], pa.string()),
        (["+491511234567"], pa.string()),
        (["00", "0"], pa.string()),
        (["0", "-5", " 7", "8 "], pa.int64()),
        (["-0", "1"], pa.float64()),
        (["-0", BEYOND_53_BITS], pa.string()),
        ([BEYOND_53_BITS, "1"], pa.int64()),
        ([BEYOND_53_BITS, "0.5"], pa.string()),
        ([BEYOND_64_BITS, "-1"], pa.decimal128(19, 0)),
        ([BEYOND_64_BITS, "-0"], pa.float64()),
        (["9223372036854775809", "-0"], pa.string()),
        (["9223372036854775809", "0.5"], pa.string()),
        ([BEYOND_64_BITS, "9007199254740994", "0.5"], pa.float64()),
        (["9223372036854775807", "0"], pa.int64()),
        (["12345678901234567890123", "1"], pa.decimal128(23, 0)),
        (["100000000000000000000"], pa.decimal128(21, 0)),
        (["1" * 38, "-" + "2" * 38], pa.decimal128(38, 0)),
        (["1" * 39], pa.string()),
        ([PI, "1"], pa.string()),
        (["1e400", "1"], pa.string()),
        (["1e-400", "1"], pa.string()),
        (["1e5", "1.50", "0.10000000000000001", "0.30000000000000004", "NaN"], pa.float64()),
        (["0.0", "-0.0", "5.", ".5", "1E+22", "5e-324"], pa.float64()),
    ],
    ids=str,
)
@pytest.mark.parametrize("block", [40, 8 << 20])
def test_the_type_of_a_csv_column_preserves_its_text(
    tmp_path: Path, values: list[str], kind: pa.DataType, block: int
) -> None:
    block = max(block, 2 * max(map(len, values)) + 20)
    content = "n,c\n" + "".join(f"{n},{value}\n" for n, value in enumerate(values * 9))
    found = read_text(tmp_path / "a.csv", content, block)["c"]
    assert found.type == kind
    if pa.types.is_string(kind):
        assert found.to_pylist() == values * 9
    elif not pa.types.is_floating(kind):
        assert [Decimal(value) for value in found.to_pylist()] == [Decimal(v) for v in values * 9]


def test_csv_files_of_different_numbers(tmp_path: Path) -> None:
    reader = format_of("csv")
    contents = ["1\n", "2.5\n", f"{BEYOND_53_BITS}\n", f"{BEYOND_64_BITS}\n"]
    infos = [
        reader.inspect(file_of(tmp_path / f"{number}.csv", f"n\n{content}"))
        for number, content in enumerate(contents)
    ]

    def agreed(*chosen: int) -> pa.DataType:
        return agree([infos[each] for each in chosen], reader, None, "table t").field("n").type

    assert agreed(0) == agreed(0, 2) == pa.int64()
    assert agreed(0, 1) == pa.float64()
    assert agreed(1, 2) == agreed(2, 1) == agreed(3, 2, 1) == pa.string()
    assert agreed(3, 1) == pa.float64()
    assert agreed(0, 2, 3) == agreed(3, 0) == pa.decimal128(19, 0)


NUMBERS = st.one_of(
    st.integers(-(10**40), 10**40).map(str),
    st.integers(-(2**55), 2**55).map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"\A-?[0-9]{1,20}(\.[0-9]{1,20})?\Z"),
)


def equals_number(text: str, value: object) -> bool:
    """Return whether a value, rounded to the digits of a text, equals the number in the text."""
    if isinstance(value, str):
        return value == text
    if isinstance(value, float):
        digits = len("".join(filter(str.isdigit, text.lower().split("e")[0])).lstrip("0"))
        return Decimal(f"{value:.{max(digits - 1, 0)}e}") == Decimal(text)
    return Decimal(str(value)) == Decimal(text)


@given(values=st.lists(NUMBERS, min_size=1, max_size=6), block=st.sampled_from([400, 8 << 20]))
def test_every_csv_number_is_preserved(
    tmp_path_factory: pytest.TempPathFactory, values: list[str], block: int
) -> None:
    content = "n\n" + "".join(f"{value}\n" for value in values)
    found = read_text(tmp_path_factory.getbasetemp() / "numbers.csv", content, block)["n"]
    for text, value in zip(values, found.to_pylist(), strict=True):
        assert equals_number(text, value), (values, found.type)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([BEYOND_53_BITS, "1"], pa.int64()),
        ([BEYOND_64_BITS, "1"], pa.decimal128(19, 0)),
        (["12345678901234567890123", "-1"], pa.decimal128(23, 0)),
        (["1", "0.5", "1e5", "0.30000000000000004"], pa.float64()),
    ],
)
@pytest.mark.parametrize("block", [30, 8 << 20])
@pytest.mark.parametrize("shape", ["%s", "[%s]", '{"x":[{"y":%s}]}'])
def test_json_numbers(
    tmp_path: Path, values: list[str], kind: pa.DataType, block: int, shape: str
) -> None:
    content = "".join('{"a":%s}\n' % (shape % value) for value in values)
    table = read_text(tmp_path / "a.json", content, block)
    text = json.dumps(table["a"].to_pylist(), default=str).replace('"', "")
    for value in values:
        assert (value if kind != pa.float64() else str(float(value))) in text
    assert f"{kind}" in str(table.schema.field("a").type)


@pytest.mark.parametrize(
    "values",
    [[BEYOND_53_BITS, "0.5"], [PI], ["1" * 39], ["9223372036854775809", "1.5"], ["1e-400"]],
)
@pytest.mark.parametrize("block", [30, 8 << 20])
@pytest.mark.parametrize("shape", ["%s", "[%s]", '{"x":%s}'])
def test_json_numbers_that_would_be_rounded_are_rejected_by_name(
    tmp_path: Path, values: list[str], block: int, shape: str
) -> None:
    content = "".join('{"a":%s}\n' % (shape % value) for value in values)
    with pytest.raises(TableSchemaValidationError, match="column a has numbers with more digits"):
        read_text(tmp_path / "a.json", content, block)


@pytest.mark.parametrize(("shape", "kind"), [("%s", "double"), ("[%s]", "list<double>")])
def test_json_numbers_are_rounded_if_the_type_is_specified(
    tmp_path: Path, shape: str, kind: str
) -> None:
    content = "".join('{"a":%s}\n' % (shape % value) for value in (BEYOND_53_BITS, "0.5"))
    table = read_text(tmp_path / "a.json", content, types=f"a:{kind}")
    rounded = [9007199254740992.0, 0.5]
    assert table["a"].to_pylist() == (rounded if shape == "%s" else [[each] for each in rounded])


def test_json_text_that_looks_like_numbers(tmp_path: Path) -> None:
    content = json.dumps({"a": f"{PI} {BEYOND_64_BITS}", "ip": "100.100.100.100.100", "n": 0.5})
    table = read_text(tmp_path / "a.json", content)
    assert table.schema.field("n").type == pa.float64()


def test_json_type_conflicts_are_reported_as_types_of_tables(tmp_path: Path) -> None:
    reader = format_of("json")
    files = [file_of(tmp_path / f"{value}.json", f'{{"a":{value}}}\n') for value in ("1", '"x"')]
    with pytest.raises(TableSchemaValidationError, match="column a is string, but int64 in"):
        agree([reader.inspect(file) for file in files], reader, None, "table t")
